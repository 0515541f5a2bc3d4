"""Link what a kernel module needs from libdevice, and nothing else."""

from __future__ import annotations

from pathlib import Path

import llvmlite.binding as llvm

from ..errors import InternalError
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

    Raises InvalidInput[unresolved-libdevice], InternalError[libdevice-signature].
    """
    for name, bitcode in store.resolve(names, number).items():
        with llvm.parse_bitcode(bitcode, context=context) as closure:
            _check_signature(name, module, closure)
            module.link_in(closure)
    for symbol in (*module.functions, *module.global_variables):
        if symbol.linkage.name == "linkonce_odr":
            symbol.linkage = "internal"


def _check_signature(name: str, module: llvm.ModuleRef, closure: llvm.ModuleRef) -> None:
    """LLVM links a declaration of the wrong type without a word and makes the call unreachable."""
    declared, defined = (str(side.get_function(name).global_value_type) for side in (module, closure))
    if declared != defined:
        raise InternalError(
            "libdevice-signature", f"{name} is declared as {declared}, but libdevice defines {defined}",
            remedy="correct the call in the lowering",
        )  # fmt: skip
