"""Link the functions that a module calls from the library that it names (blobLinkedLib), or report those without a definition."""

from __future__ import annotations

import llvmlite.binding as llvm

from ...core.symbols.check_symbol_names import LIBDEVICE_PREFIX
from ...libdevice.extract_subset import unresolved_error
from ...libdevice.link import link_needed, store_for
from ...libdevice.resolve_linked_library import Blob, resolve
from ..serialization_target import Serialization
from .target_machine import library_machine


def link_blob(
    module: llvm.ModuleRef,
    context,
    note: str | None,
    missing: list[str],
    libdevice: str | None,
    made_for: Serialization,
) -> None:
    """Link the functions ``missing`` of a module whose ``!tileiras.libdevice`` is ``note``. Those of other names may remain undefined."""
    if note is not None:
        _link(module, context, missing, resolve(note, libdevice), made_for)
    elif helpers := sorted(name for name in missing if name.startswith(LIBDEVICE_PREFIX)):
        raise unresolved_error(helpers, "the module links no libdevice (!tileiras.libdevice)")


def _link(module: llvm.ModuleRef, context, missing: list[str], blob: Blob, made_for: Serialization) -> None:
    """A blob is validated even if no function is needed."""
    store = store_for(blob, library_machine(module.triple))
    others = {name for name in store.missing(missing) if not name.startswith(LIBDEVICE_PREFIX)}
    link_needed(module, context, set(missing) - others, store, made_for.target.number)
