"""The code that runs in the Dask workers of a cluster build: the compatibility check, and the calls.

A call runs in a process of the worker's own pool (``worker_pool.py``), so a compiler crash or a timeout fails one call and the
Dask worker survives. The files that a call reads besides its arguments (ptxas, libdevice) are identified by their SHA-256:
the worker uses its own file with the same bytes, otherwise requests it and keeps it until it exits.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import threading
import time
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from ...core.code_digest import installed
from ...core.errors import InternalError, TileirasError
from ...core.file_io import file_digest, write_files
from ...core.user_tmp import ScratchFolder
from ...pipeline.job import Job
from ...pipeline.stages import load
from .multiprocessing_internals import process_config
from .same_toolchain_check import PACKAGE, Component, components, digest_of
from .speculative_steps import NextStep, Outcome
from .worker_pool import WorkerPool

CHANGED = "changed after the worker loaded it"  # in place of a digest
_starting = threading.Lock()
_stored_files: dict[str, str] = {}
_pool: WorkerPool | None = None


@dataclass(frozen=True)
class Needed:
    """A file that a call reads: the option of Job with its path, how the installed one is found, its SHA-256."""

    option: str
    find: str
    digest: str


@dataclass(frozen=True)
class Missing:
    """A worker's answer if it lacks the contents of ``digests``: call again with them."""

    digests: tuple[str, ...]


@dataclass(frozen=True)
class Lowered:
    """A worker's answer: its address, and the outcomes of the call and of its next steps."""

    worker: str
    outcomes: tuple[Outcome, ...]


def resource(digest: str) -> str:
    """The Dask resource of workers whose code has ``digest``; only those run this build's calls."""
    return f"tileiras-build-{digest[:16]}"


async def enlist(digest: str, dask_worker) -> tuple[str, str, dict[str, Component]]:
    """Give this Dask worker the resource if its digest is ``digest``; returns its version, digest and components."""
    own = await asyncio.to_thread(components)
    known = digest_of(own) if installed().is_as_read() else CHANGED
    if known == digest:
        await dask_worker.set_resources(**{resource(digest): dask_worker.state.nthreads})
    return own[PACKAGE].version, known, own


def lower_all(calls: bytes) -> tuple[float, list]:
    """``lower(*call)`` for each call of a pickled list; returns the times in seconds, and the results."""
    start = time.perf_counter()
    answers = [lower(*call) for call in pickle.loads(calls)]
    return time.perf_counter() - start, answers


def lower(
    needed: tuple[Needed, ...],
    sent: dict[str, bytes],
    arguments: tuple,
    timeout: float | None,
    next_steps: tuple[tuple[NextStep, tuple[Needed, ...]], ...],
) -> Lowered | Missing:
    """``driver.lower(*arguments)`` in a process of this Dask worker, and the steps ``following`` as far as possible.

    The steps contain their own requirements. They stop before a step whose source requests more, or whose files are missing
    here, and after a step that fails. ``sent`` are contents by digest, ``timeout`` seconds for each step.
    """
    from distributed import get_worker

    worker = get_worker()
    if not installed().is_as_read():
        message = f"the code of a worker has {CHANGED}"
        error = InternalError("worker-code", message, remedy="restart the worker")
        return Lowered(worker.address, ((None, error),))
    if missing := _missing(needed, sent):
        return Missing(missing)
    call = partial(_outcome, _own_pool(worker.state.nthreads), timeout, sent)
    outcomes = [call(needed, arguments)]
    for step, needs in next_steps:
        files, source = outcomes[-1][0] or {}, step.rows[0].suffix
        if source not in files or _requests_file(step, files[source]) or _missing(needs, sent):
            break
        outcomes.append(call(needs, step.arguments(files[source])))
    if next_steps and not installed().is_as_read():
        # Workers that were started before the change may have old code. The next build repeats the check.
        del outcomes[1:]
    return Lowered(worker.address, tuple(outcomes))


def _outcome(
    pool: WorkerPool, timeout: float | None, sent: dict[str, bytes], needed: tuple, arguments: tuple
) -> Outcome:
    """The result or exception of ``driver.lower``. An error is not raised here: Dask would wrap it with the call's description, and
    log it.
    """
    located = _localized(needed, sent, *arguments)
    try:
        return pool.run("tileiras_build.driver:lower", *located, timeout=timeout), None
    except TileirasError as error:
        return None, error


def _requests_file(step: NextStep, data: bytes) -> bool:
    """Whether the source of ``step`` requests a file that another step makes."""
    return any(file.requested_by is not None and load(file.requested_by)(data) for file in step.rows[-1].inputs)


def _missing(needed: tuple[Needed, ...], sent: dict[str, bytes]) -> tuple[str, ...]:
    return tuple(file.digest for file in needed if file.digest not in sent and _path(file) is None)


def _localized(
    needed: tuple[Needed, ...], sent: dict[str, bytes], data: bytes, source: str, target: str, job: Job, *rest: object
) -> tuple:
    """The arguments of ``driver.lower`` with paths of this machine in the job."""
    paths: dict[str, Any] = {file.option: _path(file) or _store_file(file, sent[file.digest]) for file in needed}
    return data, source, target, replace(job, **paths), *rest


def _path(file: Needed) -> str | None:
    """A file of this machine with these contents."""
    if file.digest in _stored_files:
        return _stored_files[file.digest]
    try:
        installed = str(load(file.find)())
    except Exception:
        return None
    return installed if file_digest(installed) == file.digest else None


def _store_file(file: Needed, data: bytes) -> str:
    """Write the received contents; they are kept until this process ends."""
    path = _files().path / file.digest / file.option
    write_files({path: data})
    os.chmod(path, 0o755)
    _stored_files[file.digest] = str(path)
    return str(path)


@cache
def _files() -> ScratchFolder:
    return ScratchFolder()


def _own_pool(threads: int) -> WorkerPool:
    global _pool
    with _starting:
        if _pool is None:
            # Dask's nanny marks its workers as daemons, which multiprocessing forbids to have children, as it would
            # not end them. Ours end with their parent.
            process_config()["daemon"] = False
            _pool = WorkerPool(threads)
        return _pool
