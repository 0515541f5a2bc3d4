"""The order that the memory semantics of an access require."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from ...ir.dialects.op_traits import MemoryEffect, is_atomic_rmw, traits_of

ACQUIRES, RELEASES = frozenset({"acquire", "acq_rel"}), frozenset({"release", "acq_rel"})


def semantic_of(op: Operation) -> str:
    """The memory semantics of an operation; "weak" by default."""
    found = op.attributes.get("mem_semantic")
    return found.data if isinstance(found, StringAttr) else "weak"


def is_unordered(op: Operation) -> bool:
    """Whether an operation does not synchronize with other programs: a weak access, or a relaxed exchange."""
    semantic = semantic_of(op)
    return semantic == "weak" or semantic == "relaxed" and is_atomic_rmw(op)


def is_weak_load(op: Operation) -> bool:
    """Whether an operation only reads memory, in no order but that of its token."""
    return traits_of(op).effect == MemoryEffect.READ and semantic_of(op) == "weak"


def acquires(op: Operation) -> bool:
    """Whether later accesses must observe what other threads released."""
    return semantic_of(op) in ACQUIRES


def releases(op: Operation) -> bool:
    """Whether threads that acquire must observe earlier accesses."""
    return semantic_of(op) in RELEASES
