"""Groups of iterations whose block scales are loaded at once: how many groups a ring holds.

A loop counts from 0 in steps of 1, and ``steps`` iterations, a group, use one tile of scales. With one iteration to a group
a ring has as many groups as stages.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ...ir.casting import as_op, is_int_constant
from ...ir.dialects.op_traits import is_counted_loop


def is_canonical_loop(loop: Operation | None) -> bool:
    """Whether a loop is counted from 0 in steps of 1."""
    if loop is None or not is_counted_loop(loop):
        return False
    return is_int_constant(as_op(loop).lower, 0) and is_int_constant(as_op(loop).step, 1)


def smem_scale_groups(steps: int, stages: int) -> int:
    """Of shared memory, filled ``stages`` - 1 iterations ahead.

    The first iteration of a group reads it. The group that takes its place after n others is copied n ``steps`` - ``stages`` + 1
    iterations later: n is the least with which that is another iteration, hence after a barrier.
    """
    return -(-stages // steps)


def tmem_scale_groups(steps: int, stages: int) -> int:
    """Of tensor memory, beside a ring of ``stages`` operands.

    When the operands of iteration i are there, the dot of iteration i - ``stages`` is done, which used their stage before,
    and all before it. Group g takes the place of group g - n, which iteration ``steps`` (g - n + 1) - 1 was the last to use: n
    is the least with which that is no later than ``steps`` g - ``stages``.
    """
    return -((1 - steps - stages) // steps)


PREFETCHED_GROUPS = 4  # iterations: in so many a warp has loaded scales


def warp_loaded_scale_groups(steps: int) -> int:
    """Of both, where warps of their own load the scales: the group that is multiplied by, and those of the iterations ahead.

    A group takes the place of one whose last dot is done: no number of iterations is needed for that to be true.
    """
    return 1 + -(-PREFETCHED_GROUPS // steps)


def scale_groups_per_load(steps: int) -> int:
    """At once, by a warp of its own: two where one would not be there in time."""
    return 1 if steps >= PREFETCHED_GROUPS else 2
