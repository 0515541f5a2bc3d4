"""The groups that stores of tensors make (PTX ISA 9.0, section 9.7.9.27); the copies stand in ``ops_copy``."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i1, i64

from .rows import ALL, Intrinsic, instruction, number, word

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
