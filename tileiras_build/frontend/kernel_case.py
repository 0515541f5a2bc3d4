"""The rows of a kernel file: its kernels, their argument types, and references for their results.

``tileiras_build.cases`` exports these classes. Libraries are imported when a row needs them: a build reads names without any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..core.errors import suggest

if TYPE_CHECKING:
    import numpy as np

    from .tuning_space import Tune

INDEX_DTYPES = ("int32", "int64")
Values = dict[str, Any]
"""Launch arguments by name: a NumPy array per array (outputs included), a scalar per scalar, a list of arrays, a tuple."""

Grid = int | tuple[int, ...] | Callable[[Values], int | tuple[int, ...]]
"""How many tile blocks a launch has along up to three axes, or a function of its arguments that returns that."""


def named_dtype(name: str) -> np.dtype:
    """The NumPy type of a name; a table is read without any of these imports."""
    import ml_dtypes  # noqa: F401  (registers bfloat16, float8_e4m3fn, … as NumPy type names)
    import numpy as np

    return np.dtype(DTYPE_BYTES.get(name, name))


# A type of cuTile that NumPy and ml_dtypes lack: its arrays have the type of its storage.
DTYPE_BYTES = {"float8_e5m3fnu": "uint8"}


# Element types of arrays and scalars, by cuTile's names.
DTYPES = (
    "float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float8_e5m3fnu", "float4_e2m1fn",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool_",
)  # fmt: skip


def check_dtype(name: object) -> None:
    """Raise ValueError where ``name`` is not one of DTYPES."""
    if name not in DTYPES:
        raise ValueError(f"no element type is called {name!r}; {suggest(str(name), DTYPES)}")


@dataclass(frozen=True)
class Array:
    """An array parameter and the compiler's assumptions about it.

    ``dtype`` is one of DTYPES ("float16", "float8_e4m3fn", …). ``unit_stride`` is the
    axis whose stride is known to be 1 (None: unknown). Strides and shapes are counted in elements; a single value
    of ``stride_divisible_by`` holds for every axis but ``unit_stride``. ``alignment`` of the base is in bytes.
    """

    dtype: str
    ndim: int
    unit_stride: int | None = -1
    stride_divisible_by: int | tuple[int, ...] = 1
    shape_divisible_by: int | tuple[int, ...] = 1
    alignment: int = 16
    index_dtype: str = "int32"

    def __post_init__(self):
        check_dtype(self.dtype)
        if self.index_dtype not in INDEX_DTYPES:
            raise ValueError(f"index_dtype is one of {', '.join(INDEX_DTYPES)}, not {self.index_dtype!r}")
        if self.unit_stride is not None and not -self.ndim <= self.unit_stride < self.ndim:
            raise ValueError(f"unit_stride {self.unit_stride} is no axis of a {self.ndim}-d array")
        for name in ("stride_divisible_by", "shape_divisible_by"):
            divisors = getattr(self, name)
            if isinstance(divisors, tuple) and len(divisors) != self.ndim:
                raise ValueError(f"{name} has {len(divisors)} entries for a {self.ndim}-d array")

    @property
    def known_strides(self) -> tuple[int | None, ...]:
        """Per axis: 1 where the stride is known, else None."""
        unit = None if self.unit_stride is None else self.unit_stride % self.ndim
        return tuple(1 if axis == unit else None for axis in range(self.ndim))

    @property
    def stride_factors(self) -> tuple[int, ...]:
        """Per axis: the divisor of its stride, in elements."""
        if isinstance(self.stride_divisible_by, tuple):
            return self.stride_divisible_by
        return tuple(1 if known else self.stride_divisible_by for known in self.known_strides)

    @property
    def shape_factors(self) -> tuple[int, ...]:
        """Per axis: the divisor of its length."""
        divisors = self.shape_divisible_by
        return divisors if isinstance(divisors, tuple) else (divisors,) * self.ndim


@dataclass(frozen=True)
class Scalar:
    """A scalar parameter of one of DTYPES, passed by value."""

    dtype: str

    def __post_init__(self):
        check_dtype(self.dtype)


@dataclass(frozen=True)
class ArrayList:
    """A list of arrays, all like ``element``, of any length; in a ``Case`` also written ``[element]``."""

    element: Array


Argument = Array | Scalar | ArrayList | list | tuple | bool | int | float


@dataclass(frozen=True)
class Tolerance:
    """``|actual - expected| <= absolute + relative * |expected|``; both 0 demands equality."""

    relative: float = 0.0
    absolute: float = 0.0

    def __post_init__(self):
        if not (self.relative >= 0 and self.absolute >= 0):
            raise ValueError(f"a tolerance is not negative: relative={self.relative}, absolute={self.absolute}")


EXACT = Tolerance()
REFERENCE_FIELDS = ("inputs", "reference", "grid")  # a row has all of them, or none


@dataclass(frozen=True)
class Checked:
    """A kernel's name, its launch, and a reference for its results.

    ``inputs(rng)`` returns the arguments of a launch by name, outputs included, from a NumPy random generator that is
    seeded with the row's name. ``grid`` counts tile blocks, or is a function of the arguments. ``reference(values)``
    returns, by name, every array that the kernel writes with its expected contents, in the array's own type and shape,
    computed from the values before the launch; other arrays must not change. ``tolerance`` holds for every array,
    or is a mapping from names of arrays (arrays that it does not name must be equal).
    Raises ValueError where one of ``inputs``, ``reference`` and ``grid`` is set and another is missing.
    """

    name: str
    inputs: Callable[[np.random.Generator], Values] | None = field(default=None, kw_only=True)
    reference: Callable[[Values], Values] | None = field(default=None, kw_only=True)
    grid: Grid | None = field(default=None, kw_only=True)
    tolerance: Tolerance | Mapping[str, Tolerance] = field(default=EXACT, kw_only=True)

    def __post_init__(self):
        present = self._reference_fields()
        if present and (missing := [name for name in REFERENCE_FIELDS if name not in present]):
            raise ValueError(f"row {self.name!r} has {present[0]}= and no {missing[0]}=")
        for word in ("inputs", "reference"):
            if not (getattr(self, word) is None or callable(getattr(self, word))):
                raise ValueError(f"row {self.name!r}: {word}= is a {type(getattr(self, word)).__name__}, no function")
        allowed = self.tolerance.values() if isinstance(self.tolerance, Mapping) else [self.tolerance]
        if wrong := [one for one in allowed if not isinstance(one, Tolerance)]:
            raise ValueError(f"row {self.name!r}: tolerance= is a {type(wrong[0]).__name__}, no Tolerance")

    def _reference_fields(self) -> list[str]:
        """Those of REFERENCE_FIELDS that are set, all of which a reference needs."""
        return [name for name in REFERENCE_FIELDS if getattr(self, name) is not None]

    def tolerance_of(self, array: str) -> Tolerance:
        """The tolerance of an array."""
        return self.tolerance.get(array, EXACT) if isinstance(self.tolerance, Mapping) else self.tolerance


@dataclass(frozen=True)
class Reference(Checked):
    """The reference of a kernel whose source is not Python: a row of the table REFERENCES in a Python file beside it.

    ``name`` is the kernel's, as C++ spells it (``scale<float, 256>``) or its symbol. ``inputs`` returns
    the kernel's arguments in order, under any names: an array for a pointer (or for a pointer with its lengths
    and strides, as cuTile passes arrays), a scalar for a scalar.
    """


@dataclass(frozen=True)
class Case(Checked):
    """One kernel to export: ``name`` becomes the entry point's symbol and the file's stem.

    ``arguments`` has one entry per parameter of ``kernel``, a function decorated with ``@ct.kernel``; a plain int, float
    or bool is a compile-time constant, absent from the launch arguments. ``[Array(…)]`` is a list of such arrays, and a tuple of
    arguments a tuple of them. ``grid_axes`` describes in words the blocks of each axis of the launch grid:
    ("rows of x", "tiles of 64 columns"). A reference is optional (``Checked``); ``inputs`` names the
    arguments as the kernel's function does, and ``grid`` gets the constants beside them. ``tune`` is a space of constants and
    hints, whose chosen point is built in place of ``arguments``.
    """

    kernel: Any
    arguments: tuple[Argument, ...]
    grid_axes: tuple[str, ...] = field(default=(), kw_only=True)
    tune: Tune | None = field(default=None, kw_only=True)

    def _reference_fields(self) -> list[str]:
        # The launches of a space may have a grid of their own.
        found = super()._reference_fields()
        return [] if self.tune is not None and found == ["grid"] else found

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the parameters of the kernel's function, one for each argument."""
        names = self.kernel._pyfunc.__code__.co_varnames  # no public attribute of cuda-tile has the function
        return names[: len(self.arguments)]

    @property
    def constants(self) -> dict[str, bool | int | float]:
        """The values of the constant parameters, by name."""
        rows = zip(self.parameter_names, self.arguments)
        return {name: value for name, value in rows if isinstance(value, bool | int | float)}

    @property
    def launch_arguments(self) -> tuple[Argument, ...]:
        """The arguments that a launch passes, in order: a tuple counts as one if any element of it is passed."""
        return tuple(argument for argument in self.arguments if is_launch_argument(argument))

    @property
    def launch_names(self) -> tuple[str, ...]:
        """Their names in the kernel's function."""
        rows = zip(self.parameter_names, self.arguments)
        return tuple(name for name, argument in rows if is_launch_argument(argument))


def is_launch_argument(argument: Argument) -> bool:
    """Whether a launch passes it, or an element of it."""
    if isinstance(argument, tuple):
        return any(map(is_launch_argument, argument))
    return isinstance(argument, Array | Scalar | ArrayList | list)


def element_of(argument: ArrayList | list) -> Array:
    """The element of a list of arrays; raises ValueError for a list of different arrays."""
    elements = argument if isinstance(argument, list) else [argument.element]
    if len(elements) != 1 or not isinstance(elements[0], Array):
        raise ValueError("a list of arrays is written [Array(…)], with the one description that all of them share")
    return elements[0]
