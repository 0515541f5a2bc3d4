"""What layout assignment must know of each operation: one word per name."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.traits import Pure

ELEMENTWISE, FREE, SHAPE, POINTER, OTHER = "elementwise", "free", "shape", "pointer", "other"

_KINDS = {
    FREE: ("splat", "make_range"),
    SHAPE: ("view", "broadcast", "permute"),
    POINTER: ("load", "store", "atomic_rmw", "atomic_cas"),
    OTHER: (
        "tiled_load", "tiled_store", "tiled_atomic_rmw", "dot", "reduce", "scan", "cat", "extract_slice", "insert_slice",
        "reinterpret", "for", "loop", "if", "yield", "break", "continue", "print", "assert", "convert_layout",
    ),
}  # fmt: skip
KINDS = {f"nv_tileas.{name}": kind for kind, names in _KINDS.items() for name in names}
KINDS["arith.constant"] = FREE


def kind_of(op: Operation) -> str:
    """The operation's kind; every operation not listed works element by element."""
    return KINDS.get(op.name, ELEMENTWISE)


def is_tile(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType)


def is_pure(op: Operation) -> bool:
    """Whether an operation has no effect but its results."""
    return any(isinstance(trait, Pure) for trait in op.traits.traits)


def tiles(values: Any) -> list[SSAValue]:
    return [value for value in values if isinstance(value.type, TensorType)]


CHEAP_PREFIXES = ("arith.", "nv_tileas.addptr", "nv_tileas.assume", "nv_tileas.int_to_ptr", "nv_tileas.bitcast")


def is_cheap(op: Operation) -> bool:
    """Whether computing the operation again costs less than moving its result to another layout."""
    return op.name.startswith(CHEAP_PREFIXES) or kind_of(op) in (FREE, SHAPE)
