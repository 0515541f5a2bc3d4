"""Submit the calls of a cluster build to Dask's scheduler, batched into tasks when many are queued.

A task costs the scheduler and this process some milliseconds, and a step of a small kernel little more. So only as many
tasks are in flight as keep the workers busy; queued calls are batched, up to BATCH calls and BATCH_SECONDS of work (by the
mean of finished calls). With few queued calls each one is a task, and none is slower.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
import pickle
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from ...core.errors import InternalError, describe_exception
from . import dask_worker

BATCH = 8  # calls
BATCH_SECONDS = 0.25
_WEIGHT = 0.2  # of the latest task in the mean


@dataclass(eq=False)
class Call:
    """One call of ``driver.lower``, and its next steps; ``answer`` receives the result of ``dask_worker.lower``."""

    needed: tuple
    sent: dict[str, bytes]
    arguments: tuple
    timeout: float | None
    next_steps: tuple = ()
    answer: concurrent.futures.Future = field(default_factory=concurrent.futures.Future)
    runs_alone: bool = False

    @property
    def worker_arguments(self) -> tuple:
        """The arguments of ``dask_worker.lower``."""
        return self.needed, self.sent, self.arguments, self.timeout, self.next_steps


class CallQueue:
    """The queued calls and those in flight. ``lost_error`` returns the error of calls after the scheduler is lost."""

    def __init__(self, client, resource: str, lost_error: Callable[[], InternalError]):
        self._client, self._resource, self._lost_error = client, resource, lost_error
        self._changed = threading.Condition()
        self._waiting: deque[Call] = deque()
        self._running: dict[object, list[Call]] = {}
        self._threads, self._mean, self._ended = 0, None, False
        threading.Thread(target=self._dispatch, name="tileiras-calls", daemon=True).start()

    def put(self, call: Call) -> None:
        """Queue ``call``."""
        with self._changed:
            self._waiting.append(call)
            self._changed.notify()

    def use(self, threads: int) -> None:
        """Set the number of worker threads to ``threads``; with none, calls wait here."""
        with self._changed:
            self._threads = threads
            self._changed.notify()

    def repeat(self) -> None:
        """All workers were gone: queue the calls in flight again. Sound: steps have no side effects."""
        with self._changed:
            tasks, self._running = self._running, {}
            for batch in tasks.values():
                self._waiting.extend(batch)
            self._changed.notify()
        self._forget(list(tasks))

    def end(self) -> None:
        """Start no more tasks, and cancel those in flight."""
        with self._changed:
            tasks, self._running, self._ended = list(self._running), {}, True
            self._changed.notify()
        self._forget(tasks)

    def _dispatch(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._ended or self._waiting and len(self._running) < self._max_in_flight()
                )
                if self._ended:
                    return
                batch = self._take()
            self._submit(batch)

    def _max_in_flight(self) -> int:
        """The limit of tasks in flight: per thread one that runs and one that is ready, which hides latency."""
        return max(2 * self._threads, self._threads + 2) if self._threads else 0

    def _take(self) -> list[Call]:
        first = self._waiting.popleft()
        size = 1 if first.runs_alone else self._size()
        batch = [first]
        while len(batch) < size and self._waiting and not self._waiting[0].runs_alone:
            batch.append(self._waiting.popleft())
        return batch

    def _size(self) -> int:
        if self._mean is None:
            return 1
        share = math.ceil((len(self._waiting) + 1) / self._threads)
        return max(1, min(BATCH, share, int(BATCH_SECONDS / max(self._mean, 1e-6))))

    def _submit(self, batch: list[Call]) -> None:
        # As bytes: Dask would search everything else for tasks, here and in the scheduler.
        calls = pickle.dumps([call.worker_arguments for call in batch])
        try:
            future = self._client.submit(
                dask_worker.lower_all, calls, pure=False, retries=0, resources={self._resource: 1}
            )
            with self._changed:
                self._running[future] = batch
            # Not future.result(timeout): a timeout there discards what other threads are fetching.
            collect = self._client.gather(future, asynchronous=True)
            pending = asyncio.run_coroutine_threadsafe(collect, self._client.loop.asyncio_loop)
        except Exception:
            _fail(batch, self._lost_error())
            return
        pending.add_done_callback(partial(self._done, future, batch))

    def _done(self, future, batch: list[Call], pending: concurrent.futures.Future) -> None:
        """Runs in Dask's own thread, which must not block."""
        with self._changed:
            if self._running.pop(future, None) is None:
                return
            self._changed.notify()
        try:
            seconds, answers = pending.result()
        except Exception as error:
            self._failed(batch, error)
            return
        finally:
            future.release()
        mean = seconds / len(batch)
        self._mean = mean if self._mean is None else (1 - _WEIGHT) * self._mean + _WEIGHT * mean
        for call, answer in zip(batch, answers, strict=True):
            call.answer.set_result(answer)

    def _failed(self, batch: list[Call], error: BaseException) -> None:
        from distributed import KilledWorker

        if isinstance(error, (concurrent.futures.CancelledError, OSError)):
            _fail(batch, self._lost_error())
        elif not isinstance(error, KilledWorker):
            _fail(batch, InternalError("worker-failed", f"a worker failed: {describe_exception(error)}"))
        elif len(batch) > 1 or batch[0].next_steps:
            # One of the steps may be at fault: run each by itself, to find out which.
            for call in batch:
                call.runs_alone, call.next_steps = True, ()
                self.put(call)
        else:
            text = f"{error.allowed_failures + 1} cluster workers died while running this step"
            _fail(batch, InternalError("worker-died", f"{text}, the last one {error.last_worker.address}"))

    def _forget(self, futures: list) -> None:
        # No wait, as this may be Dask's own thread.
        with suppress(Exception):
            cancel = self._client.cancel(futures, asynchronous=True)
            asyncio.run_coroutine_threadsafe(cancel, self._client.loop.asyncio_loop)


def _fail(batch: list[Call], error: InternalError) -> None:
    for call in batch:
        call.answer.set_exception(error)
