"""Groups of iterations whose block scales are loaded at once: the number of groups in a buffer.

A loop counts from 0 in steps of 1, and ``steps`` iterations, a group, use one tile of scales. With one iteration per
group, a buffer has as many groups as stages.
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
    """Groups in shared memory, which are filled ``stages`` - 1 iterations ahead.

    The first iteration of a group reads it. The group that overwrites it, n groups later, is copied n ``steps`` -
    ``stages`` + 1 iterations later: n is the smallest number for which that is a later iteration, hence after a
    barrier.
    """
    return -(-stages // steps)


def tmem_scale_groups(steps: int, stages: int) -> int:
    """Groups in tensor memory, beside ``stages`` stages of operands.

    When the operands of iteration i arrive, the MMA of iteration i - ``stages``, which used their stage before, is
    complete, and all MMAs before it. Group g overwrites group g - n, whose last iteration is ``steps`` (g - n + 1) - 1:
    n is the smallest number for which that is at most ``steps`` g - ``stages``.
    """
    return -((1 - steps - stages) // steps)


PREFETCHED_GROUPS = 4  # number of iterations before which a warp has loaded the scales


def warp_loaded_scale_groups(steps: int) -> int:
    """Groups in both memories, if warps of their own load the scales: the current group, and those of the prefetched
    iterations.

    A group overwrites one whose last MMA is complete, which the pipeline ensures for any number of groups.
    """
    return 1 + -(-PREFETCHED_GROUPS // steps)


def scale_groups_per_load(steps: int) -> int:
    """Groups per load of a scale load warp: two if one would arrive too late."""
    return 1 if steps >= PREFETCHED_GROUPS else 2
