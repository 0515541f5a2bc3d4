"""Build the launch of a reference: call the author's functions and check what they return.

Each error has the file and line of the function, and states what it should have returned.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Number
from typing import Any

import numpy as np

from ..core.errors import InvalidInput, Location
from ..frontend.cases_table_from_ast import display_path
from ..frontend.kernel_case import Argument, Array, Case, Checked, Scalar, Values, is_launch_argument, named_dtype
from ..frontend.users_errors import python_error
from .compare_arrays import flat_arrays

NUMERIC_KINDS = "biufcV"  # kinds of NumPy types; V is the kind of ml_dtypes
REMEDIES = {
    "reference-inputs": "inputs(rng) returns a dict of the launch's arguments, outputs included",
    "reference-grid": "grid is one to three tile block counts, or a function of the arguments that returns them",
    "reference-result": "reference(values) returns a dict of the arrays that the kernel writes, with their expected contents",
    "reference-tolerance": "tolerance is a Tolerance, or a dict of Tolerance by array name",
}
IDS = {
    "inputs": "reference-inputs",
    "grid": "reference-grid",
    "reference": "reference-result",
    "tolerance": "reference-tolerance",
}


@dataclass(frozen=True)
class ReferenceLaunch:
    """A reference's arguments before the launch, in the kernel's order, the expected arrays (by names of ``flat_arrays``), and
    the grid."""

    spec: Checked
    values: Values
    expected: dict[str, np.ndarray]
    grid: tuple[int, int, int]


def make_reference_launch(spec: Checked, path: str) -> ReferenceLaunch:
    """Call the functions of a reference of the file at ``path``.

    Raises InvalidInput[reference-raised] at the Python line where a function fails, and [reference-inputs],
    [reference-grid] or [reference-result] for an invalid return value.
    """
    assert spec.inputs is not None and spec.reference is not None
    caller = _Caller(spec, path)
    # Seeded by the reference's name: the same values in each run, different ones for each reference.
    values = caller.call("inputs", spec.inputs, np.random.default_rng(list(spec.name.encode())))
    values = _in_order(spec, _checked_values(caller, values), caller)
    _check_tolerances(spec, values, caller)
    again = lambda: {name: _copy(value) for name, value in values.items()}
    constants = spec.constants if isinstance(spec, Case) else {}
    grid = caller.call("grid", spec.grid, again() | constants) if callable(spec.grid) else spec.grid
    expected = _checked_result(caller, caller.call("reference", spec.reference, again()), values)
    return ReferenceLaunch(spec, values, expected, _checked_grid(caller, grid))


class _Caller:
    """Calls the functions of a reference and reports their errors."""

    def __init__(self, spec: Checked, path: str):
        self.spec, self.path = spec, path

    def call(self, key: str, function: Callable, argument: object) -> Any:
        try:
            return function(argument)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit would end the process without a message
            folder, prefix = os.path.dirname(os.path.realpath(self.path)), f"{key} of {self.spec.name!r}: "
            problem = python_error(error, folder, self.place(key), prefix)
            raise InvalidInput("reference-raised", problem.message, location=problem.location) from error

    def refuse(self, key: str, found: str) -> InvalidInput:
        id = IDS[key]
        message = f"{key} of {self.spec.name!r} {found}"
        return InvalidInput(id, message, location=self.place(key), remedy=REMEDIES[id])

    def place(self, key: str) -> Location:
        """The location of the function's definition, or the reference's file if that is unknown."""
        function = getattr(self.spec, key)
        while isinstance(function, partial):
            function = function.func
        code = getattr(function, "__code__", None)
        if code is None:
            return Location(display_path(self.path))
        return Location(display_path(code.co_filename), code.co_firstlineno, 1)


def _copy(value: Any) -> Any:
    """A copy with separate arrays: a reference may modify its arguments."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    return type(value)(map(_copy, value)) if isinstance(value, list | tuple) else value


# ---- inputs
def _checked_values(caller: _Caller, values: object) -> Values:
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise caller.refuse("inputs", f"must return a dict of arguments by name, got {type(values).__name__}")
    for name, array in flat_arrays(values):
        if array.dtype.kind not in NUMERIC_KINDS:
            raise caller.refuse("inputs", f"returned {name!r} with elements of type {array.dtype}")
    return dict(values)


