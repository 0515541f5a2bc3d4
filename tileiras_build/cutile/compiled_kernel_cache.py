"""Kernels compiled for a device: in memory with the kernel itself, and on disk.

The key on disk covers all that determines the output, like the build's key (``build/caching_executor.py``): the bytecode, the
target, the options, the code and the libraries of every stage, and the files that stages read. It contains no path, so
checkouts and machines may share a folder; a new version of the compiler has new keys.
"""

from __future__ import annotations

import hashlib
import json
import linecache
import marshal
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from ..core.errors import TileirasError
from ..core.file_io import file_digest
from ..core.knobs import cutile_cache
from ..core.persistent_cache import cache_key as local_key
from ..core.persistent_cache import user_cache
from ..frontend.argument_names_in_producer import Signature, render
from ..frontend.portable_source_names import with_producer
from ..manifest.launch_manifest import Launch, read_launch_manifest
from ..manifest.manifest_constants import split_name
from ..manifest.variant_assumptions import Choice, choices, lazy_variants, variants_of
from ..pipeline.job import Job
from ..pipeline.stages import STAGES, between, load, source_digest
from ..pipeline.tuning_parameters import BY_NAME, VARIANTS
from ..target.targets import find_target
from .flatten_arguments import argument_signature
from .installation_fingerprint import cached_lookup, installation_fingerprint, state_of
from .kernel_fingerprint import is_front_end_unpatched, kernel_fingerprint, with_first_snapshot

if TYPE_CHECKING:
    from ..workers.executor.cache import BuildCache
    from .cuda_tile_versions import Cutile
    from .devices import Device

VERSION = 1  # of what a key covers and of the files of an entry
_PTX, _CUBIN, _MANIFEST = "kernel.ptx", "kernel.cubin", "kernel.json"


@dataclass(frozen=True, eq=False)
class CompiledKernel:
    """A kernel compiled for one signature: its ``entry``, ``ptx`` and ``manifest``, and its ``cubin`` if the device runs
    machine code. The emulator uses it as artifacts.
    """

    entry: str
    manifest: Mapping[str, Any]
    ptx: str
    cubin: bytes | None

    @cached_property
    def launch(self) -> Launch:
        """Its launch description."""
        return read_launch_manifest(self.manifest).kernels[self.entry]

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """The variants for some grids and lengths only, in order of preference, and the kernel itself."""
        found = variants_of(self.entry, read_launch_manifest(self.manifest).kernels)
        return choices(self.entry, self.launch, lazy_variants(self.entry, self.launch) | found)

    @cached_property
    def variants(self) -> tuple[CompiledKernel | None, ...]:
        """The variants of ``choices``, as kernels of the same file; None: it is compiled later."""
        made = read_launch_manifest(self.manifest).kernels
        return tuple(replace(self, entry=one.symbol) if one.symbol in made else None for one in self.choices[:-1])

    def of_choice(self, place: int) -> CompiledKernel | None:
        """One of ``choices``; None for a variant that is compiled later."""
        return (*self.variants, self)[place]

    def for_launch(self, grid: Sequence[int], values: Sequence[Any]) -> int:
        """The one of ``choices`` for a grid of tile blocks and the values of the parameters."""
        found = (place for place, one in enumerate(self.choices) if one.fits(grid, values))
        return next(found, len(self.variants))

    def for_launches_of(self, other: Choice) -> int:
        """The one of ``choices`` for all launches of ``other``, which was compiled for other arguments."""
        found = (place for place, one in enumerate(self.choices) if one.covers(other))
        return next(found, len(self.variants))

    def files(self) -> dict[str, bytes]:
        """The files of its cache entry."""
        kept = {_PTX: self.ptx.encode(), _MANIFEST: json.dumps(self.manifest).encode()}
        return kept if self.cubin is None else kept | {_CUBIN: self.cubin}

    @classmethod
    def of_files(cls, entry: str, files: Mapping[str, bytes]) -> CompiledKernel:
        """The kernel of a cache entry."""
        return cls(entry, json.loads(files[_MANIFEST]), files[_PTX].decode(), files.get(_CUBIN))


