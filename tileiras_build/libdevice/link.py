"""Link what a kernel module needs from libdevice, and nothing else."""

from __future__ import annotations

from pathlib import Path

import llvmlite.binding as llvm

from .closures import ClosureStore
from .find import find_libdevice

_STORES: dict[tuple, ClosureStore] = {}


def store_for(path: str | Path | None, machine: llvm.TargetMachine) -> ClosureStore:
    """The store of one library file; a file that changed on disk gets a new one.

    ``machine`` fixes data layout and cost model: pass the same one for all targets, so that closures can be shared.
    Raises InvalidInput[libdevice-missing].
    """
    found = find_libdevice(path)
    status = found.stat()
    key = (str(found), status.st_mtime_ns, status.st_size)
    if key not in _STORES:
        _STORES[key] = ClosureStore(found, machine)
    return _STORES[key]


def called_symbols(module: llvm.ModuleRef) -> list[str]:
    """Names of the libdevice functions that the module declares without defining them."""
    return [f.name for f in module.functions if f.is_declaration and f.name.startswith("__nv_")]


def link_needed(module: llvm.ModuleRef, context, names, store: ClosureStore, number: int) -> None:
    """Link the closures of ``names`` into the module and make them internal, so that dead ones vanish.

    Raises InvalidInput[unresolved-libdevice].
    """
    for bitcode in store.resolve(names, number).values():
        module.link_in(llvm.parse_bitcode(bitcode, context=context))
    for symbol in (*module.functions, *module.global_variables):
        if symbol.linkage.name == "linkonce_odr":
            symbol.linkage = "internal"
