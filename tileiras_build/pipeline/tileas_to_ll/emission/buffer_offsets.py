"""The shared-memory offsets of a kernel's buffers."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from ....core.errors import InternalError
from ....ir.casting import as_op, int_attr
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.op_traits import OP_TRAITS, is_async_mma
from ..decompose_prints import is_decomposed

STORAGE = ("nv_tileas.alloc_tensor", "nv_tileas.alloca")


@dataclass
class Buffers:
    """``places`` are byte offsets of buffers in the kernel's shared memory.

    ``generic``: a pointer may point to shared memory, so no pointer is known to be global. ``steps``: iterations of a
    loop that share one stage of a buffer.
    """

    places: dict[SSAValue, int] = field(default_factory=dict)
    generic: bool = False
    steps: int = 1


def analyze_buffers(kernel: Operation, shared_bytes: int) -> Buffers:
    """The buffers of a kernel that has ``shared_bytes`` bytes of shared memory.

    Raises InternalError for a buffer without an offset, and for a print whose operands are not C varargs.
    """
    found = Buffers()
    for op in walk(kernel):
        if op.name in STORAGE:
            found.places[op.results[0]] = _offset_of(op, shared_bytes)
            found.generic |= op.name == "nv_tileas.alloca" and "global" not in op.attributes
        # An operation without traits has no handler either: its emission refuses it.
        elif op.name in OP_TRAITS and is_async_mma(op):
            found.steps = max(found.steps, as_op(op).scale_steps)
        elif op.name == "nv_tileas.print" and not is_decomposed(op):
            raise InternalError("print-operands", "a print has operands that are not i32, i64 or f64")
    return found


def _offset_of(op: Operation, shared_bytes: int) -> int:
    offset = int_attr(op, "shared_offset", -1)
    if not 0 <= offset < shared_bytes:
        raise InternalError("buffer-address", f"{op.name} has no offset in the {shared_bytes} bytes of shared memory")
    return offset
