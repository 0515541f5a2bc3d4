"""Where a kernel's buffers are: in shared memory, and on the stack for the arguments of prints."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ....dialects.ir import walk
from ...shared.accessors import number_of, row
from ....errors import InternalError
from ...shared.element_types import element_of
from ..decompose_prints import is_decomposed

STORAGE = ("nv_tileas.alloc_tensor", "nv_tileas.alloca")


@dataclass
class Buffers:
    """``places`` are byte offsets of buffers in the kernel's shared memory, ``print_bytes`` the largest argument list.

    ``generic`` says that a pointer may point into shared memory, so that no pointer is known to be a global one.
    """

    places: dict[SSAValue, int] = field(default_factory=dict)
    print_bytes: int = 0
    generic: bool = False


def analyze_buffers(kernel: Operation, shared_bytes: int) -> Buffers:
    """The buffers of a kernel whose shared memory has ``shared_bytes`` bytes.

    Raises InternalError for a buffer without a place in it, and for a print whose operands are not C's varargs.
    """
    found = Buffers()
    for op in walk(kernel):
        if op.name in STORAGE:
            found.places[op.results[0]] = _place(op, shared_bytes)
            found.generic |= op.name == "nv_tileas.alloca" and "global" not in op.attributes
        elif op.name == "nv_tileas.print":
            found.print_bytes = max(found.print_bytes, _argument_bytes(op))
    return found


def _place(op: Operation, shared_bytes: int) -> int:
    offset = number_of(op, "shared_offset", -1)
    if not 0 <= offset < shared_bytes:
        raise InternalError("buffer-place", f"{op.name} has no place in the {shared_bytes} bytes of shared memory")
    return offset


def _argument_bytes(op: Operation) -> int:
    if not is_decomposed(op):
        raise InternalError("print-operands", "a print has operands that are not i32, i64 or f64")
    types = [value.type.element_type if isinstance(value.type, TensorType) else value.type for value in row(op).values]
    return argument_places([element_of(type).bytes for type in types])[1]


def argument_places(sizes: list[int]) -> tuple[list[int], int]:
    """The byte offsets of varargs of some sizes, each aligned to its own, and the end of the last."""
    places, end = [], 0
    for size in sizes:
        places.append(-(-end // size) * size)
        end = places[-1] + size
    return places, end
