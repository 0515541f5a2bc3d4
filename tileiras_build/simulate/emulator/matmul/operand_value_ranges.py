"""Operands of matrix multiplications, with statistics of their elements: magnitudes, and a unit of which all are multiples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..native.native_code import is_ready
from ..numerics import float_formats
from ..numerics.float_formats import f32, f64
from . import pack_operands

MIN_EXACT_EXPONENT = -30  # types with smaller exponents have useless units, and products that float32 may not represent


@dataclass(frozen=True)
class FloatRange:
    """Floats of ``bits`` significant bits, at least 2^lowest but for subnormal ones, at most ``maximum``."""

    bits: int
    lowest: int
    maximum: float

    @cached_property
    def ratio(self) -> float:
        """The largest number over the unit that all are multiples of."""
        return self.maximum * 2.0 ** min(self.bits - 1 - self.lowest, 1000)


def _float_range(fmt: float_formats.Format) -> FloatRange:
    return FloatRange(fmt.mantissa + 1, 1 - fmt.bias, fmt.maximum)


FLOAT_RANGES = {
    **{name: _float_range(fmt) for name, fmt in float_formats.FORMATS.items()},
    "e2m1_packed": _float_range(float_formats.FORMATS["e2m1"]),
    "scaled": FloatRange(8, -1022, math.inf),  # fp8 times a power of two, or fp4 times fp8
    **{name: FloatRange(bits, bits - 1, 2.0**bits) for bits, names in ((8, ("s8", "u8")), (4, ("s4", "u4"))) for name in names},
}  # fmt: skip


UNKNOWN_RANGE = FloatRange(0, 0, math.nan)


class MatmulOperand:
    """A stack of matrices A (…, m, k), or the columns (…, n, k) of matrices B.

    ``kind`` is a key of ``FLOAT_RANGES``, or f64, which ``multiply`` does not support, because its products are not exact.
    """

    blocks: Sequence[Sequence[np.ndarray]] = ()  # for operands in registers (``PackableMatrices``)
    fold = 1  # how many of their warps are one matrix

    def __init__(self, values: np.ndarray, kind: str):
        self.values, self.kind = values, kind
        self.float_range = FLOAT_RANGES.get(kind, UNKNOWN_RANGE)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(stack, rows, k)."""
        return self.stored.shape

    @property
    def stored(self) -> np.ndarray:
        """The array that native code reads."""
        return self.values

    @property
    def bits(self) -> int:
        return self.float_range.bits

    @cached_property
    def as_float64(self) -> np.ndarray:
        return self.values.astype(f64, copy=False)

    @cached_property
    def even_columns_first(self) -> MatmulOperand:
        """Columns of a matrix B in eights, of which first the even and then the odd ones."""
        stack, n, k = self.values.shape
        values = self.values.reshape(stack, n // 8, 4, 2, k).swapaxes(2, 3).reshape(stack, n, k)
        return self.with_known_statistics(MatmulOperand(values, self.kind))

    def with_known_statistics(self, other: MatmulOperand) -> MatmulOperand:
        """``other``, the same matrices with their rows in another order."""
        other.__dict__ |= {name: value for name, value in self.__dict__.items() if name in _ORDER_INDEPENDENT}
        return other

    def stacked_rows(self, count: int) -> MatmulOperand:
        """Stack the rows of matrices A that are multiplied by the same one of ``count`` matrices B."""
        if count == len(self.stored):
            return self
        return type(self)(self.stored.reshape(count, -1, self.stored.shape[-1]), self.kind)

    @cached_property
    def magnitudes(self) -> np.ndarray:
        """The bits of all numbers but for their signs: their order is that of the magnitudes."""
        kind = np.dtype(f"u{self.values.itemsize}").type
        return self.values.view(kind) & kind((1 << 8 * self.values.itemsize - 1) - 1)

    @cached_property
    def bound(self) -> float:
        """The largest magnitude over a unit that all are multiples of."""
        largest, smallest = self.extremes
        return largest / self.unit_of(smallest)

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """The largest magnitude and, at most, the smallest but zero."""
        if compute_extremes([self]):
            return self.__dict__.pop("extremes")
        bits, one = self.magnitudes, self.magnitudes.dtype.type(1)
        largest = float(bits.max().view(self.values.dtype))
        if self.float_range.lowest >= MIN_EXACT_EXPONENT:
            return largest, 2.0**self.float_range.lowest  # the smallest unit of the type suffices
        smallest = (bits - one).min() + one  # a zero less one is the largest of all
        return largest, float(smallest.view(self.values.dtype))

    def memory_pieces(self) -> Sequence[np.ndarray] | None:
        """The memory that native code scans, in pieces of equal size; None if NumPy must compute the extremes."""
        stored = self.stored
        if (
            pack_operands.kind_of(self) is None
            or "magnitudes" in self.__dict__
            or stored.nbytes % 32
            or not stored.size
        ):
            return None
        return [stored] if stored.flags.c_contiguous or stored.swapaxes(-1, -2).flags.c_contiguous else None

    def unit_of(self, smallest: float) -> float:
        """The unit that numbers of the type are multiples of, the smallest of which is ``smallest`` or zero."""
        return math.ldexp(1.0, max(math.frexp(smallest)[1] - 1, self.float_range.lowest) + 1 - self.float_range.bits)

    @cached_property
    def units(self) -> np.ndarray:
        """Per matrix: the unit that all its numbers are multiples of."""
        bits, one = self.magnitudes, self.magnitudes.dtype.type(1)
        smallest = ((bits - one).min(axis=(-2, -1)) + one).view(self.values.dtype)
        exponents = np.maximum(np.frexp(smallest)[1] - 1, self.float_range.lowest)
        return np.ldexp(1.0, exponents + 1 - self.float_range.bits)

    @cached_property
    def row_norms(self) -> np.ndarray:
        """Per matrix: the largest Euclidean norm of a row, a little more for what is rounded; NaN where it has one."""
        return np.sqrt(np.einsum("...k,...k->...", self.as_float64, self.as_float64).max(axis=-1)) * (1 + 1e-9)

    @cached_property
    def largest(self) -> np.ndarray:
        """Per matrix: the largest magnitude but for infinities and NaNs."""
        largest = self.magnitudes.max(axis=(-2, -1)).view(self.values.dtype).astype(f64)
        if np.isfinite(largest).all():
            return largest
        finite = np.isfinite(self.as_float64)
        return np.abs(self.as_float64, where=finite, out=np.zeros_like(self.as_float64)).max(axis=(-2, -1))


class EncodedOperand(MatmulOperand):
    """An operand stored as bit patterns of a kind; NumPy decodes them on demand."""

    def __init__(self, codes: np.ndarray, kind: str):
        self.codes, self.kind, self.float_range = codes, kind, FLOAT_RANGES[kind]

    @property
    def stored(self) -> np.ndarray:
        return self.codes

    @cached_property
    def values(self) -> np.ndarray:  # type: ignore[override]
        return decode(self.codes, self.kind)


def make_operand(array: np.ndarray, kind: str) -> MatmulOperand:
    """An operand from values or bit patterns."""
    return EncodedOperand(array, kind) if array.dtype.kind == "u" else MatmulOperand(array, kind)


def decode(array: np.ndarray, kind: str) -> np.ndarray:
    """The values of an array of values or bit patterns."""
    return DECODE[kind](array) if array.dtype.kind == "u" else array


CODE_DTYPES = {
    "bf16": np.uint16,
    "tf32": np.uint32,
    "e4m3": np.uint8,
    "e5m2": np.uint8,
}  # types whose numbers stay bits
DECODE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "bf16": lambda codes: (codes.astype(np.uint32) << np.uint32(16)).view(f32),
    "tf32": lambda codes: (codes & np.uint32(0xFFFFE000)).view(f32),
    "e4m3": lambda codes: float_formats.table("e4m3")[codes],
    "e5m2": lambda codes: float_formats.table("e5m2")[codes],
}


def compute_extremes(factors: Sequence[MatmulOperand]) -> bool:
    """Compute the extremes of factors of one kind and shape in one call of native code; returns False if unsupported."""
    if not is_ready():
        return False
    some = [factor for factor in factors if "extremes" not in factor.__dict__]
    groups = [pieces for factor in some if (pieces := factor.memory_pieces())]
    if len(groups) < len(some) or len({(len(pieces), pieces[0].nbytes) for pieces in groups}) > 1:
        return False
    kind = pack_operands.known_kind_of(factors[0])  # unsupported kinds have no pieces
    if some:
        found = pack_operands.numbers_of(pack_operands.magnitudes(groups, kind)[:, 0], kind).tolist()
        for factor, (largest, smallest) in zip(some, found):
            factor.__dict__["extremes"] = largest, smallest
    return True


_ORDER_INDEPENDENT = {
    "bound",
    "extremes",
    "units",
    "lengths",
    "largest",
}  # what is known of matrices whatever the order of their rows
