"""What the memory semantics of an access require of the accesses before and after it."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from ...ir.dialects.op_traits import is_atomic_rmw

ACQUIRES, RELEASES = frozenset({"acquire", "acq_rel"}), frozenset({"release", "acq_rel"})


def semantic_of(op: Operation) -> str:
    """The memory semantics of an operation; "weak" where it has none."""
    found = op.attributes.get("mem_semantic")
    return found.data if isinstance(found, StringAttr) else "weak"


def is_unordered(op: Operation) -> bool:
    """Whether nothing that other programs do waits for an operation: an access that is weak, or an exchange that is relaxed."""
    semantic = semantic_of(op)
    return semantic == "weak" or semantic == "relaxed" and is_atomic_rmw(op)


def acquires(op: Operation) -> bool:
    """Whether what follows must see what others released."""
    return semantic_of(op) in ACQUIRES


def releases(op: Operation) -> bool:
    """Whether others that acquire must see what came before."""
    return semantic_of(op) in RELEASES
