"""TMA reductions, bulk groups of TMA stores (PTX ISA 9.0, section 9.7.9.27), and tensormap.replace; TMA copies are in
``ops_copy``."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.dialects.llvm import LLVMPointerType

from ..checked_cast import cast
from ..op_definition import TableOp
from .intrinsic_or_inline_asm import (
    ALL,
    SHARED,
    Argument,
    Assembly,
    Intrinsic,
    bits_of,
    define_instruction,
    int_attr,
    keyword_attr,
    space_of,
)

REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
# Mode of a box -> its ranks in that mode.
MODES = {"tile": range(1, 6), "im2col": range(3, 6)}


def _reduce_arguments(op: TableOp) -> list[Argument]:
    """The operands of the store in the order of the intrinsic, with a flag for the hint."""
    hint = op.hint
    slots: list[Argument] = [IntegerAttr(0, i64), IntegerAttr(0, i1)] if hint is None else [hint, IntegerAttr(1, i1)]
    return [op.place, op.map, *op.coordinates, *slots]


TensorReduceOp = define_instruction(
    "cp.async.bulk.tensor.reduce",
    "map coordinates* place hint?",
    "",
    "reduce a box from shared memory into the tensor; `red_op` is one of REDUCTIONS, `mode` one of MODES",
    Intrinsic(
        lambda op: (
            f"cp.async.bulk.tensor.reduce.{keyword_attr(op, 'red_op')}.{keyword_attr(op, 'mode')}.{len(op.coordinates)}d"
        ),
        ALL,
        arguments=_reduce_arguments,
    ),
)
BulkCommitGroupOp = define_instruction(
    "cp.async.bulk.commit.group",
    "",
    "",
    "commit this thread's stores since the last group as one group",
    Intrinsic("cp.async.bulk.commit.group", ALL),
)
BulkWaitGroupOp = define_instruction(
    "cp.async.bulk.wait_group",
    "",
    "",
    "wait until at most `pending` groups are in flight, or with `read` have not read shared memory",
    Intrinsic(
        lambda op: f"cp.async.bulk.wait.group{'.read' if 'read' in op.attributes else ''}",
        ALL,
        arguments=lambda op: [int_attr(op, "pending")],
    ),
)


def _replace_field(op: TableOp) -> str:
    place, value = op.operands
    space = "shared::cta" if space_of(cast(LLVMPointerType, place.type)) == SHARED else "global"
    index = f"{int_attr(op, 'index')}, " if "index" in op.attributes else ""
    return f"tensormap.replace.tile.{keyword_attr(op, 'field')}.{space}.b1024.b{bits_of(value.type)} [$0], {index}$1;"


TensorMapReplaceOp = define_instruction(
    "tensormap.replace",
    "map value",
    "",
    "change a `field` of a tensor map in memory: global_address, or with its `index` global_dim or global_stride",
    Assembly(_replace_field),
)
