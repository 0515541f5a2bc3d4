"""Run stages on a Dask cluster: ``executor=tcp://scheduler:8786``.

Only names and data are sent, as to the local pool. Only workers with the same code as this build are used: a thread polls
the cluster every WATCH_SECONDS, compares the code of new workers, and gives compatible ones a Dask resource that every
call requires. The scheduler reassigns the calls of a worker that dies. Calls without any worker left are submitted again
once there is one.
"""

from __future__ import annotations

import concurrent.futures
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...core import terminal
from ...core.errors import InternalError, InvalidInput, TileirasError
from ...core.file_io import file_digest, read_file
from ...core.plurals import count_text
from ...pipeline.job import Job
from ...pipeline.stages import InputFile, Stage, load
from . import Executor, dask_connection, dask_worker
from .dask_batching import Call, CallQueue
from .dask_worker import Missing, Needed
from .lazy_executor import LazyExecutor
from .same_toolchain_check import PACKAGE, Component, components, difference, digest_of
from .speculative_steps import Lookahead, NextStep, SpeculativeResults
from .tls_certificates import NO_CERTIFICATES, Certificates

PORTABLE = frozenset({"tileiras_build.driver:lower"})  # reads nothing but its arguments and the job's files
CONNECT_SECONDS = 20.0  # seconds for the scheduler to answer
GATHER_SECONDS = 30.0  # seconds for the first compatible worker to appear
NO_WORKER_SECONDS = 60.0  # seconds without one, later
WATCH_SECONDS = 1.0
POLL_SECONDS = 0.2  # seconds between checks whether the build is ending
MAX_ATTEMPTS = 10  # queries to a worker that does not respond


