"""Closures: functions of libdevice with their dependences, extracted from the library and optimized.

A kernel that calls three functions links a few kilobytes instead of the whole library. The closure of a set of
functions is a library of its own, a ``.libdevice.bc``, which may replace the whole library in a link. It is LLVM
bitcode after the wrapper header that LLVM's readers skip (LLVM Bitcode File Format, Bitcode Wrapper Format); a mark in
between identifies the format and the GPU.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable
from functools import cached_property

import llvmlite.binding as llvm

from ..core.errors import InvalidInput
from .promote_arrays import has_arrays, select_elements
from .resolve_linked_library import Blob, broken_library
from .split_library import Closure, Library

_WRAPPER = 0x0B17C0DE
_HEADER = struct.Struct("<5I14sH")  # magic, version, offset and size of the bitcode, CPU type; the mark, the GPU
_MARK = b"tileiras-build"


class ClosureStore:
    """Optimized closures of one whole library for one target machine's data layout, cached per process.

    The first request reads what it needs of the library, which takes a third of the time; the next one reads all.
    """

    def __init__(self, blob: Blob, machine: llvm.TargetMachine):
        self.name, self._blob, self._machine = blob.name, blob, machine
        self._library: Library | None = None
        self._closures: dict[tuple[str, int | None], bytes] = {}
        self._cuts: dict[tuple[tuple[str, ...], int], bytes] = {}

    def missing(self, names: Collection[str]) -> list[str]:
        """The functions that the library does not define."""
        symbols = self._read(names).symbols
        return [name for name in names if name not in symbols]

    def _read(self, names: Collection[str]) -> Library:
        """The library with the definitions of ``names``, and of more or of all."""
        if self._library is None:
            self._library = Library.from_blob(self._blob, lambda module: _keep(module, frozenset(names), self._machine))
        elif self._library.symbols.intersection(names) - self._library.definitions.keys():
            self._library = Library.from_blob(self._blob)
        return self._library

    def cut(self, names: Collection[str], number: int) -> bytes:
        """The ``.libdevice.bc`` of those of ``names`` that the library defines, for the GPU sm_<number>.

        Its functions are external and their helpers ``linkonce_odr``. Equal sets have equal bytes, in any order and after
        any other cut. Raises InvalidInput[libdevice-missing, libdevice-broken].
        """
        library = self._read(names)
        wanted = tuple(sorted(library.symbols.intersection(names)))
        if (wanted, number) not in self._cuts:
            closures = [self._closure(library, name, number) for name in wanted]
            self._cuts[wanted, number] = _wrap(_merge(closures, self._machine), number)
        return self._cuts[wanted, number]

    def _closure(self, library: Library, symbol: str, number: int) -> bytes:
        for known in ((symbol, None), (symbol, number)):
            if known in self._closures:
                return self._closures[known]
        closure = library.closure(symbol, number)
        key = (symbol, number if closure.reads_arch else None)
        self._closures[key] = optimize(closure, self._machine)
        return self._closures[key]


class CutLibrary:
    """A ``.libdevice.bc``, which is linked as it is; it has the interface of ``ClosureStore``."""

    def __init__(self, blob: Blob):
        self.name, self._data = blob.name, blob.read()
        *_, self._number = _HEADER.unpack_from(self._data)

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The functions that it was extracted for."""
        try:
            with llvm.create_context() as context, llvm.parse_bitcode(self._data, context=context) as module:
                return frozenset(exported(module))
        except RuntimeError as error:
            raise broken_library(self.name) from error

    def missing(self, names: Collection[str]) -> list[str]:
        """The functions that it was not extracted for."""
        return [name for name in names if name not in self.symbols]

    def cut(self, names: Collection[str], number: int) -> bytes:
        """The whole library; raises InvalidInput[libdevice-target] if it is for another GPU."""
        if number != self._number:
            raise InvalidInput(
                "libdevice-target",
                f"{self.name} was cut from libdevice for sm_{self._number}, and not for sm_{number}",
                remedy="name a whole libdevice.10.bc, or leave libdevice unset",
            )
        return self._data


def is_cut(data: bytes) -> bool:
    """Whether a library's bytes are a ``.libdevice.bc``."""
    if len(data) < _HEADER.size:
        return False
    magic, *_, mark, _ = _HEADER.unpack_from(data)
    return magic == _WRAPPER and mark == _MARK


def exported(module: llvm.ModuleRef) -> list[str]:
    """The exported functions of an extracted library's module."""
    return [f.name for f in module.functions if not f.is_declaration and f.linkage.name == "external"]


def optimize(closure: Closure, machine: llvm.TargetMachine) -> bytes:
    """Bitcode of a closure after LLVM's O3: its function external, everything else in it ``linkonce_odr``."""
    with llvm.create_context() as context, _parse(closure.text, machine, context) as module:
        # All functions stay external for now: an internal helper could be specialized to this closure's calls, and two
        # closures would then have different functions of one name.
        _run(module, machine, lambda builder: builder.getModulePassManager())
        helpers = [f for f in module.functions if not f.is_declaration and f.name != closure.symbol]
        for function in helpers:
            function.linkage = "linkonce_odr"
        _run(module, machine, _drop_unused)
        return module.as_bitcode() if not has_arrays(text := str(module)) else _without_arrays(text, machine)


def _without_arrays(text: str, machine: llvm.TargetMachine) -> bytes:
    """Bitcode of an optimized closure whose small arrays are registers."""
    with llvm.create_context() as context, llvm.parse_assembly(select_elements(text), context=context) as module:
        _run(module, machine, _promote)
        return module.as_bitcode()


def _promote(_) -> llvm.ModulePassManager:
    manager = llvm.create_new_module_pass_manager()
    manager.add_sroa_pass()
    manager.add_instruction_combine_pass()
    return manager


def _merge(closures: Iterable[bytes], machine: llvm.TargetMachine) -> bytes:
    """One module's bitcode of all closures; equal helpers merge."""
    with llvm.create_context() as context, _parse("", machine, context) as module:
        for bitcode in closures:
            with llvm.parse_bitcode(bitcode, context=context) as closure:
                module.link_in(closure)
        return module.as_bitcode()


def _parse(text: str, machine: llvm.TargetMachine, context: llvm.ContextRef) -> llvm.ModuleRef:
    head = f'target datalayout = "{machine.target_data}"\ntarget triple = "{machine.triple}"\n'
    return llvm.parse_assembly(head + text, context=context)


def _wrap(bitcode: bytes, number: int) -> bytes:
    return _HEADER.pack(_WRAPPER, 0, _HEADER.size, len(bitcode), 0, _MARK, number) + bitcode


def _keep(module: llvm.ModuleRef, names: frozenset[str], machine: llvm.TargetMachine) -> None:
    """Remove what functions of these names do not need."""
    for function in module.functions:
        if not function.is_declaration and function.name not in names:
            function.linkage = "internal"
    _run(module, machine, _drop_unused)


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


def unresolved_error(names: list[str], why: str) -> InvalidInput:
    """The diagnostic for libdevice functions that stay undefined."""
    return InvalidInput(
        "unresolved-libdevice",
        f"the kernel calls {', '.join(names)}, but {why}",
        remedy="link a libdevice.10.bc that has them, or do not use the operation",
    )