class KernelCompiler:
    """Compiles for one device, from any thread. Equal work of two kernels is done once."""

    def __init__(self, cutile: Cutile, device: Device, tuning: Mapping[str, Any]):
        self._cutile, self._device, self._tuning = cutile, device, tuning
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._made: WeakValueDictionary[str, CompiledKernel] = WeakValueDictionary()
        place = cutile_cache()
        self._uses_disk_cache = place is not None
        if place is not None and not os.path.isdir(os.path.expanduser(place)):
            _ = self._disk  # report an invalid folder now
        self.compilations = 0
        """The number of cache misses."""

    def compile(self, kernel: Any, signature: Any, ctas: int = 1) -> CompiledKernel:
        """The kernel for arguments of this signature, or its split-K variant of so many CTAs. Raises the errors of cuTile's front end, and TileirasError."""
        key = self._fingerprint_key(kernel, signature, ctas)
        if key is None:
            return self._exported(kernel, signature, ctas)
        if (found := self._made.get(key)) is not None or (found := _load_by_fingerprint(key)) is not None:
            self._made[key] = found
            return found
        with with_first_snapshot(kernel):
            made = self._exported(kernel, signature, ctas)
        self._made[key] = made
        _store_by_fingerprint(key, made)
        return made

    def _fingerprint_key(self, kernel: Any, signature: Any, ctas: int = 1) -> str | None:
        """The key of the kernel without running cuTile's front end; None if it is unknown."""
        if (
            not self._uses_disk_cache
            or not self._cutile.release.looks_once
            or not is_front_end_unpatched()
            or installation_fingerprint() is None
        ):
            return None
        origin = kernel_fingerprint(kernel, signature)
        if origin is None:
            return None
        options = [*sorted(self._tuning.items()), ctas]
        target, stop_at = self._device.target, self._device.stop_at
        return local_key(
            "kernel", VERSION, origin, target, stop_at, options, installation_fingerprint(), *_read_files(stop_at)
        )

    def bytecode(self, kernel: Any, signature: Any, later: int = 0) -> tuple[str, bytes]:
        """The entry of a kernel for arguments of this signature, and its bytecode, with their names; ``later`` as in ``Signature``."""
        exported = self._cutile.export(kernel, signature, self._device.target)
        names = argument_signature(self._cutile.parameter_names(kernel), signature)
        signatures = {exported.entry: Signature(names, variants=True, later=later)}
        return exported.entry, with_producer(exported.data, render(signatures))

    def _exported(self, kernel: Any, signature: Any, ctas: int) -> CompiledKernel:
        target = self._device.target
        entry, data = self.bytecode(kernel, signature, ctas)
        job = Job(find_target(target), self._cutile.opt_level(self._cutile.options(kernel), target), lineinfo=True)
        job = job.with_tuning(self._tuning)
        try:
            return self._compile_once(entry if ctas == 1 else split_name(entry, ctas), data, job)
        except TileirasError as error:
            _show_line(error)
            raise

    def compile_bytecode(self, data: bytes, entry: str, target: str, level: int) -> bytes:
        """The cubin of a bytecode file, which may contain several kernels."""
        from .. import driver

        # A caller of a cubin alone has no manifest.
        tuning = {name: number for name, number in self._tuning.items() if not BY_NAME[name].affects_launch}
        tuning[VARIANTS.name] = 0
        cubin = driver.compile(data, target, opt_level=level, lineinfo=True, name=entry, **tuning).cubin
        assert cubin is not None
        return cubin

    @property
    def name(self) -> str:
        """The name of this compiler's images, which differs for each version and set of options."""
        return " ".join(
            ["tileiras_build", _compiler_digest("cubin"), *[f"{name}={n}" for name, n in self._tuning.items()]]
        )

    @cached_property
    def _disk(self) -> BuildCache | None:
        """The cache on disk; None if the user disabled it."""
        from ..workers.executor.cache import BuildCache, open_store

        place = cutile_cache()
        return None if place is None else BuildCache(open_store(place))

    def _compile_once(self, entry: str, data: bytes, job: Job) -> CompiledKernel:
        key = key_of(data, job, self._device.stop_at)
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            found = self._made.get(key) or self._find(entry, key)
            made = found or self._compile(entry, data, job, key)
            self._made[key] = made
        with self._lock:
            self._locks.pop(key, None)
        return made

    def _find(self, entry: str, key: str) -> CompiledKernel | None:
        if self._disk is None:
            return None
        names = (_PTX, _MANIFEST, *((_CUBIN,) if self._device.stop_at == "cubin" else ()))
        files = self._disk.find(key, names)
        return None if files is None else CompiledKernel.of_files(entry, files)

    def _compile(self, entry: str, data: bytes, job: Job, key: str) -> CompiledKernel:
        from .. import driver

        tuning: dict[str, Any] = job.tuning
        artifacts = driver.compile(
            data,
            job.target.name,
            opt_level=job.opt_level,
            lineinfo=job.lineinfo,
            stop_at=self._device.stop_at,
            name=entry,
            **tuning,
        )
        assert artifacts.ptx is not None
        self.compilations += 1
        made = CompiledKernel(entry, artifacts.manifest, artifacts.ptx, artifacts.cubin)
        if self._disk is not None:
            self._disk.keep(key, made.files())
        return made


