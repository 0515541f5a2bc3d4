"""What runs in the Dask workers of a cluster build: the check that they fit, and the calls.

A call runs in a process of the worker's own pool (``worker_pool.py``), so that a compiler crash or a timeout fails one
call and the Dask worker lives on. The files that a call reads besides its arguments (ptxas, libdevice) are known by
their SHA-256: the worker takes its own file with the same bytes, else asks for it and keeps it while it runs.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import threading
import time
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ..errors import InternalError, TileirasError
from ..files import file_digest, write_files
from ..pipeline.job import Job
from ..pipeline.stages import load
from ..private_folder import Scratch
from ..sources import installed
from .identity import PACKAGE, Part, digest_of, parts
from .process_config import process_config
from .worker_pool import WorkerPool

CHANGED = "changed since the worker has loaded it"  # in the place of a digest
_starting = threading.Lock()
_kept: dict[str, str] = {}
_pool: WorkerPool | None = None


@dataclass(frozen=True)
class Needed:
    """A file that a call reads: the option of Job that holds its path, how the installed one is found, its SHA-256."""

    option: str
    find: str
    digest: str


@dataclass(frozen=True)
class Missing:
    """A worker's answer where it lacks the bytes of ``digests``: call again, with them."""

    digests: tuple[str, ...]


def resource(digest: str) -> str:
    """The Dask resource of workers whose code has ``digest``; only those are given this build's calls."""
    return f"tileiras-build-{digest[:16]}"


async def enlist(digest: str, dask_worker) -> tuple[str, str, dict[str, Part]]:
    """Give the Dask worker this runs in the resource if what it has is ``digest``; its version, digest and parts."""
    own = await asyncio.to_thread(parts)
    known = digest_of(own) if installed().is_as_read() else CHANGED
    if known == digest:
        await dask_worker.set_resources(**{resource(digest): dask_worker.state.nthreads})
    return own[PACKAGE].version, known, own


def lower_all(calls: bytes) -> tuple[float, list]:
    """``lower(*call)`` of each call of a pickled list; returns the seconds that they took, and what they returned."""
    start = time.perf_counter()
    answers = [lower(*call) for call in pickle.loads(calls)]
    return time.perf_counter() - start, answers


def lower(needed: tuple[Needed, ...], sent: dict[str, bytes], arguments: tuple, timeout: float | None) -> object:
    """``driver.lower(*arguments)`` in a process of this Dask worker's own.

    Returns (the worker's address, its result, its error or None), or Missing. An error is not raised: Dask would wrap
    it in what it knows of the call, and log it.
    """
    from distributed import get_worker

    if not installed().is_as_read():
        message = f"the code of a worker has {CHANGED}"
        return get_worker().address, None, InternalError("worker-code", message, remedy="restart the worker")
    missing = tuple(file.digest for file in needed if file.digest not in sent and _path(file) is None)
    if missing:
        return Missing(missing)
    data, source, target, job, *rest = arguments
    job, worker = _localized(job, needed, sent), get_worker()
    pool = _own_pool(worker.state.nthreads)
    try:
        result = pool.run("tileiras_build.driver:lower", data, source, target, job, *rest, timeout=timeout)
    except TileirasError as error:
        return worker.address, None, error
    return worker.address, result, None


def _localized(job: Job, needed: tuple[Needed, ...], sent: dict[str, bytes]) -> Job:
    """``job`` with paths of this machine."""
    paths: dict[str, Any] = {file.option: _path(file) or _keep(file, sent[file.digest]) for file in needed}
    return replace(job, **paths)


def _path(file: Needed) -> str | None:
    """A file of this machine with the right bytes."""
    if file.digest in _kept:
        return _kept[file.digest]
    try:
        installed = str(load(file.find)())
    except Exception:
        return None
    return installed if file_digest(installed) == file.digest else None


def _keep(file: Needed, data: bytes) -> str:
    """Write the bytes that were sent; they stay until this process ends."""
    path = _files().path / file.digest / file.option
    write_files({path: data})
    os.chmod(path, 0o755)
    _kept[file.digest] = str(path)
    return str(path)


@cache
def _files() -> Scratch:
    return Scratch()


def _own_pool(threads: int) -> WorkerPool:
    global _pool
    with _starting:
        if _pool is None:
            # Dask's nanny marks its workers as daemons, which multiprocessing forbids to have children, since it would
            # not end them. Ours end with their parent.
            process_config()["daemon"] = False
            _pool = WorkerPool(threads)
        return _pool
