"""Nondeterminism of Tile IR: unspecified values, and the errors of inexact operations.

Tile IR leaves some values unspecified (masked elements, overflow) and the rounding of some operations too (reduction order,
``exp``). An execution under a ``Choice`` fills unspecified values with random bytes and, with another generator, perturbs
every inexact result within its error. Comparing executions under different choices shows which bytes of the output a
conforming compiler may change, and by how much. So the tolerance follows from the element type, the depth of each reduction
and the later operations.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
from xdsl.ir import Attribute

from .element_types import FORMATS, Format, from_float64, to_float64
from .ieee_rounding import quantize
from .summation_error_bounds import EITHER_SIGN, NAN_OUTCOME

# Random bits are rarely one of these, and only these remain visible when multiplied by zero.
SPECIAL_VALUES = (np.inf, -np.inf, np.nan, 0.0)


def ulp_of(wide: np.ndarray, form: Format) -> np.ndarray:
    """One unit in the last place of float64 values in a type; 0 for zeros, which are exact."""
    return np.where(wide == 0, 0, np.maximum(np.abs(wide) * form.epsilon, form.tiny))


@dataclass
class Choice:
    """The choices of one execution where Tile IR is nondeterministic.

    Unspecified values are random bytes from ``unspecified``, or zero. ``random`` perturbs inexact results and chooses the order
    of reductions. Of several writes of one store to one address, the first wins if ``first_wins``. Sums that overflow in some
    order do so if ``overflows``, else at random. ``trusting`` ignores broken assumptions on constants, which no input can
    satisfy. Afterwards, ``was_filled``: whether there was an unspecified value; ``inexact``: whether there was an inexact result.
    """

    unspecified: np.random.Generator | None = None
    random: np.random.Generator | None = None
    first_wins: bool = False
    overflows: bool = False
    trusting: bool = False
    inexact: bool = field(default=False, init=False)
    was_perturbed: bool = field(default=False, init=False)  # since the interpreter last reset it
    was_filled: bool = field(default=False, init=False)

    def fill_unspecified(self, values: np.ndarray, where: np.ndarray) -> np.ndarray:
        """``values`` with the elements at ``where`` replaced by an arbitrary value."""
        if not np.any(where):
            return values
        return np.where(where, self.arbitrary(values.dtype, np.shape(values)), values)

    def overflow(self, values: np.ndarray, where: np.ndarray) -> np.ndarray:
        """``values`` of sums, replaced by one possible outcome where some orders overflow (``overflow_outcomes``)."""
        if not np.any(where):
            return values
        self.was_filled = True
        if self.unspecified is None:
            return values
        side = self.unspecified.choice(np.array([np.inf, -np.inf, np.nan]), np.shape(values))
        sides = np.where(where == NAN_OUTCOME, np.nan, np.where(where > 0, np.inf, -np.inf))
        end = np.where(where == EITHER_SIGN, side, sides).astype(values.dtype)
        largest = np.asarray(ml_dtypes.finfo(values.dtype).max, values.dtype)
        end = np.where(values == end, np.where(end > 0, largest, -largest), end)  # another order stays below
        kept = False if self.overflows else self.unspecified.integers(0, 2, np.shape(values)) != 0
        return np.where((where != 0) & ~np.asarray(kept), end, values)

    def arbitrary(self, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """A new array of unspecified values; half of the floats are special values, which later operations do not hide."""
        self.was_filled = True
        if self.unspecified is None:
            return np.zeros(shape, dtype)
        if dtype == np.bool_:
            return self.unspecified.integers(0, 2, shape).astype(np.bool_)
        data = self.unspecified.bytes(int(np.prod(shape, dtype=int)) * dtype.itemsize)
        values = np.frombuffer(bytearray(data), dtype).reshape(shape)
        if dtype.kind in "iu":
            return values
        with np.errstate(all="ignore"):
            special = np.array(SPECIAL_VALUES).astype(dtype)
        if self.unspecified.integers(0, 2):
            # The result of several unspecified values may be visible only if they are equal.
            return np.full(shape, self.unspecified.choice(special))
        chosen = self.unspecified.choice(special, shape)
        return np.where(self.unspecified.integers(0, 2, shape) == 0, chosen, values)

    def perturb_stored(self, values: np.ndarray, element_type: Attribute, amount: np.ndarray | float) -> np.ndarray:
        """Stored floats perturbed by at most ``amount`` (absolute), then rounded to their type."""
        self.inexact = self.was_perturbed = True
        if self.random is None:
            return values
        wide = to_float64(values, element_type)
        return from_float64(self.perturb(wide, amount, element_type), element_type)

    def perturb(self, wide: np.ndarray, amount: np.ndarray | float, element_type: Attribute) -> np.ndarray:
        """float64 values perturbed by at most ``amount`` and rounded to an element type, still as float64.

        Zeros are perturbed too if ``amount`` is not 0: a sum that cancels is 0 in some orders only.
        """
        self.inexact = self.was_perturbed = True
        form = FORMATS[element_type]
        if self.random is not None:
            # Two thirds of the perturbations are at the ends of the interval, where errors are the most likely to be visible.
            direction = self.random.choice([-1.0, 1.0, 0.0], size=np.shape(wide))
            direction = np.where(direction == 0, self.random.uniform(-1, 1, np.shape(wide)), direction)
            with np.errstate(all="ignore"):
                moved = wide + direction * amount
            wide = np.where(np.isfinite(wide) & np.isfinite(moved) & (np.asarray(amount) > 0), moved, wide)
        return wide if form.precision == 53 else quantize(wide, form)

    def perturb_ulps(self, values: np.ndarray, element_type: Attribute, ulps: np.ndarray | float) -> np.ndarray:
        """Stored floats perturbed by at most ``ulps`` units in the last place; zeros are exact."""
        self.inexact = self.was_perturbed = True
        if self.random is None:
            return values
        form = FORMATS[element_type]
        with np.errstate(all="ignore"):
            return self.perturb_stored(values, element_type, ulp_of(to_float64(values, element_type), form) * ulps)
