"""fp8 accumulation of wgmma on sm_90, which keeps 13 fraction bits.

The PTX ISA leaves the order and the rounding of the additions in an MMA unspecified. The tensor cores of sm_90
accumulate fp8 in ``wgmma`` with less precision than other types. An element of D = A B + C is

    truncate(sum of trunc(x 2^(13 - e)) over x in {C, 32 products} 2^(e - 13))

where e is the largest exponent among the terms. The exponent of a product is the sum of those of its factors (its
significand may be 2 or more), that of zero the lowest of f32; subnormal numbers have their type's lowest. ``truncate``
keeps 14 significant bits, that is 13 behind the leading one; an accumulator of f16 is rounded to nearest even instead.

Sources: "DeepSeek-V3 Technical Report" (arXiv 2412.19437, section 3.5.2: products aligned to the largest exponent, 14 bits,
truncated), "SageAttention2" (arXiv 2411.10958: 13 bits of fraction in the accumulator, the rest truncated), "MMA-Sim"
(arXiv 2511.10909: the formula, compared with the hardware bit by bit). Of other instructions the last one says: ``mma.sync``
of fp8 on sm_90 and all products of sm_100 and 120 keep 25 bits behind the point, which are all of f32; ``mma.sync`` of fp8
on sm_89 keeps 13 as well, of 16 products at a time (not modelled).

Native code computes finite operands (``native/fp8.c``).
"""

from __future__ import annotations

import numpy as np

from ..native.native_code import address, is_ready, kernel, record
from ..numerics.float_formats import f32, f64
from .matmul import in_blocks, slices
from .operand_value_ranges import FLOAT_RANGES, MatmulOperand

KINDS = ("e4m3", "e5m2")
FRACTION_BITS = 13
MIN_EXPONENT = {"f32": -126, "f16": -14}  # exponents of normal numbers of the accumulator
DIGIT_BITS = 7  # bits: more than as many ones as there are products add up to
DIGITS_PER_WORD = 2
NONFINITE_EXPONENT = 60  # stands for the exponents of infinities and NaNs, which do not matter
LANES = 8  # columns that native code computes at a time
ZERO_EXPONENT = -1000  # stands for the exponent of a zero: no sum of it and another exponent is that of a product
NO_TERM_EXPONENT = -40  # an exponent below those of all products
_DROPPED = np.uint32((1 << 23 - FRACTION_BITS) - 1)  # the bits of a float32 that a sum does not keep


@np.errstate(all="ignore")
def accumulate_fp8(total: np.ndarray, left: MatmulOperand, right: MatmulOperand, type_: str) -> None:
    """Replace C (n, m, columns) by A B + C in place, for A (n or 1, m, k) and B (n or 1, columns, k).

    C is float32, with values of ``type_``, f32 or f16. Results of f16 are not rounded to f16 yet.
    """
    if _is_for_native_code(total, left, right):
        return _accumulate_finite(total, _with_exponents(left), _with_exponents(right), type_)
    a, b = _Terms(left, -1), _Terms(right, -2)
    for stack, rows in slices(total.shape, DIGITS_PER_WORD):
        _accumulate_slice(total[stack, rows], a.of(stack, rows), b.of(stack, slice(None)), type_)


def _is_for_native_code(total: np.ndarray, left: MatmulOperand, right: MatmulOperand) -> bool:
    """Whether native code supports these operands, all finite, and is ready."""
    stack, m, n = total.shape
    if not total.flags.c_contiguous or n % LANES:
        return False
    if not is_ready(stack * m * n * left.shape[2]):
        return False
    return all(np.isfinite(numbers).all() for numbers in (total, left.values, right.values))


