"""Link only the functions that a kernel module needs from libdevice."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import llvmlite.binding as llvm

from ..core.errors import InternalError, InvalidInput
from ..core.symbols.check_symbol_names import LIBDEVICE_PREFIX
from .extract_subset import ClosureStore, CutLibrary, exported, is_cut, unresolved_error
from .locate_libdevice import find_libdevice
from .resolve_linked_library import Blob

_STORES: dict[tuple, ClosureStore | CutLibrary] = {}


def store_for(library: Blob | str | Path | None, machine: llvm.TargetMachine) -> ClosureStore | CutLibrary:
    """The store of one library (a path is searched as by ``find_libdevice``); changed contents get a new store.

    ``machine`` determines data layout and cost model: use the same one for all targets, so that closures can be shared.
    Raises InvalidInput[libdevice-missing].
    """
    blob = library if isinstance(library, Blob) else Blob.of_file(find_libdevice(library))
    key = (blob.name, blob.digest(), str(machine.target_data))
    if key not in _STORES:
        _STORES[key] = CutLibrary(blob) if is_cut(blob.read()) else ClosureStore(blob, machine)
    return _STORES[key]


def called_symbols(module: llvm.ModuleRef) -> list[str]:
    """Names of the libdevice functions that the module declares without defining them."""
    return [f.name for f in module.functions if f.is_declaration and f.name.startswith(LIBDEVICE_PREFIX)]


def link_needed(
    module: llvm.ModuleRef, context, names: Iterable[str], store: ClosureStore | CutLibrary, number: int
) -> None:
    """Link the closures of ``names`` into the module and make them internal, so that unused ones are removed.

    Raises InvalidInput[unresolved-libdevice, libdevice-target], InternalError[libdevice-signature].
    """
    names = sorted(names)
    if missing := store.missing(names):
        raise unresolved_error(missing, f"{store.name} does not define them")
    with llvm.parse_bitcode(store.cut(names, number), context=context) as library:
        _check_layout(store.name, module, library)
        for name in names:
            _check_signature(name, module, library)
        linked = exported(library)
        module.link_in(library)
    for symbol in (*module.functions, *module.global_variables):
        if symbol.linkage.name == "linkonce_odr":
            symbol.linkage = "internal"
    for name in linked:
        module.get_function(name).linkage = "internal"


def _check_layout(name: str, module: llvm.ModuleRef, library: llvm.ModuleRef) -> None:
    if module.data_layout != library.data_layout:
        raise InvalidInput(
            "libdevice-target",
            f"{name} was cut from libdevice for {library.triple}, and the module is for {module.triple}",
            remedy="name a whole libdevice.10.bc, or leave libdevice unset",
        )


def _check_signature(name: str, module: llvm.ModuleRef, library: llvm.ModuleRef) -> None:
    """LLVM silently links a declaration of the wrong type, and makes the call unreachable."""
    declared, defined = (str(side.get_function(name).global_value_type) for side in (module, library))
    if declared != defined:
        raise InternalError(
            "libdevice-signature", f"{name} is declared as {declared}, but libdevice defines {defined}",
            remedy="correct the call in the lowering",
        )  # fmt: skip
