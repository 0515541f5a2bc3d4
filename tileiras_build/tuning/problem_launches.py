"""The launches that a choice is for: the problems of a ``Tune``, or the sizes of the case's ``inputs``.

A problem gives lengths of arrays; the arrays here have those, and contents that nobody reads: the cost model takes addresses
and trip counts from lengths, strides and scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..frontend.kernel_case import Array, Case, Scalar, Values, named_dtype
from ..frontend.tuning_space import Problem


@dataclass(frozen=True)
class ProblemLaunch:
    """Arguments by name in the kernel's order, the grid in tile blocks, and whether arrays have contents."""

    values: Values
    grid: tuple[int, int, int]
    has_contents: bool = False


def problem_launches(case: Case) -> list[ProblemLaunch]:
    """The launches of a case at the point that its arguments and its kernel have. Raises ValueError where there are none."""
    problems = case.tune.problems if case.tune else ()
    if case.grid is None:
        raise ValueError(
            "Tune needs grid=, a function of the arguments and constants: first_tiles('c', 'TILE_M', 'TILE_N')"
        )
    if problems:
        return [ProblemLaunch(found := _values(case, one), _grid(case, found)) for one in problems]
    if case.inputs is None:
        raise ValueError("Tune needs problems=[{name: lengths or scalar, …}], as the case has no inputs=")
    given = case.inputs(np.random.default_rng(list(case.name.encode())))
    values = {name: given[name] for name in case.launch_names}
    return [ProblemLaunch(values, _grid(case, values), has_contents=True)]


def _values(case: Case, problem: Problem) -> Values:
    if wrong := sorted(set(problem) ^ set(case.launch_names)):
        raise ValueError(
            f"a problem of Tune has {', '.join(case.launch_names)}; lacking or unknown: {', '.join(wrong)}"
        )
    pairs = zip(case.launch_names, case.launch_arguments, strict=True)
    return {name: _value(name, argument, problem[name]) for name, argument in pairs}


def _value(name: str, argument: object, given: Any) -> Any:
    if isinstance(argument, Scalar):
        return given
    if not isinstance(argument, Array):
        raise ValueError(
            f"Tune: the lists and tuples of {name} have no problem sizes; leave problems= out and give inputs="
        )
    shape = (given,) if isinstance(given, int) else tuple(given)
    if len(shape) != argument.ndim:
        raise ValueError(f"Tune: {name} has {argument.ndim} axes, the problem gives {len(shape)} lengths")
    return _unwritten(argument, shape)


def _unwritten(argument: Array, shape: Sequence[int]) -> np.ndarray:
    """A contiguous array with the unit stride that is promised; its pages are never touched."""
    unit = (-1 if argument.unit_stride is None else argument.unit_stride) % max(argument.ndim, 1)
    order = [axis for axis in range(argument.ndim) if axis != unit] + [unit] * (argument.ndim > 0)
    block = np.empty([shape[axis] for axis in order], named_dtype(argument.dtype))
    return block.transpose(np.argsort(order))


def _grid(case: Case, values: Values) -> tuple[int, int, int]:
    grid = case.grid(values | case.constants) if callable(case.grid) else case.grid
    x, y, z = (*((grid,) if isinstance(grid, int) else tuple(grid or ())), 1, 1, 1)[:3]
    return int(x), int(y), int(z)
