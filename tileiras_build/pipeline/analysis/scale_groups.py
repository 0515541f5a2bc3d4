"""Scales of several iterations that are loaded at once: how many such groups a ring holds.

A loop counts from 0 in steps of 1, and ``steps`` iterations, a group, use one tile of scales. With one iteration to a group
a ring has as many groups as stages.
"""


def groups_copied(steps: int, stages: int) -> int:
    """Of shared memory, filled ``stages`` - 1 iterations ahead: the group that is read, and those that are on their way.

    A barrier stands between the last reading of a group and the copy of the one that takes its place.
    """
    return 1 - (1 - stages) // steps


def groups_multiplied(steps: int, stages: int) -> int:
    """Of tensor memory, beside a ring of ``stages`` operands.

    When the operands of iteration i are there, the product of iteration i - ``stages`` is done, which used their stage before,
    and all before it. Group g takes the place of group g - n, which iteration ``steps`` (g - n + 1) - 1 was the last to use: n
    is the least with which that is no later than ``steps`` g - ``stages``.
    """
    return -((1 - steps - stages) // steps)
