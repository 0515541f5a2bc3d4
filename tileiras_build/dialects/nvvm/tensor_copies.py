"""Reductions of tensors, the groups that stores of tensors make (PTX ISA 9.0, section 9.7.9.27), and changes of tensor
maps (tensormap.replace); the copies stand in ``ops_copy``."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.dialects.llvm import LLVMPointerType

from ..definition import TableOperation
from ..narrowing import expect
from .rows import ALL, SHARED, Assembly, Intrinsic, bits_of, instruction, number, space_of, word

# The slot of a cache hint, and that it is empty.
_NO_HINT = (IntegerAttr(0, i64), IntegerAttr(0, i1))

TensorReduceOp = instruction(
    "cp.async.bulk.tensor.reduce",
    "place map coordinates*",
    "",
    "a box from shared memory combined with what is there; `reduction` is add, min, max, inc, dec, and, or, xor",
    Intrinsic(
        lambda op: f"cp.async.bulk.tensor.reduce.{word(op, 'reduction')}.tile.{len(op.coordinates)}d",
        ALL,
        arguments=lambda op: [*op.operands, *_NO_HINT],
    ),
)
BulkCommitGroupOp = instruction(
    "cp.async.bulk.commit.group",
    "",
    "",
    "the stores that this thread has started since the last time are a group",
    Intrinsic("cp.async.bulk.commit.group", ALL),
)
BulkWaitGroupOp = instruction(
    "cp.async.bulk.wait_group",
    "",
    "",
    "wait until at most `pending` groups are not done, or with `read` have not read shared memory",
    Intrinsic(
        lambda op: f"cp.async.bulk.wait.group{'.read' if 'read' in op.attributes else ''}",
        ALL,
        arguments=lambda op: [number(op, "pending")],
    ),
)


def _replaced(op: TableOperation) -> str:
    place, value = op.operands
    space = "shared::cta" if space_of(expect(LLVMPointerType, place.type)) == SHARED else "global"
    index = f"{number(op, 'index')}, " if "index" in op.attributes else ""
    return f"tensormap.replace.tile.{word(op, 'field')}.{space}.b1024.b{bits_of(value.type)} [$0], {index}$1;"


TensorMapReplaceOp = instruction(
    "tensormap.replace",
    "map value",
    "",
    "change a `field` of a tensor map in memory: global_address, or with its `index` global_dim or global_stride",
    Assembly(_replaced),
)
