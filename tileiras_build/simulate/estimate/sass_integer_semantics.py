"""Semantics of integer, logical and move instructions: a part of the table in ``sass_semantics.py``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .lane_values import MASK, Lanes, Truth, both, either, elementwise, negation, select, signed, upper, word
from .sass_operands import Operand
from .sass_parser import Instruction
from .warp_registers import Warp

Handler = Callable[[Warp, Instruction], None]
Word = int | np.ndarray


def _words(warp: Warp, operands: tuple[Operand, ...]) -> list[Word] | None:
    """The values of all operands; None if one is unknown."""
    values = [warp.value(operand) for operand in operands]
    return None if any(value is None for value in values) else values  # type: ignore[return-value]


def _word_rule(function: Callable[..., Word]) -> Handler:
    """A row for a word that ``function`` computes from the modifiers and the source words."""

    def handler(warp: Warp, one: Instruction) -> None:
        values = _words(warp, tuple(operand for operand in one.operands[1:] if not operand.is_predicate))
        warp.set(one.operands[0], None if values is None else function(one.modifiers, *values))

    return handler


# ---- add and multiply ---------------------------------------------------------------------------------------------------
def _move(warp: Warp, one: Instruction) -> None:
    if "64" in one.modifiers:
        warp.set_wide(one.operands[0], warp.wide(one.operands[1]))
    else:
        warp.set(one.operands[0], warp.value(one.operands[1]))


def _add(warp: Warp, one: Instruction) -> None:
    """IADD3: three words, plus carry-in predicates with X; the predicates after the result are the carries out."""
    sources = one.words
    if "64" in one.modifiers:
        values = [warp.wide(operand) for operand in sources]
        warp.set_wide(one.operands[0], None if None in map(_kind, values) else sum(values))  # type: ignore[arg-type]
        return
    addends = [warp.addend(operand) for operand in sources]
    carries_in = [warp.predicate(operand) for operand in one.predicate_sources] if "X" in one.modifiers else []
    total = _total([*addends, *carries_in])
    warp.set(one.operands[0], total if total is None else word(total))
    for count, carry in enumerate(one.carry_predicates, 1):
        warp.set_predicate(carry, None if total is None else (total >> 32) >= count)


def _kind(value: Lanes) -> object:
    """None for an unknown value, else a marker: arrays cannot be compared with None."""
    return None if value is None else 0


def _total(values: list) -> Lanes:
    total: Lanes = 0
    for value in values:
        if value is None or total is None:
            return None
        total = total + (value.astype(np.int64) if isinstance(value, np.ndarray) else int(value))
    return total


def _multiply(warp: Warp, one: Instruction) -> None:
    a, b, c, *carry = one.sources
    left, right = warp.value(a), warp.value(b)
    is_wide = "WIDE" in one.modifiers or "HI" in one.modifiers
    addend = warp.wide(c) if is_wide else warp.value(c)
    carry_in = warp.predicate(carry[0]) if carry and "X" in one.modifiers else False
    if left is None or right is None:
        # ptxas uses a zero factor to move a word: the other factor may be unknown.
        product: Lanes = 0 if is_zero(left) or is_zero(right) else None
    else:
        signs = "U32" not in one.modifiers and is_wide
        product = signed(left) * signed(right) if signs else left * right
    total = _total([product, addend, carry_in])
    _store_product(warp, one, total)


def is_zero(value: Lanes) -> bool:
    """Whether a word is known to be zero in all lanes."""
    return isinstance(value, int) and value == 0


def _store_product(warp: Warp, one: Instruction, total: Lanes) -> None:
    if "WIDE" in one.modifiers:
        warp.set_wide(one.operands[0], total)
    else:
        found = None if total is None else upper(total) if "HI" in one.modifiers else word(total)
        warp.set(one.operands[0], found)
    for carry in one.carry_predicates:
        warp.set_predicate(carry, None if total is None else False)


def _shift_add(warp: Warp, one: Instruction) -> None:
    """LEA: (a << shift) + b; HI: the upper word of (c:a) << shift, and b; SX32: c is the sign of a."""
    sources = one.words
    carried = [warp.predicate(operand) for operand in one.predicate_sources] if "X" in one.modifiers else []
    a, b, shift = sources[0], sources[1], sources[-1]
    low, addend, count = warp.value(a), warp.addend(b), warp.value(shift)
    high = warp.value(sources[2]) if len(sources) > 3 else 0
    if low is None or count is None or high is None:
        total = None
    elif "HI" in one.modifiers:
        source = signed(low) if "SX32" in one.modifiers else low | high << 32
        total = _total([word(source >> (32 - count)) if _positive_count(count) else 0, addend, *carried])
    else:
        total = _total([word(low << count), addend, *carried])
    warp.set(one.operands[0], total if total is None else word(total))
    for carry in one.carry_predicates:
        warp.set_predicate(carry, None if total is None else (total >> 32) >= 1)


def _positive_count(count: Word) -> bool:
    return bool(np.all(np.asarray(count) > 0))


def _min_or_max(modifiers: tuple[str, ...], a: Word, b: Word, is_min: bool) -> Word:
    unsigned = "U32" in modifiers
    left, right = (a, b) if unsigned else (signed(a), signed(b))
    return np.where(np.asarray(left < right) == is_min, a, b) if _varies(a, b) else a if (left < right) == is_min else b


def _varies(*values: Word) -> bool:
    return any(isinstance(value, np.ndarray) for value in values)


def _minimum(warp: Warp, one: Instruction) -> None:
    """IMNMX and variants: the last predicate selects the minimum."""
    values = _words(warp, one.words)
    least = warp.predicate(one.operands[-1])
    if values is None or not isinstance(least, bool):
        return warp.set(one.operands[0], None)
    if one.opcode.endswith("ADDMNMX"):
        values = [word(values[0] + values[1]), values[2]]
    found = values[0]
    for value in values[1:]:
        found = _min_or_max(one.modifiers, found, value, least)
    return warp.set(one.operands[0], found)


# ---- bits --------------------------------------------------------------------------------------------------------------
def _table(truth_table: int, a: Word, b: Word, c: Word) -> Word:
    """Evaluate a truth table bitwise."""
    found: Word = 0
    for row in range(8):
        if truth_table >> row & 1:
            found = found | (a if row & 4 else a ^ MASK) & (b if row & 2 else b ^ MASK) & (c if row & 1 else c ^ MASK)
    return found


def _logic(warp: Warp, one: Instruction) -> None:
    """LOP3: a truth table of three words; a predicate before the result is whether it is nonzero."""
    leading = one.operands[0].is_predicate
    result, *sources = one.operands[1:] if leading else one.operands
    found = _table_of(warp, sources)
    warp.set(result, found)
    if leading:
        truth = None if found is None else found != 0
        warp.set_predicate(
            one.operands[0], either(truth, warp.predicate(sources[-1])) if sources[-1].is_predicate else truth
        )


def _table_of(warp: Warp, sources: list[Operand]) -> Lanes:
    rows = sources[3].number
    # A word that the table does not ask for need not be known.
    asked = [_depends_on(rows, n) for n in range(3)]
    values = [warp.value(operand) if asks else 0 for asks, operand in zip(asked, sources, strict=False)]
    if any(value is None for value in values):
        known = [value for asks, value in zip(asked, values, strict=True) if asks and value is not None]
        return 0 if rows in _AND_TABLES and any(map(is_zero, known)) else None
    return _table(rows, *values)  # type: ignore[arg-type]


_AND_TABLES = (0xC0, 0x80, 0xA0, 0x88)  # tables that are zero where one of the words they ask for is


def _depends_on(truth_table: int, place: int) -> bool:
    step = 4 >> place
    return any((truth_table >> row & 1) != (truth_table >> (row ^ step) & 1) for row in range(8))


def _logic_of_truths(warp: Warp, one: Instruction) -> None:
    """PLOP3: one or two truth tables of three predicates."""
    results, sources = one.operands[:2], [operand for operand in one.operands[2:] if operand.is_predicate]
    tables = [operand.number for operand in one.operands[2:] if not operand.is_predicate]
    truths = [warp.predicate(operand) for operand in sources]
    for result, rows in zip(results, tables, strict=False):
        warp.set_predicate(result, _truth_of_table(rows, truths))


def _truth_of_table(truth_table: int, truths: list[Truth]) -> Truth:
    found: Truth = False
    for row in range(8):
        if truth_table >> row & 1:
            term: Truth = True
            for place, truth in enumerate(truths):
                term = both(term, truth if row >> (2 - place) & 1 else negation(truth))
            found = either(found, term)
    return found


def _shift(modifiers: tuple[str, ...], low: Word, count: Word, high: Word = 0) -> Word:
    """SHF: (high:low) shifted; HI selects the upper word of the result."""
    count = count & 31 if "W" in modifiers else _clamp(count, 63)
    joined = (signed(high) if "S32" in modifiers or "S64" in modifiers else high) << 32 | low
    if "R" in modifiers:
        moved = _right(joined, count, "U64" in modifiers or "U32" in modifiers)
    else:
        moved = (
            (joined << count) & (1 << 64) - 1 if isinstance(joined, int) and isinstance(count, int) else joined << count
        )
    return upper(moved) if "HI" in modifiers else word(moved)


def _right(value: Word, count: Word, unsigned: bool) -> Word:
    if not unsigned:
        return value >> count
    low, high = value & MASK, value >> 32 & MASK
    if not _varies(value, count):
        return (high << 32 | low) >> count
    split = np.where(np.asarray(count) < 32, high >> np.minimum(count, 31), 0)
    near = low >> np.minimum(count, 31) | high << 32 - np.minimum(count, 32) & MASK
    return np.where(np.asarray(count) < 32, split << 32 | near, high >> np.maximum(np.asarray(count) - 32, 0))


def _clamp(count: Word, limit: int) -> Word:
    return np.minimum(count, limit) if isinstance(count, np.ndarray) else min(count, limit)


def _permute(_: tuple[str, ...], a: Word, chosen: Word, b: Word) -> Word:
    """PRMT: bytes of (b:a) selected by hex digits; a digit above 7 replicates the byte's sign."""
    found: Word = 0
    for place in range(4):
        digit = chosen >> 4 * place & 15
        byte = _byte(a, b, digit & 7)
        byte = np.where(digit > 7, (byte >> 7) * 255, byte) if _varies(byte, digit) else _repeat(int(byte), int(digit))
        found = found | byte << 8 * place
    return found


