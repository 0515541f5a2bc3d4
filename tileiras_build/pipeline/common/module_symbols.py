"""The symbols of a module in a text artifact: kernels and globals, by name."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from ...core.symbols.check_symbol_names import GLOBAL, KERNEL

KINDS = {
    **dict.fromkeys(("cuda_tile.entry", "nv_tileaa.func", "func.func"), KERNEL),
    **dict.fromkeys(("cuda_tile.global", "nv_tileaa.global"), GLOBAL),
}


def symbols(module: ModuleOp) -> Iterator[tuple[str, str]]:
    """(kind, name) of each symbol in the machine code of a module: its kernels and globals, in order."""
    for op in module.body.ops:
        inside = op.regions[0].ops if op.name == "cuda_tile.module" else (op,)
        yield from ((KINDS[symbol.name], _name(symbol)) for symbol in inside if symbol.name in KINDS)


def _name(op: Operation) -> str:
    name = op.properties.get("sym_name") or op.attributes.get("sym_name")
    return name.data if isinstance(name, StringAttr) else ""
