"""The register state of one warp while its path is traced."""

from __future__ import annotations

import numpy as np

from .constant_bank_values import Constants
from .lane_values import ALL_LANES, MASK, Lanes, Truth, floats, negation, pair, select, signed_pair, unless_same, upper
from .sass_operands import (
    CONSTANT,
    NUMBER,
    PREDICATE,
    PROGRAM_COUNTER,
    REGISTER,
    TRUE,
    UNIFORM,
    UNIFORM_PREDICATE,
    ZERO,
    Operand,
)

SIGN = 0x80000000
_WORDS = (REGISTER, UNIFORM, PROGRAM_COUNTER)  # ptxas also stores words in the return address register


class Warp:
    """The registers of 32 threads; ``active`` is the mask of the current instruction, None for all lanes.

    ``special`` maps special registers to their values, ``constants`` are the constant banks of the launch,
    ``local`` maps addresses to spilled words.
    """

    def __init__(self, special: dict[str, Lanes], constants: Constants):
        self.special, self.constants = special, constants
        self.active: np.ndarray | None = None
        self.local: dict[int, Lanes] = {}
        self._words: dict[str, list[Lanes]] = {kind: [None] * (ZERO + 1) for kind in _WORDS}
        self._truths: dict[str, list[Truth]] = {kind: [None] * (TRUE + 1) for kind in (PREDICATE, UNIFORM_PREDICATE)}
        for words in self._words.values():
            words[ZERO] = 0
        for truths in self._truths.values():
            truths[TRUE] = True

    # ---- reading -------------------------------------------------------------------------------------------------
    def raw(self, operand: Operand, further: int = 0) -> Lanes:
        """A word without operand modifiers; ``further`` is added to the register number."""
        if operand.kind == NUMBER:
            return operand.number & MASK if not further else (operand.number >> 32) & MASK
        if operand.kind == CONSTANT:
            return self._constant(operand, 4 * further)
        if operand.kind in self._words:
            register = operand.number if operand.number == ZERO else operand.number + further
            return self._words[operand.kind][min(register, ZERO)]
        return None

    def value(self, operand: Operand) -> Lanes:
        """A word, with integer operand modifiers applied."""
        word = self.raw(operand)
        if word is None:
            return None
        if operand.inverted:
            word = word ^ MASK
        return (word ^ MASK) + 1 & MASK if operand.negated else word

    def addend(self, operand: Operand) -> Lanes:
        """A word for an addition: a negated one is ~x + 1 without truncation, so that the carry is right."""
        word = self.raw(operand)
        if word is None:
            return None
        return (word ^ MASK) + 1 if operand.negated else word ^ MASK if operand.inverted else word

    def wide(self, operand: Operand) -> Lanes:
        """64 bits: a register and the next one."""
        low, high = self.raw(operand), self.raw(operand, 1)
        if low is None or high is None:
            return None
        both = signed_pair(operand.number) if operand.kind == NUMBER else pair(low, high)
        return -both if operand.negated else ~both if operand.inverted else both

    def as_float(self, operand: Operand) -> np.ndarray | None:
        """A word as f32, with operand modifiers applied."""
        word = self.raw(operand)
        if word is None:
            return None
        value = floats(word)
        value = np.abs(value) if operand.absolute else value
        return -value if operand.negated else value

    def predicate(self, operand: Operand) -> Truth:
        """A predicate, inverted if the operand is."""
        truths = self._truths.get(operand.kind)
        found = truths[operand.number] if truths else None
        return negation(found) if operand.inverted else found

    def predicates(self, kind: str) -> list[Truth]:
        """All predicates of a kind."""
        return self._truths[kind]

    def address(self, operand: Operand) -> Lanes:
        """The address of a memory operand; 64 bits if one of its registers is."""
        total: int | np.ndarray = operand.number
        is_wide = False
        for part in operand.parts:
            is_wide |= "64" in part.selected
            word = self.wide(part) if "64" in part.selected else self.value(part)
            if word is None:
                return None
            scale = next((int(points[1:]) for points in part.selected if points[0] == "X" and points[1:].isdigit()), 1)
            total = total + word * scale
        return total if is_wide else total & MASK

    def _constant(self, operand: Operand, further: int) -> Lanes:
        bank = None if operand.bank is None else self.raw(operand.bank)
        offset = self.address(operand)
        if not isinstance(bank, int) or offset is None:
            return None
        if isinstance(offset, int):
            return self.constants.word(bank, offset + further)
        words = [self.constants.word(bank, int(one) + further) for one in offset]
        return None if None in words else np.array(words, dtype=np.int64)

    # ---- writing -------------------------------------------------------------------------------------------------
    def set(self, operand: Operand, value: Lanes, further: int = 0) -> None:
        """Write a word, in the active lanes."""
        words = self._words.get(operand.kind)
        if words is None or operand.number == ZERO:
            return
        register = min(operand.number + further, ZERO - 1)
        if self.active is not None and operand.kind != UNIFORM and words[register] is not None:
            # If the old value is unknown, the inactive lanes take the new one.
            value = select(self.active, value, words[register])
        words[register] = value if value is None else value & MASK

    def set_wide(self, operand: Operand, value: Lanes) -> None:
        """Write 64 bits to a register and the next one."""
        self.set(operand, None if value is None else value & MASK)
        self.set(operand, None if value is None else upper(value), 1)

    def set_predicate(self, operand: Operand, value: Truth) -> None:
        """Write a predicate, in the active lanes."""
        truths = self._truths.get(operand.kind)
        if truths is None or operand.number == TRUE:
            return
        if self.active is not None and operand.kind == PREDICATE:
            old = truths[operand.number]
            # Inactive lanes without a value count as false.
            merged = select(self.active, value, False if old is None else old)
            value = None if merged is None else np.asarray(merged, dtype=bool)
        truths[operand.number] = unless_same(value) if isinstance(value, np.ndarray) else value

    @property
    def lanes(self) -> np.ndarray:
        """The active lanes."""
        return ALL_LANES if self.active is None else self.active

    @property
    def first(self) -> int:
        """The first active lane."""
        return int(np.argmax(self.lanes))
