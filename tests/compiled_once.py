"""What tests compile, once for all processes of a test session: the others read what the first one has made.

Keys are contents: bytecode, target and options. The compiler does not change while tests run and the folder is the
session's own, so nothing is ever older than the sources. What fails is not kept.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TypeVar

import tileiras_build
from tileiras_build.core.user_tmp import ScratchFolder
from tileiras_build.driver import Artifacts
from tileiras_build.pipeline.job import Job, check_debug
from tileiras_build.target.targets import find_target

T = TypeVar("T")
FOLDER = "PYTEST_COMPILED_ONCE"  # names the folder to the session's other processes; without one each works alone


CUTILE_FOLDER = (
    "CUDA_TILE_TEMP_DIR"  # each process that imports cuTile makes a folder elsewhere, which stays where it is killed
)
KEPT_FOLDER = "TILEIRAS_CUTILE_CACHE"  # what tests leave for other processes is not for this user's
_open: list[tuple[ScratchFolder, dict[str, str]]] = []


def open_session() -> None:
    """Called by the process that starts the others. Where it is killed, the next one's removes the folder."""
    scratch = ScratchFolder()
    added = {FOLDER: str(scratch.path)}
    for name, inner in ((CUTILE_FOLDER, "cutile"), (KEPT_FOLDER, "kept")):
        if name not in os.environ:
            added[name] = str(scratch.path / inner)
    os.environ.update(added)
    _open.append((scratch, added))


def close_session() -> None:
    scratch, added = _open.pop()
    for name in added:
        os.environ.pop(name, None)
    scratch.close()


def once(key: tuple, work: Callable[[], T]) -> T:
    """What ``work`` returns, from whichever process of the session is the first to ask for ``key``."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        return work()
    path = Path(folder, hashlib.sha256(repr(key).encode()).hexdigest())
    with open(path.with_suffix(".lock"), "w") as lock:
        flock(lock, LOCK_EX)
        if not path.exists():
            path.with_suffix(".part").write_bytes(pickle.dumps(work()))
            path.with_suffix(".part").rename(path)
    return pickle.loads(path.read_bytes())


def shared_folder() -> Path:
    """A new folder that lasts as long as the session, for what ``once`` makes there and whose path it returns."""
    return Path(tempfile.mkdtemp(dir=os.environ.get(FOLDER)))


class SharedArtifacts(Artifacts):
    """Artifacts of which each is made once, when it is first asked for: who reads .tileas alone waits for no PTX."""

    def __init__(self, data: bytes, sm: str, stop_at: str, options: dict):
        self.bytecode, self.job, self.stop_at = data, check_debug(Job(find_target(sm), **options)), stop_at
        self.sm, self.options = sm, options
        self.key = data, sm, sorted(options.items())

    @cached_property
    def _ptx(self) -> Artifacts:
        make = lambda: tileiras_build.compile(self.bytecode, self.sm, stop_at="ptx", **self.options)
        return once(("ptx", *self.key), make)

    @property
    def texts(self) -> dict[str, str]:
        return self._ptx.texts

    @property
    def seconds(self) -> dict[str, float]:
        return self._ptx.seconds

    @cached_property
    def binary(self) -> tuple[bytes, dict] | None:
        return once(("cubin", *self.key), self._assembled) if self.stop_at == "cubin" else None

    def _assembled(self) -> tuple[bytes, dict]:
        from tileiras_build.pipeline import ptx_to_cubin

        assert self.ptx is not None
        return ptx_to_cubin.lower(self.ptx, self.job)

    def _text(self, name: str) -> str | None:
        return once(("text", name, self.bytecode, self.job), lambda: super(SharedArtifacts, self)._text(name))


@lru_cache(maxsize=256)
def compiled(data: bytes, sm: str, *, stop_at: str = "ptx", **options) -> Artifacts:
    """As ``tileiras_build.compile``, to "ptx" or "cubin", but later; a cubin is assembled from the PTX that others share, too."""
    return SharedArtifacts(data, sm, stop_at, options)


@contextmanager
def by_another_compiler() -> Iterator[None]:
    """For a test that changes the compiler: what others made is not read, what is made here is not kept."""
    folder = os.environ.pop(FOLDER, None)
    compiled.cache_clear()
    try:
        yield
    finally:
        compiled.cache_clear()
        if folder is not None:
            os.environ[FOLDER] = folder
