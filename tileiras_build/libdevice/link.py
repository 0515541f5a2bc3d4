"""Link what a kernel module needs from libdevice, and nothing else."""

from __future__ import annotations

from pathlib import Path

import llvmlite.binding as llvm

from ..errors import InternalError
from .blob import Blob
from .closures import ClosureStore
from .find import find_libdevice

HELPER = "__nv_"  # how the names of device library functions begin
_STORES: dict[tuple, ClosureStore] = {}


def store_for(library: Blob | str | Path | None, machine: llvm.TargetMachine) -> ClosureStore:
    """The store of one library (a path is searched as ``find_libdevice`` does); changed contents get a new one.

    ``machine`` fixes data layout and cost model: pass the same one for all targets, so that closures can be shared.
    Raises InvalidInput[libdevice-missing].
    """
    blob = library if isinstance(library, Blob) else Blob.of_file(find_libdevice(library))
    key = (blob.name, blob.digest(), str(machine.target_data))
    if key not in _STORES:
        _STORES[key] = ClosureStore(blob, machine)
    return _STORES[key]


def called_symbols(module: llvm.ModuleRef) -> list[str]:
    """Names of the libdevice functions that the module declares without defining them."""
    return [f.name for f in module.functions if f.is_declaration and f.name.startswith(HELPER)]


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