def _accumulate_finite(
    total: np.ndarray, left: tuple[np.ndarray, np.ndarray], right: tuple[np.ndarray, np.ndarray], type_: str
) -> None:
    """``accumulate_fp8`` by native code, of float32 and their exponents (int32)."""
    (stack, m, n), k = total.shape, left[0].shape[2]
    a = [np.ascontiguousarray(part) for part in left]
    b = [np.ascontiguousarray(part.swapaxes(1, 2)) for part in right]
    kept = ~int(_DROPPED)
    fields = record(
        address(total), *map(address, a), *map(address, b), stack, m, n // LANES, k, m * k if len(a[0]) > 1 else 0,
        k * (n // LANES) if len(b[0]) > 1 else 0, FRACTION_BITS, MIN_EXPONENT[type_], kept if type_ == "f32" else -1, kept,
        NO_TERM_EXPONENT,
    )  # fmt: skip
    kernel("accumulate_fp8", 1)(address(fields))


def _with_exponents(factor: MatmulOperand) -> tuple[np.ndarray, np.ndarray]:
    values = factor.values.astype(f32, copy=False)
    return values, _exponents_of(values, factor.kind)


def _exponents_of(values: np.ndarray, kind: str) -> np.ndarray:
    """Of float32 of a kind (int32); less than those of all products where they are zero."""
    exponents = (values.view(np.int32) >> 23 & 255) - 127
    np.clip(exponents, FLOAT_RANGES[kind].lowest, NONFINITE_EXPONENT, out=exponents)
    return np.where(values == 0, np.int32(ZERO_EXPONENT), exponents)


class _Terms:
    """The numbers of a factor (n or 1, rows, k) with k in front, and digits (n or 1, rows, k) with their exponents.

    Each number is the first of a ``PAIR`` along ``axis`` whose other is zero, so that matrices of one of each factor have a
    product: a fast way to all products of a column and a row. The digit of an exponent e is 2^(e DIGIT), that of zero is 0.
    """

    def __init__(self, factor: MatmulOperand, axis: int):
        values = factor.values.astype(f32, copy=False)
        exponents = np.maximum(_exponents_of(values, factor.kind), FLOAT_RANGES[factor.kind].lowest)
        digits = (exponents.astype(np.int64) * DIGIT_BITS + 1023 << 52).view(f64)
        self.digits = digits * (values != 0)
        values = values.transpose(2, 0, 1)
        self.values, self.axis = np.stack([values, np.zeros_like(values)], axis=axis), axis

    def of(self, stack: slice, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """(values, digits) of some rows of some matrices of the stack."""
        some = stack if len(self.digits) > 1 else slice(1)
        values = self.values[:, some]
        return values[:, :, rows] if self.axis == -1 else values[..., rows], self.digits[some, rows]


def _accumulate_slice(total: np.ndarray, left: tuple, right: tuple, type_: str) -> None:
    """``accumulate_fp8`` of factors (values, digits)."""
    (a, a_digits), (b, b_digits) = left, right
    of_products = np.broadcast_to(_largest(a_digits, b_digits), total.shape)
    largest = np.maximum(of_products, _exponents(total, type_))
    np.maximum(largest, NO_TERM_EXPONENT, out=largest)
    alone = of_products < NO_TERM_EXPONENT
    truncated = _truncate(total.copy()) if alone.any() else None
    scale = _power_of_two(FRACTION_BITS - largest)
    np.trunc(np.multiply(total, scale, out=total), out=total)
    product = np.empty_like(total)
    for first, second in zip(a, b):
        np.matmul(first, second, out=product)
        np.multiply(product, scale, out=product)
        np.add(np.trunc(product, out=product), total, out=total)
    np.multiply(total, _power_of_two(largest - FRACTION_BITS), out=total)
    if type_ == "f32":
        _truncate(total)
    if truncated is not None:
        np.copyto(total, truncated, where=alone & ~np.isnan(total))  # zero times infinity is a NaN all the same
    np.add(total, f32(0), out=total)  # a zero becomes positive


def _largest(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The largest exponent of each element's products, from digits; less than ``NO_TERM_EXPONENT`` where all are zero.

    The product of two digits is the digit of the sum of their exponents, and the first digit of a sum is the largest of all.
    """
    sums = in_blocks(a, b.swapaxes(-1, -2))
    return ((sums.view(np.int64) >> 52) - 1023).astype(np.int32) // DIGIT_BITS


def _exponents(old: np.ndarray, type_: str) -> np.ndarray:
    """Those of the accumulator; of zero the lowest of f32."""
    field = old.view(np.int32) >> 23 & 255
    return np.where(field == 0, MIN_EXPONENT["f32"], np.maximum(field - 127, MIN_EXPONENT[type_]))


def _power_of_two(exponents: np.ndarray) -> np.ndarray:
    return (exponents + 127 << 23).view(f32)


def _truncate(values: np.ndarray) -> np.ndarray:
    """Drop all but 14 significant bits, those of subnormal numbers at the place of the lowest normal ones."""
    bits = values.view(np.uint32)
    np.bitwise_and(bits, ~_DROPPED, out=bits)
    return values
