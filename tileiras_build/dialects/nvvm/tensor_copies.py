"""The groups that stores of tensors make (PTX ISA 9.0, section 9.7.9.27); the copies stand in ``ops_copy``."""

from __future__ import annotations

from .rows import ALL, Intrinsic, instruction, number

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