def _in_order(spec: Checked, values: Values, caller: _Caller) -> Values:
    """The values in the order of the kernel's arguments, if those are named."""
    if not isinstance(spec, Case):
        return values
    names = spec.launch_names
    for name in values:
        if name not in names:
            raise caller.refuse("inputs", f"returned unknown argument {name!r} (arguments: {', '.join(names)})")
    for name, argument in zip(names, spec.launch_arguments):
        if name not in values:
            raise caller.refuse("inputs", f"lacks argument {name!r}")
        if wrong := _mismatch(argument, values[name]):
            raise caller.refuse("inputs", f"returned {name!r} as {wrong}")
    return {name: values[name] for name in names}


def _check_tolerances(spec: Checked, values: Values, caller: _Caller) -> None:
    """Refuse unknown array names: an array without a tolerance would be compared exactly."""
    arrays = dict(flat_arrays(values))
    for name in spec.tolerance if isinstance(spec.tolerance, Mapping) else ():
        if name not in arrays:
            raise caller.refuse("tolerance", f"names unknown array {name!r} (arrays: {', '.join(arrays) or 'none'})")


def _mismatch(argument: Argument, value: object) -> str | None:
    """The actual and the expected kind of a value; None if they match. Strides are checked later."""
    found = f"a {type(value).__name__}"
    if isinstance(argument, Array):
        return _array_mismatch(argument, value) if isinstance(value, np.ndarray) else f"{found}, expected a NumPy array"
    if isinstance(argument, Scalar):
        return None if is_scalar(value) else f"{found}, expected a scalar"
    if not isinstance(value, list | tuple):
        return f"{found}, expected a {'tuple' if isinstance(argument, tuple) else 'list of arrays'}"
    if not isinstance(argument, tuple):
        return (
            None if all(isinstance(item, np.ndarray) for item in value) else "a list with elements that are no arrays"
        )
    passed = [part for part in argument if is_launch_argument(part)]
    if len(passed) != len(value):
        return f"{len(value)} elements, expected {len(passed)}"
    return next(filter(None, map(_mismatch, passed, value)), None)


def _array_mismatch(argument: Array, value: np.ndarray) -> str | None:
    wanted = named_dtype(argument.dtype)
    if value.dtype == wanted and value.ndim == argument.ndim:
        return None
    return f"a {value.ndim}-d array of {value.dtype}, expected a {argument.ndim}-d array of {wanted}"


def is_scalar(value: object) -> bool:
    """Whether ``value`` is a scalar of Python or NumPy."""
    return isinstance(value, Number | np.generic) or isinstance(value, np.ndarray) and value.ndim == 0


# ---- grid and reference
def _checked_grid(caller: _Caller, grid: object) -> tuple[int, int, int]:
    counts: Sequence = grid if isinstance(grid, tuple | list) else [grid]
    good = all(isinstance(count, int | np.integer) and count > 0 for count in counts) and 1 <= len(counts) <= 3
    if not good:
        raise caller.refuse("grid", f"is {grid!r}")
    x, y, z = (*map(int, counts), 1, 1)[:3]
    return x, y, z


def _checked_result(caller: _Caller, result: object, values: Values) -> dict[str, np.ndarray]:
    if not isinstance(result, Mapping) or not all(isinstance(name, str) for name in result):
        raise caller.refuse("reference", f"must return a dict of arrays by name, got {type(result).__name__}")
    arrays, expected = dict(flat_arrays(values)), dict(flat_arrays(result))
    for name, value in result.items():
        if not isinstance(value, np.ndarray) and not _is_of_arrays(value):
            raise caller.refuse("reference", f"returned {name!r} as {type(value).__name__}, expected a NumPy array")
    for name, array in expected.items():
        if name not in arrays:
            raise caller.refuse("reference", f"returned unknown array {name!r} (arrays: {', '.join(arrays) or 'none'})")
        one, other = _described(array), _described(arrays[name])
        if one != other:
            raise caller.refuse("reference", f"returned {name!r} as {one}, expected {other}")
    if not expected:
        raise caller.refuse("reference", "returned no arrays")
    return expected


def _is_of_arrays(value: object) -> bool:
    """Whether ``value`` is a list or tuple that contains arrays, as an argument may be."""
    return isinstance(value, list | tuple) and any(
        isinstance(part, np.ndarray) or _is_of_arrays(part) for part in value
    )


def _described(array: np.ndarray) -> str:
    return f"{array.dtype} of shape {array.shape}"