def _repeat(byte: int, digit: int) -> int:
    return (byte >> 7) * 255 if digit > 7 else byte


def _byte(a: Word, b: Word, digit: Word) -> Word:
    source = select(digit > 3, b, a)
    return (source if source is not None else 0) >> 8 * (digit & 3) & 255


def _extend(modifiers: tuple[str, ...], a: Word, width: Word) -> Word:
    """SGXT: sign-extend the low bits."""
    kept = a & ((1 << width) - 1)
    return kept if "U32" in modifiers else word(kept - ((kept >> width - 1 & 1) << width))


def _leading(modifiers: tuple[str, ...], a: Word) -> Word:
    """FLO: the position of the leading one, all ones if there is none; SH counts from the top."""
    shifted = "SH" in modifiers
    return elementwise(lambda x: MASK if x == 0 else (32 - x.bit_length() if shifted else x.bit_length() - 1), a)


def _mask_of_bits(_: tuple[str, ...], start: Word, width: Word) -> Word:
    return word(((1 << _clamp(width, 32)) - 1) << _clamp(start, 32))


def _absolute(_: tuple[str, ...], a: Word) -> Word:
    sign = a >> 31 & 1
    return word((a ^ MASK * sign) + sign)


def _reverse(_: tuple[str, ...], a: Word) -> Word:
    return elementwise(lambda x: int(f"{x:032b}"[::-1], 2), a)


INTEGERS: dict[str, Handler] = {
    "MOV": _move, "MOV32I": _move, "IADD3": _add, "IADD": _add, "VIADD": _add, "IADD32I": _add, "IADD64": _add,
    "IMAD": _multiply, "LEA": _shift_add, "IMNMX": _minimum, "VIMNMX": _minimum, "VIMNMX3": _minimum,
    "VIADDMNMX": _minimum, "IMNMX3": _minimum,
    "LOP3": _logic, "PLOP3": _logic_of_truths, "SHF": _word_rule(_shift), "PRMT": _word_rule(_permute),
    "SGXT": _word_rule(_extend), "BMSK": _word_rule(_mask_of_bits), "IABS": _word_rule(_absolute),
    "FLO": _word_rule(_leading), "POPC": _word_rule(lambda _, a: elementwise(int.bit_count, a)),
    "BREV": _word_rule(_reverse),
}  # fmt: skip