def _show_line(error: TileirasError) -> None:
    """End the traceback at the user's line that the error is about, as cuTile's own errors do."""
    where = error.location
    text = linecache.getline(where.file, where.line).rstrip() if where and where.file else ""
    if where and text:
        error.add_note(f"    {text.lstrip()}\n    {' ' * (where.column - 1 - len(text) + len(text.lstrip()))}^")


def _load_by_fingerprint(key: str) -> CompiledKernel | None:
    """The kernel that a process of this user compiled from the same fingerprint."""
    store = user_cache()
    data = None if store is None else store.find(key)
    if data is None:
        return None
    entry, files = marshal.loads(data)
    return CompiledKernel.of_files(entry, files)


def _store_by_fingerprint(key: str, made: CompiledKernel) -> None:
    if (store := user_cache()) is not None:
        store.keep(key, marshal.dumps((made.entry, made.files())))


def key_of(data: bytes, job: Job, stop_at: str) -> str:
    """64 hex digits of all that determines the output for a bytecode."""
    options = {field.name: getattr(job, field.name) for field in fields(Job) if field.name != "target"}
    parts = [VERSION, hashlib.sha256(data).hexdigest(), job.target.name, options, stop_at, _compiler_digest(stop_at)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@cache
def _compiler_digest(stop_at: str) -> str:
    """The digest of the code, the libraries and the files of every stage up to ``stop_at``."""
    return cached_lookup(f"compiler up to {stop_at} with {_read_files(stop_at)}", lambda: _read_compiler(stop_at))


@cache
def _read_files(stop_at: str) -> tuple[tuple, ...]:
    """The files that the stages up to ``stop_at`` read, such as ptxas, with their states."""
    files = [str(load(file.find)(None)) for stage in between(STAGES[0].name, stop_at) for file in stage.inputs]
    return tuple((file, *state_of(os.stat(file))) for file in files)


def _read_compiler(stop_at: str) -> str:
    digest = hashlib.sha256()
    for stage in between(STAGES[0].name, stop_at):
        digest.update(source_digest(stage).encode())
        for file in stage.inputs:
            digest.update(file_digest(str(load(file.find)(None))).encode())
    return digest.hexdigest()
