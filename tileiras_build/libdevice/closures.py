"""Ready-made bitcode of single ``__nv_*`` functions, optimized once and kept.

A kernel that calls three functions links three closures of a few kilobytes instead of the whole library. Closures live
in memory and in a cache directory, keyed by all they depend on: the library's bytes, the code that makes them, the
versions of LLVM and llvmlite, the data layout, the function and, where the function asks for it, the GPU. They are plain
derived data: deleting them costs time only.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import llvmlite.binding as llvm

from ..errors import InvalidInput
from ..files import replace_files
from ..sources import code_digest, library_version
from .blob import Blob
from .library import Closure, Library

# Whoever has the store made gives it the machine.
_CODE = (__name__, "tileiras_build.pipeline.ll_to_ptx.machine")
_DIGEST_BYTES = 32


def cache_directory() -> Path:
    """Where closures are kept between runs: ``$XDG_CACHE_HOME/tileiras_build/libdevice`` (default ``~/.cache``)."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "tileiras_build" / "libdevice"


class ClosureStore:
    """Optimized closures of one library, a Blob or a file's path, for one target machine's data layout.

    ``directory`` None means ``cache_directory()``; one that cannot be written only costs time.
    """

    def __init__(self, library: Blob | Path, machine: llvm.TargetMachine, directory: Path | None = None):
        self.blob = library if isinstance(library, Blob) else Blob.of_file(library)
        self._machine = machine
        self._layout = str(machine.target_data)
        self._memory: dict[tuple[str, int | None], bytes] = {}
        self._library: Library | None = None
        self._directory = (directory or cache_directory()) / self._key()

    @property
    def library(self) -> Library:
        """The library taken apart (about 0.1 s, only needed for a function not seen before)."""
        if self._library is None:
            self._library = Library.from_blob(self.blob)
        return self._library

    def bitcode(self, symbol: str, number: int) -> bytes:
        """Bitcode that defines ``symbol`` and its helpers, all ``linkonce_odr``, for the GPU sm_<number>.

        Raises InvalidInput[unresolved-libdevice] when the library has no such function.
        """
        for key in ((symbol, None), (symbol, number)):
            found = self._memory.get(key) or self._read(key)
            if found is not None:
                self._memory[key] = found
                return found
        return self._make(symbol, number)

    def resolve(self, names, number: int) -> dict[str, bytes]:
        """Bitcode for every name, in order; raises InvalidInput[unresolved-libdevice] naming all that are missing."""
        names = sorted(names)
        missing = [name for name in names if not self._known(name, number) and name not in self.library.symbols]
        if missing:
            raise unresolved(missing, f"{self.blob.name} does not define them")
        return {name: self.bitcode(name, number) for name in names}

    def _known(self, symbol: str, number: int) -> bool:
        keys = ((symbol, None), (symbol, number))
        return any(key in self._memory or self._file(key).is_file() for key in keys)

    def _make(self, symbol: str, number: int) -> bytes:
        if symbol not in self.library.symbols:
            raise unresolved([symbol], f"{self.blob.name} does not define it")
        closure = self.library.closure(symbol, number)
        key = (symbol, number if closure.reads_arch else None)
        self._memory[key] = optimize(closure, self._machine)
        self._write(key, self._memory[key])
        return self._memory[key]

    def _key(self) -> str:
        version = ".".join(map(str, llvm.llvm_version_info))
        made_by = f"{code_digest(*_CODE)} {version} {library_version('llvmlite')}"
        text = f"{made_by} {self._layout} {self.blob.digest()}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def _file(self, key: tuple[str, int | None]) -> Path:
        symbol, number = key
        return self._directory / (f"{symbol}.bc" if number is None else f"{symbol}.sm_{number}.bc")

    def _read(self, key: tuple[str, int | None]) -> bytes | None:
        try:
            data = self._file(key).read_bytes()
        except OSError:
            return None
        digest, bitcode = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
        # LLVM aborts the process on some damaged bitcode, so it only ever sees what was written whole.
        return bitcode if hashlib.sha256(bitcode).digest() == digest else None

    def _write(self, key: tuple[str, int | None], bitcode: bytes) -> None:
        # A cache that cannot be written is a slow cache, not an error.
        with suppress(InvalidInput):
            replace_files({self._file(key): hashlib.sha256(bitcode).digest() + bitcode})


def optimize(closure: Closure, machine: llvm.TargetMachine) -> bytes:
    """Bitcode of a closure after LLVM's O3, everything in it ``linkonce_odr``."""
    head = f'target datalayout = "{machine.target_data}"\ntarget triple = "{machine.triple}"\n'
    with llvm.create_context() as context, llvm.parse_assembly(head + closure.text, context=context) as module:
        # All functions stay external meanwhile: an internal helper could be specialized to this closure's calls, and
        # two closures would then disagree about what its name means.
        _run(module, machine, lambda builder: builder.getModulePassManager())
        helpers = [f for f in module.functions if not f.is_declaration and f.name != closure.symbol]
        for function in helpers:
            function.linkage = "linkonce_odr"
        _run(module, machine, _drop_unused)
        module.get_function(closure.symbol).linkage = "linkonce_odr"
        return module.as_bitcode()


def _drop_unused(builder) -> llvm.ModulePassManager:
    manager = llvm.create_new_module_pass_manager()
    manager.add_global_dead_code_eliminate_pass()
    manager.add_strip_dead_prototype_pass()
    return manager


def _run(module, machine, make_manager) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    make_manager(builder).run(module, builder)


def unresolved(names: list[str], why: str) -> InvalidInput:
    """The diagnostic for libdevice functions that stay undefined."""
    return InvalidInput(
        "unresolved-libdevice",
        f"the kernel calls {', '.join(names)}, but {why}",
        remedy="link a libdevice.10.bc that has them, or do not use the operation",
    )
