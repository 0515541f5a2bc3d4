"""One launch as a row describes it: the author's functions are called, and what they return is checked.

Each error names the function's file and line, and what it should have returned.
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
from ..frontend.kernel_case import Argument, Array, Case, Checked, Scalar, Values, is_launch_argument, named_dtype
from ..frontend.kernel_case_table import display_path
from ..frontend.users_errors import python_error
from .compare_arrays import flat_arrays

NUMBERS = "biufcV"  # kinds of NumPy types; V are those of ml_dtypes
REMEDIES = {
    "reference-inputs": "inputs(rng) returns a dict of the launch's arguments, outputs included",
    "reference-grid": "grid is one to three numbers of tile blocks, or a function of the arguments that returns them",
    "reference-result": "reference(values) returns a dict of the arrays that the kernel writes, as they must be afterwards",
    "reference-tolerance": "tolerance is a Tolerance, or a dict of them by the names of arrays",
}
IDS = {
    "inputs": "reference-inputs",
    "grid": "reference-grid",
    "reference": "reference-result",
    "tolerance": "reference-tolerance",
}


@dataclass(frozen=True)
class ReferenceLaunch:
    """A row's arguments before a launch, in the order of the kernel's, what must be there after it (by names of
    ``flat_arrays``), and the grid."""

    spec: Checked
    values: Values
    expected: dict[str, np.ndarray]
    grid: tuple[int, int, int]


def make_reference_launch(spec: Checked, path: str) -> ReferenceLaunch:
    """Call the functions of a row of the file at ``path``.

    Raises InvalidInput[reference-raised] at the Python line where one of them fails, and [reference-inputs],
    [reference-grid], [reference-result] where what it returns is not what it should.
    """
    assert spec.inputs is not None and spec.reference is not None
    caller = _Caller(spec, path)
    # The same numbers in each run, others in each row.
    values = caller.call("inputs", spec.inputs, np.random.default_rng(list(spec.name.encode())))
    values = _in_order(spec, _checked_values(caller, values), caller)
    _check_tolerances(spec, values, caller)
    again = lambda: {name: _copy(value) for name, value in values.items()}
    grid = caller.call("grid", spec.grid, again()) if callable(spec.grid) else spec.grid
    expected = _checked_result(caller, caller.call("reference", spec.reference, again()), values)
    return ReferenceLaunch(spec, values, expected, _checked_grid(caller, grid))


class _Caller:
    """Calls functions of a row, and says what is wrong with them."""

    def __init__(self, spec: Checked, path: str):
        self.spec, self.path = spec, path

    def call(self, key: str, function: Callable, argument: object) -> Any:
        try:
            return function(argument)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # who ends the process that compares would leave no word
            folder, prefix = os.path.dirname(os.path.realpath(self.path)), f"{key} of {self.spec.name!r}: "
            problem = python_error(error, folder, self.place(key), prefix)
            raise InvalidInput("reference-raised", problem.message, location=problem.location) from error

    def refuse(self, key: str, found: str) -> InvalidInput:
        id = IDS[key]
        message = f"{key} of {self.spec.name!r} {found}"
        return InvalidInput(id, message, location=self.place(key), remedy=REMEDIES[id])

    def place(self, key: str) -> Location:
        """Where the function begins; the row's file where that is not known."""
        function = getattr(self.spec, key)
        while isinstance(function, partial):
            function = function.func
        code = getattr(function, "__code__", None)
        if code is None:
            return Location(display_path(self.path))
        return Location(display_path(code.co_filename), code.co_firstlineno, 1)


def _copy(value: Any) -> Any:
    """The value in arrays of its own: a reference may change what it is given."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    return type(value)(map(_copy, value)) if isinstance(value, list | tuple) else value


# ---- inputs
def _checked_values(caller: _Caller, values: object) -> Values:
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise caller.refuse("inputs", f"returned a {type(values).__name__}, no dict by names")
    for name, array in flat_arrays(values):
        if array.dtype.kind not in NUMBERS:
            raise caller.refuse("inputs", f"returned {name!r} with elements of type {array.dtype}")
    return dict(values)


def _in_order(spec: Checked, values: Values, caller: _Caller) -> Values:
    """The values in the order of the kernel's arguments, where those have names."""
    if not isinstance(spec, Case):
        return values
    names = spec.launch_names
    for name in values:
        if name not in names:
            raise caller.refuse("inputs", f"returned {name!r}, and the kernel's arguments are {', '.join(names)}")
    for name, argument in zip(names, spec.launch_arguments):
        if name not in values:
            raise caller.refuse("inputs", f"returned no {name!r}")
        if wrong := _misfit(argument, values[name]):
            raise caller.refuse("inputs", f"returned {name!r} as {wrong}")
    return {name: values[name] for name in names}


def _check_tolerances(spec: Checked, values: Values, caller: _Caller) -> None:
    """A name that is no array's would let what was meant be compared exactly."""
    arrays = dict(flat_arrays(values))
    for name in spec.tolerance if isinstance(spec.tolerance, Mapping) else ():
        if name not in arrays:
            raise caller.refuse("tolerance", f"names {name!r}, and the arrays are {', '.join(arrays) or 'none'}")


def _misfit(argument: Argument, value: object) -> str | None:
    """What a value is and what it should be; None where it is of the right kind. Strides come later."""
    found = f"a {type(value).__name__}"
    if isinstance(argument, Array):
        return _other_array(argument, value) if isinstance(value, np.ndarray) else f"{found}, not a NumPy array"
    if isinstance(argument, Scalar):
        return None if is_number(value) else f"{found}, not a number"
    if not isinstance(value, list | tuple):
        return f"{found}, not a {'tuple' if isinstance(argument, tuple) else 'list of arrays'}"
    if not isinstance(argument, tuple):
        return None if all(isinstance(item, np.ndarray) for item in value) else "a list of other things than arrays"
    passed = [part for part in argument if is_launch_argument(part)]
    if len(passed) != len(value):
        return f"{len(value)} parts, not {len(passed)}"
    return next(filter(None, map(_misfit, passed, value)), None)


def _other_array(argument: Array, value: np.ndarray) -> str | None:
    wanted = named_dtype(argument.dtype)
    if value.dtype == wanted and value.ndim == argument.ndim:
        return None
    return f"a {value.ndim}-d array of {value.dtype}, and the row says a {argument.ndim}-d one of {wanted}"


def is_number(value: object) -> bool:
    """Whether it is one number, of Python or NumPy."""
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
        raise caller.refuse("reference", f"returned a {type(result).__name__}, no dict by names of arrays")
    arrays, expected = dict(flat_arrays(values)), dict(flat_arrays(result))
    for name, value in result.items():
        if not isinstance(value, np.ndarray) and not _is_of_arrays(value):
            raise caller.refuse("reference", f"returned {name!r} as a {type(value).__name__}, not a NumPy array")
    for name, array in expected.items():
        if name not in arrays:
            raise caller.refuse("reference", f"returned {name!r}, and the arrays are {', '.join(arrays) or 'none'}")
        one, other = _described(array), _described(arrays[name])
        if one != other:
            raise caller.refuse("reference", f"returned {name!r} as {one}, and the array is {other}")
    if not expected:
        raise caller.refuse("reference", "returned no array")
    return expected


def _is_of_arrays(value: object) -> bool:
    """Whether it is a list or a tuple that holds arrays, as an argument may be."""
    return isinstance(value, list | tuple) and any(
        isinstance(part, np.ndarray) or _is_of_arrays(part) for part in value
    )


def _described(array: np.ndarray) -> str:
    return f"{array.dtype} of shape {array.shape}"