class DaskExecutor:
    """Runs calls on the cluster of the scheduler at ``address``; calls that are not PORTABLE run in the executor from ``local``.

    Raises InvalidInput: executor-missing (Dask is not installed), executor-unreachable, executor-tls, executor-empty,
    executor-version. ``certificates`` are for ``tls://``; ``log`` receives lines for the user; ``jobs`` is the number of
    concurrent calls of the build.
    """

    def __init__(
        self,
        address: str,
        local: Callable[[], Executor],
        *,
        jobs: int = 1,
        certificates: Certificates = NO_CERTIFICATES,
        log: Callable[[str], None] = terminal.print_stderr,
        connect: float = CONNECT_SECONDS,
        gather: float = GATHER_SECONDS,
        no_worker_timeout: float = NO_WORKER_SECONDS,
    ):
        self.address, self._log, self._no_worker_timeout = address, log, no_worker_timeout
        self._local, self._counting = LazyExecutor(local), threading.Lock()
        self._client = dask_connection.connect(address, connect, certificates)
        self._components = components()
        self._digest = digest_of(self._components)
        self._resource = dask_worker.resource(self._digest)
        self._calls = CallQueue(self._client, self._resource, self._on_scheduler_lost)
        self._threads: dict[str, int] = {}  # threads of compatible workers
        self._attempts: Counter[tuple] = Counter()
        self._refused: dict[tuple, str] = {}
        self._lost: InternalError | None = None
        self._without_since = time.monotonic()
        self._steps = 0
        self._used: set[str] = set()
        self._speculative = SpeculativeResults()
        self._ended = threading.Event()
        try:
            self._gather(gather)
        except BaseException:
            self.close()
            raise
        self._announce(jobs)
        threading.Thread(target=self._watch, name="tileiras-cluster", daemon=True).start()

    def run(
        self, function: str, *arguments: Any, timeout: float | None = None, lookahead: Lookahead | None = None
    ) -> Any:
        """The result of ``function``; blocks the calling thread. The steps of ``lookahead`` run on the same worker.

        Raises the function's own error; InternalError[worker-died] if several workers died of this call;
        InternalError[cluster-lost] if the scheduler is lost or has had no compatible worker for long.
        """
        if function not in PORTABLE:
            return self._local.get().run(function, *arguments, timeout=timeout)
        needed, paths = _files_of(*arguments)
        outcome = self._speculative.take(needed, arguments)
        if outcome is None:
            outcome = self._run_remotely(
                needed, paths, arguments, timeout, _with_inputs(lookahead() if lookahead else ())
            )
        with self._counting:
            self._steps += 1
        result, error = outcome
        if error is not None:
            raise error
        return result

    def _run_remotely(self, needed: tuple, paths: dict, arguments: tuple, timeout: float | None, next_steps: tuple):
        """The outcome of a call on a worker; those of ``next_steps`` are kept until the build requests them."""
        sent: dict[str, bytes] = {}
        while isinstance(answer := self._call(needed, sent, arguments, timeout, next_steps), Missing):
            sent = {digest: read_file(paths[digest]) for digest in answer.digests} | sent
        first, *others = answer.outcomes
        for before, outcome, (step, needs) in zip(answer.outcomes, others, next_steps, strict=False):
            self._speculative.put(needs, step.arguments(before[0][step.rows[0].suffix]), outcome)
        with self._counting:
            self._used.add(answer.worker)
        return first

    def summary(self) -> str:
        """One line for the end of the build; "" if nothing ran."""
        if not self._steps:
            return ""
        return f"cluster {self.address}: {count_text(self._steps, 'step')} on {count_text(len(self._used), 'worker')}"

    def interrupt(self) -> None:
        """End all calls; called from another thread. The workers finish their current steps."""
        self._disconnect(InternalError("interrupted", "the build was interrupted"))
        self._local.interrupt()

    def close(self) -> None:
        """Disconnect from the cluster, and end local workers."""
        self._ended.set()
        self._calls.end()
        self._local.close()
        leaving = threading.Thread(target=self._leave, daemon=True)
        leaving.start()
        # A scheduler that does not respond must not delay the end of a build.
        leaving.join(POLL_SECONDS if self._lost else None)

    def _leave(self) -> None:
        with suppress(Exception):
            self._client.close(timeout=2)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    # ---- calls

    def _call(self, *call):
        """The result of a call on a worker."""
        self._refuse_if_lost()
        waiting = Call(*call)
        self._calls.put(waiting)
        while True:
            try:
                return waiting.answer.result(POLL_SECONDS)
            except concurrent.futures.TimeoutError:
                self._refuse_if_lost()

    def _on_scheduler_lost(self) -> InternalError:
        if self._lost is not None:
            return self._lost
        return self._disconnect(InternalError("cluster-lost", f"lost connection to scheduler {self.address}"))

    def _refuse_if_lost(self) -> None:
        if self._lost is not None:
            raise self._lost

    def _disconnect(self, error: InternalError) -> InternalError:
        """Disconnect from the cluster; returns the first error that caused it."""
        self._lost = self._lost or error
        self._calls.end()
        return self._lost

    # ---- workers

    def _gather(self, seconds: float) -> None:
        """Wait for a compatible worker; raises as soon as all workers have answered and none is compatible."""
        deadline = time.monotonic() + seconds
        while True:
            all_asked = self._check_workers()
            if self._threads:
                return
            if all_asked:
                raise InvalidInput(
                    "executor-version", self._incompatible_text(), remedy="install the same version everywhere"
                )
            if time.monotonic() > deadline:
                message = f"scheduler {self.address} has no workers"
                raise InvalidInput("executor-empty", message, remedy=dask_connection.REMEDY)
            self._ended.wait(WATCH_SECONDS)

    def _announce(self, jobs: int) -> None:
        threads = sum(self._threads.values())
        text = (
            f"cluster {self.address}: {count_text(len(self._threads), 'worker')} with {count_text(threads, 'thread')}"
        )
        if jobs < threads:
            text += f"; -j{jobs} limits the build to {jobs} of them: use -j{2 * threads}"
        self._log(text)
        if self._refused:
            self._log(f"warning[executor-version]: {self._incompatible_text()}; it gets no work")

    def _watch(self) -> None:
        while not self._ended.wait(WATCH_SECONDS) and self._lost is None:
            before = len(self._refused)
            try:
                self._check_workers()
            except Exception:
                self._on_scheduler_lost()
                return
            if len(self._refused) > before:
                self._log(f"warning[executor-version]: {self._incompatible_text()}; it gets no work")
            if not self._threads and time.monotonic() - self._without_since > self._no_worker_timeout:
                message = f"no compatible worker on scheduler {self.address} for {self._no_worker_timeout:g} s"
                self._disconnect(InternalError("cluster-lost", message))

    def _check_workers(self) -> bool:
        """Query new workers and update the compatible ones. True if there are workers and all are incompatible."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        new = [
            address
            for address, info in workers.items()
            if self._resource not in info.get("resources", {}) and (address, info.get("id")) not in self._refused
        ]
        compatible = {
            address: info["nthreads"] for address, info in workers.items() if self._resource in info["resources"]
        }
        for address, answer in (self._enlist(new) if new else {}).items():
            if isinstance(answer, tuple) and answer[1] == self._digest:
                compatible[address] = workers[address]["nthreads"]
            elif address in workers and self._is_final((address, workers[address].get("id")), answer):
                self._refused[address, workers[address].get("id")] = _reason(answer, self._components)
        if compatible and compatible.keys().isdisjoint(self._threads):
            # All workers with calls are gone; polling may have missed a moment without any worker.
            self._calls.repeat()
        self._calls.use(sum(compatible.values()))
        if self._threads and not compatible:
            self._without_since = time.monotonic()
        self._threads = compatible
        return bool(workers) and all((address, info.get("id")) in self._refused for address, info in workers.items())

    def _is_final(self, worker: tuple, answer: object) -> bool:
        """Whether not to query again: a worker that has just started may lose a query."""
        self._attempts[worker] += 1
        return isinstance(answer, (tuple, ImportError)) or self._attempts[worker] == MAX_ATTEMPTS

    def _enlist(self, workers: list[str]) -> dict:
        return self._client.run(dask_worker.enlist, self._digest, workers=workers, on_error="return")

    def _incompatible_text(self) -> str:
        (address, _), reason = list(self._refused.items())[-1]
        return f"worker {address} is incompatible: {reason}"


def _files_of(data: bytes, source: str, target: str, job: Job, name: str, rows: tuple[Stage, ...]):
    """The files that ``driver.lower`` reads besides its arguments, and their local paths by digest."""
    return _found(job, [file for file in rows[-1].inputs if file.requested_by is None or load(file.requested_by)(data)])


def _found(job: Job, files: list[InputFile]) -> tuple[tuple[Needed, ...], dict[str, str]]:
    found = {file: str(getattr(job, file.option) or load(file.find)()) for file in files}
    needed = tuple(Needed(file.option, file.find, file_digest(path)) for file, path in found.items())
    return needed, {need.digest: path for need, path in zip(needed, found.values(), strict=True)}


def _with_inputs(next_steps: tuple[NextStep, ...]) -> tuple[tuple[NextStep, tuple[Needed, ...]], ...]:
    """Steps, each with the files that it needs for every source; ends before the first whose files are missing."""
    made = []
    # The step itself reports missing files.
    with suppress(OSError, TileirasError):
        for step in next_steps:
            needed, _ = _found(step.job, [file for file in step.rows[-1].inputs if file.requested_by is None])
            made.append((step, needed))
    return tuple(made)


def _reason(answer: object, ours: dict[str, Component]) -> str:
    """Why a worker is incompatible, from its answer to ``enlist``."""
    if isinstance(answer, ImportError):
        return f"missing module ({answer})"
    if not isinstance(answer, tuple):
        return f"did not respond ({type(answer).__name__}: {answer})"
    version, digest, theirs = answer
    if digest == dask_worker.CHANGED:
        return f"runs tileiras-build {version} with code digest {digest}"
    # Other versions of this package return another type.
    theirs = theirs if isinstance(theirs, dict) else {PACKAGE: Component(version, digest)}
    return difference(theirs, ours)
