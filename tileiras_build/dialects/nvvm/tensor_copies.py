"""Copies of tensors by their maps, and the groups that stores make (PTX ISA 9.0, section 9.7.9.27).

These are LLVM's intrinsics, ``nvvm.cp.async.bulk.tensor.g2s`` and ``s2g`` as it names them; MLIR's operations, which
may be under a predicate, stand in ``ops_copy``.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i1, i16, i64
from xdsl.ir import Operation

from .rows import ALL, CLUSTER, Argument, Intrinsic, instruction, number, word

_PAIR = 2  # cta_group::2, as the intrinsic numbers it
# The slot of a cache hint, and that it is empty.
_NO_HINT = (IntegerAttr(0, i64), IntegerAttr(0, i1))


def _in_cluster(op: Operation) -> bool:
    return op.place.type.addr_space.data == CLUSTER


def _load_name(op: Operation) -> str:
    form = "" if _in_cluster(op) else ".cta"
    return f"cp.async.bulk.tensor.g2s{form}.tile.{len(op.coordinates)}d"


def _load_arguments(op: Operation) -> Sequence[Argument]:
    """A copy in a cluster has slots for the CTAs that get it and for the pair of CTAs."""
    if not _in_cluster(op):
        return [*op.operands, *_NO_HINT]
    mask = number(op, "mask")
    hint, no_hint = _NO_HINT
    flags = IntegerAttr(int(mask != 0), i1), no_hint, _PAIR if "pair" in op.attributes else 0
    return [*op.operands, IntegerAttr(mask, i16, truncate_bits=True), hint, *flags]


TensorLoadOp = instruction(
    "cp.async.bulk.tensor.g2s",
    "place barrier map coordinates*",
    "",
    "a box to shared memory, its bytes counted at an mbarrier. Of a place in the cluster's shared memory: `mask` has a "
    "bit for each CTA that gets it, and with `pair` the mbarrier may be that of the other CTA of a pair",
    Intrinsic(_load_name, ALL, arguments=_load_arguments),
)
TensorStoreOp = instruction(
    "cp.async.bulk.tensor.s2g",
    "place map coordinates*",
    "",
    "a box from shared memory",
    Intrinsic(
        lambda op: f"cp.async.bulk.tensor.s2g.tile.{len(op.coordinates)}d",
        ALL,
        arguments=lambda op: [*op.operands, *_NO_HINT],
    ),
)
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
