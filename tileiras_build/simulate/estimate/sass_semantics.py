"""Semantics of the SASS instructions that compute addresses, counters and conditions.

A row of ``SEMANTICS`` is a function of the warp and an instruction; the results of other opcodes are unknown. The CUDA Binary
Utilities manual, section "Instruction Set Reference", lists the opcodes; the details (carries, halves of funnel shifts, truth
tables) are those of the PTX instructions that ptxas translates to them. A U prefix means the uniform version.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import lane_values
from .lane_values import LANES, MASK, Lanes, Truth, both, either, negation, select, signed, to_lanes, word
from .memory_transactions import size_of
from .sass_integer_semantics import INTEGERS, Handler, is_zero
from .sass_operands import MEMORY, NUMBER, PREDICATE, UNIFORM, Operand
from .sass_parser import Instruction
from .warp_registers import Warp

# ---- comparisons and selects -------------------------------------------------------------------------------------------
_COMPARISONS: dict[str, Callable] = {
    "LT": lambda a, b: a < b, "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b, "GE": lambda a, b: a >= b,
    "EQ": lambda a, b: a == b, "NE": lambda a, b: a != b,
    "LTU": lambda a, b: ~(a >= b), "LEU": lambda a, b: ~(a > b), "GTU": lambda a, b: ~(a <= b),
    "GEU": lambda a, b: ~(a < b), "EQU": lambda a, b: ~(a != b), "NEU": lambda a, b: ~(a == b),
    "NAN": lambda a, b: np.isnan(a) | np.isnan(b), "NUM": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
}  # fmt: skip
_JOINS = {"AND": both, "OR": either, "XOR": lambda a, b: None if a is None or b is None else a ^ b}


def _compare(warp: Warp, one: Instruction) -> None:
    """ISETP: the comparison and its negation, each combined with a predicate; EX extends a comparison of low words."""
    first, second, a, b, joined, *lower = one.operands
    name = next(modifier for modifier in one.modifiers if modifier in _COMPARISONS)
    truth = _ordered(warp, one, name, a, b)
    if "EX" in one.modifiers and lower:
        truth = _with_lower(name, truth, warp.value(a), warp.value(b), warp.predicate(lower[0]))
    join = _JOINS[next((modifier for modifier in one.modifiers if modifier in _JOINS), "AND")]
    also = warp.predicate(joined)
    warp.set_predicate(first, join(truth, also))
    warp.set_predicate(second, join(negation(truth), also))


def _ordered(warp: Warp, one: Instruction, name: str, a: Operand, b: Operand) -> Truth:
    is_wide = bool({"64", "U64", "S64"} & set(one.modifiers))
    left, right = (warp.wide(a), warp.wide(b)) if is_wide else (warp.value(a), warp.value(b))
    if left is None or right is None:
        return None
    if not is_wide and "U32" not in one.modifiers:
        left, right = signed(left), signed(right)
    return _COMPARISONS[name](left, right)


def _with_lower(name: str, truth: Truth, a: Lanes, b: Lanes, lower: Truth) -> Truth:
    """A 64-bit comparison from those of the upper and lower words."""
    if truth is None or a is None or b is None or lower is None:
        return None
    same = a == b
    if name in ("EQ", "NE"):
        return truth & lower if name == "EQ" else truth | lower
    strictly = truth & negation(same)  # type: ignore[operator]
    return strictly | (same & lower)


def _compare_floats(warp: Warp, one: Instruction) -> None:
    first, second, a, b, joined, *_ = one.operands
    left, right = warp.as_float(a), warp.as_float(b)
    name = next(modifier for modifier in one.modifiers if modifier in _COMPARISONS)
    truth: Truth = None
    if left is not None and right is not None:
        found = _COMPARISONS[name](left, right)
        truth = found if len(found) > 1 else bool(found[0])
    join, also = _JOINS[next((m for m in one.modifiers if m in _JOINS), "AND")], warp.predicate(joined)
    warp.set_predicate(first, join(truth, also))
    warp.set_predicate(second, join(negation(truth), also))


def _choose(warp: Warp, one: Instruction) -> None:
    result, a, b, truth = one.operands
    if "64" in one.modifiers:
        warp.set_wide(result, select(warp.predicate(truth), warp.wide(a), warp.wide(b)))
    else:
        warp.set(result, select(warp.predicate(truth), warp.value(a), warp.value(b)))


def _pack_truths(warp: Warp, one: Instruction) -> None:
    """P2R: a word whose masked bits are the predicates."""
    result, _, kept, mask = one.operands
    value, chosen = warp.value(kept), warp.value(mask)
    for number, truth in enumerate(warp.predicates(PREDICATE)[:7]):
        if not isinstance(chosen, int) or value is None or (truth is None and chosen >> number & 1):
            return warp.set(result, None)
        if chosen >> number & 1 and truth is not None:
            bit = truth.astype(np.int64) if isinstance(truth, np.ndarray) else int(truth)
            value = value & ~(1 << number) | bit << number
    return warp.set(result, value)


def _unpack_truths(warp: Warp, one: Instruction) -> None:
    """R2P: set the masked predicates from the bits of a word."""
    _, source, mask = one.operands
    value, chosen = warp.value(source), warp.value(mask)
    for number in range(7):
        if not isinstance(chosen, int) or chosen >> number & 1:
            truth = None if value is None else (value >> number & 1) == 1
            warp.set_predicate(Operand(PREDICATE, number), truth)


# ---- special registers, constants, other lanes -------------------------------------------------------------------------
def _read_special(warp: Warp, one: Instruction) -> None:
    result, source = one.operands[:2]
    warp.set(result, warp.special.get(source.text))
    if one.opcode == "CS2R" and "32" not in one.modifiers:
        value = warp.special.get(source.text)
        warp.set_wide(result, value)


def _copy_words(warp: Warp, one: Instruction) -> None:
    result, source = one.operands[:2]
    for further in range(_registers(one.modifiers)):
        warp.set(result, warp.raw(source, further), further)


def _registers(modifiers: tuple[str, ...]) -> int:
    """The number of registers of a load."""
    return next((count for size, count in (("64", 2), ("128", 4), ("256", 8)) if size in modifiers), 1)


def _to_uniform(warp: Warp, one: Instruction) -> None:
    result = next(operand for operand in one.operands if operand.kind == UNIFORM)
    value = warp.value(one.operands[-1])
    warp.set(result, int(value[warp.first]) if isinstance(value, np.ndarray) else value)


def _elect(warp: Warp, one: Instruction) -> None:
    warp.set_predicate(one.operands[0], warp.first == LANES)


def _vote(warp: Warp, one: Instruction) -> None:
    """VOTE: the ballot of a predicate, and whether it holds for any or all lanes."""
    truth = warp.predicate(one.operands[-1])
    held = None if truth is None else warp.lanes & truth
    for result in one.operands[:-1]:
        if result.is_predicate:
            every = "ALL" in one.modifiers
            found = None if held is None else bool(held[warp.lanes].all()) if every else bool(held.any())
            warp.set_predicate(result, found)
        else:
            warp.set(result, None if held is None else int((held.astype(np.int64) << LANES).sum()))


def _shuffle(warp: Warp, one: Instruction) -> None:
    result = one.operands[1]
    source, lane = warp.value(one.operands[2]), warp.value(one.operands[3])
    if source is None or lane is None:
        return warp.set(result, None)
    step = to_lanes(lane)
    moves = {"IDX": step, "BFLY": LANES ^ step, "DOWN": LANES + step, "UP": LANES - step}
    where = next(moves[modifier] for modifier in one.modifiers if modifier in moves)
    inside = np.where((where < 0) | (where > 31), LANES, where)
    warp.set_predicate(one.operands[0], True)
    return warp.set(result, to_lanes(source)[inside] if isinstance(source, np.ndarray) else source)


_REDUCTIONS: dict[str, Callable] = {"MAX": max, "MIN": min, "SUM": lambda values: sum(values)}


def _reduce(warp: Warp, one: Instruction) -> None:
    value = warp.value(one.operands[-1])
    name = next((modifier for modifier in one.modifiers if modifier in _REDUCTIONS), "SUM")
    if value is None or any(modifier in ("F32", "AND", "OR", "XOR") for modifier in one.modifiers):
        return warp.set(one.operands[0], None)
    values = [int(one) for one in to_lanes(value)[warp.lanes]]
    return warp.set(one.operands[0], word(_REDUCTIONS[name](values)))


# ---- conversions, as integer division uses them ---------------------------------------------------------------------
def _to_float(warp: Warp, one: Instruction) -> None:
    """I2F of words; RP rounds up."""
    source = one.operands[-1]
    value = warp.value(source)
    if value is None or {"F64", "F16", "U64", "S64"} & set(one.modifiers):
        return warp.set(one.operands[0], None)
    unsigned = "U32" in one.modifiers or one.opcode in ("I2F", "UI2F") and "S32" not in one.modifiers
    number = np.atleast_1d(np.asarray(value if unsigned else signed(value), dtype=np.float64))
    near = number.astype(np.float32)
    if "RP" in one.modifiers:
        near = np.where(near < number, np.nextafter(near, np.float32(np.inf)), near)
    return warp.set(one.operands[0], lane_values.bits(near, (value,)))


def _to_integer(warp: Warp, one: Instruction) -> None:
    value = warp.as_float(one.operands[-1])
    if value is None or {"F64", "F16", "U64", "S64"} & set(one.modifiers):
        return warp.set(one.operands[0], None)
    least, most = (0, MASK) if "U32" in one.modifiers else (-(1 << 31), (1 << 31) - 1)
    whole = np.clip(np.trunc(np.nan_to_num(value.astype(np.float64))), least, most).astype(np.int64)
    return warp.set(one.operands[0], word(whole) if len(whole) > 1 else word(int(whole[0])))


def _special_function(warp: Warp, one: Instruction) -> None:
    """MUFU.RCP; other functions do not affect addresses."""
    value = warp.as_float(one.operands[-1])
    if value is None or one.modifiers[:1] != ("RCP",):
        return warp.set(one.operands[0], None)
    with np.errstate(divide="ignore", over="ignore"):  # inactive lanes hold arbitrary values
        return warp.set(one.operands[0], lane_values.bits(np.float32(1) / value, (warp.raw(one.operands[-1]),)))


def _float_arithmetic(function: Callable[..., np.ndarray]) -> Handler:
    def handler(warp: Warp, one: Instruction) -> None:
        sources = tuple(operand for operand in one.operands[1:] if not operand.is_predicate)
        values = [warp.as_float(operand) for operand in sources]
        if any(value is None for value in values):
            return warp.set(one.operands[0], None)
        with np.errstate(all="ignore"):
            found = function(*values)
        return warp.set(one.operands[0], lane_values.bits(found, tuple(map(warp.raw, sources))))

    return handler


def _halves(warp: Warp, one: Instruction) -> None:
    """HFMA2 with zero factors, which ptxas uses to load a constant: two immediate halves, the upper one first."""
    result, a, b, *addends = one.operands
    immediates = [operand.number for operand in addends if operand.kind == NUMBER]
    if len(immediates) != 2 or not (is_zero(warp.raw(a)) or is_zero(warp.raw(b))):
        return warp.set(result, None)
    high, low = (int(lane_values.floats(number & MASK).astype(np.float16).view(np.uint16)[0]) for number in immediates)
    return warp.set(result, high << 16 | low)


# ---- memory, and assumed predicates -----------------------------------------------------------------------
def _spill(warp: Warp, one: Instruction) -> None:
    address = warp.address(one.operands[0])
    for further in range(_registers(one.modifiers)):
        if isinstance(address, int):
            warp.local[address + 4 * further] = warp.raw(one.operands[1], further)


def _restore(warp: Warp, one: Instruction) -> None:
    address = warp.address(next(operand for operand in one.operands if operand.kind == MEMORY))
    for further in range(_registers(one.modifiers)):
        found = warp.local.get(address + 4 * further) if isinstance(address, int) else None
        warp.set(one.operands[0], found, further)


def _load(warp: Warp, one: Instruction) -> None:
    """LDG of an array whose elements are given."""
    result, address = one.operands[0], warp.address(next(operand for operand in one.operands if operand.kind == MEMORY))
    size = min(size_of(one), 4)
    for further in range(_registers(one.modifiers)):
        warp.set(result, _elements(warp, address, 4 * further, size, bool({"S8", "S16"} & set(one.modifiers))), further)


def _elements(warp: Warp, address: Lanes, further: int, size: int, is_signed: bool) -> Lanes:
    """The element at each active lane's address; None if one is unknown."""
    if address is None:
        return None
    if not isinstance(address, np.ndarray):
        return warp.constants.element(address + further, size, is_signed)
    lanes = zip(address, warp.lanes, strict=True)
    found = [warp.constants.element(int(place) + further, size, is_signed) if active else 0 for place, active in lanes]
    return None if None in found else np.array(found, dtype=np.int64)


def _assumed(truth: bool) -> Handler:
    """A row with an assumed predicate: waits succeed, slow paths are not taken."""

    def handler(warp: Warp, one: Instruction) -> None:
        for operand in one.operands:
            if operand.is_predicate and not operand.inverted:
                return warp.set_predicate(operand, truth)
        return None

    return handler


SEMANTICS: dict[str, Handler] = {
    **INTEGERS,
    "ISETP": _compare, "FSETP": _compare_floats, "SEL": _choose, "FSEL": _choose, "P2R": _pack_truths,
    "R2P": _unpack_truths,
    "S2R": _read_special, "S2UR": _read_special, "CS2R": _read_special, "LDC": _copy_words, "LDCU": _copy_words, "RPCMOV": _copy_words,
    "R2UR": _to_uniform, "ELECT": _elect, "VOTE": _vote, "SHFL": _shuffle, "REDUX": _reduce, "CREDUX": _reduce,
    "I2F": _to_float, "I2FP": _to_float, "F2I": _to_integer, "MUFU": _special_function,
    "FADD": _float_arithmetic(lambda a, b: a + b), "FMUL": _float_arithmetic(lambda a, b: a * b),
    "FFMA": _float_arithmetic(lambda a, b, c: a * b + c), "HFMA2": _halves,
    "STL": _spill, "LDL": _restore, "LDG": _load,
    "SYNCS": _assumed(True), "USETMAXREG": _assumed(True), "UTCATOMSWS": _assumed(True), "FCHK": _assumed(False),
}  # fmt: skip
_UNIFORM_ONLY = ("S2UR", "UTCATOMSWS", "USETMAXREG")


def handler_of(one: Instruction) -> Handler | None:
    """The semantics of an instruction; None if its result is unknown."""
    found = SEMANTICS.get(one.opcode)
    if found is None and one.opcode.startswith("U") and one.opcode not in _UNIFORM_ONLY:
        found = SEMANTICS.get(one.opcode[1:])
    return SEMANTICS["VOTE"] if one.opcode == "VOTEU" else found


__all__ = ["SEMANTICS", "Handler", "handler_of"]
