"""Integer operations on bytes, four at once where they are those of one word: a GPU has no instructions for single bytes.

Shifts by one amount leave bits of the byte beside, which a mask clears. An addition of the lower seven bits of all bytes carries into no other
byte; the highest bits are added without a carry, by xor. A subtraction sets the highest bits first, and so borrows from no other byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.dialects.llvm import ConstantOp
from xdsl.ir import Operation

from ...common.llvm_element_types import element_of
from ...common.llvm_type_constructors import I32
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import KernelEmitter
from ..emission.register_values import PackedLane, RegisterValue
from ..memory.packed_loads import whole_words

BYTES, BYTE_BITS, EACH = 4, 8, 0x01010101
HIGHEST, LOWER = 0x80 * EACH, 0x7F * EACH


def bytes_of_words(e: KernelEmitter, op: Operation) -> list[RegisterValue] | None:
    """The results of an operation on whole words of bytes and on constants; None for others, and where values are computed at their uses."""
    rule = RULES.get(op.name)
    if rule is None or e.computes_at_use or not isinstance(op.results[0].type, TensorType):
        return None
    element = element_of(op.results[0].type)
    if element.bits != BYTE_BITS or element.per_byte > 1:
        return None
    left, right = (_words(e.b, e.values.packed(operand)) for operand in op.operands)
    if left is None or right is None or len(left) != len(right) or all(isinstance(word, int) for word in left):
        return None
    words = [word for pair in zip(left, right) if (word := rule(e.b, *pair)) is not None]
    if len(words) != len(left):
        return None
    return [PackedLane(e.b.of(word, I32), place, element) for word in words for place in range(BYTES)]


def _words(b: InstructionBuilder, lanes: Sequence[RegisterValue]) -> list[Value] | None:
    """The words of all lanes, those of known bytes as integers; None if one is neither."""
    if len(lanes) % BYTES:
        return None
    words = [_word(b, lanes[start : start + BYTES]) for start in range(0, len(lanes), BYTES)]
    return None if None in words else [word for word in words if word is not None]


def _word(b: InstructionBuilder, lanes: Sequence[RegisterValue]) -> Value | None:
    if words := whole_words(b, lanes):
        return words[0]
    known = [_constant(lane) for lane in lanes]
    parts = [byte & 0xFF for byte in known if byte is not None]
    return int.from_bytes(bytes(parts), "little") if len(parts) == BYTES else None


def _constant(value: RegisterValue) -> int | None:
    if isinstance(value, int):
        return value
    owner = getattr(value, "owner", None)
    attribute = owner.value if isinstance(owner, ConstantOp) else None
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None


# ---- operations on words -------------------------------------------------------------------------------------------
Rule = Callable[[InstructionBuilder, Value, Value], Value | None]


def _bitwise(opcode: str) -> Rule:
    return lambda b, x, y: b.binary(opcode, x, y)


def _add(b: InstructionBuilder, x: Value, y: Value) -> Value:
    lower = b.add(b.and_(x, LOWER), b.and_(y, LOWER))
    return b.binary("xor", lower, b.and_(b.binary("xor", x, y), HIGHEST))


def _subtract(b: InstructionBuilder, x: Value, y: Value) -> Value:
    lower = b.binary("sub", b.or_(x, HIGHEST), b.and_(y, LOWER))
    differs = b.binary("xor", b.binary("xor", x, y), HIGHEST)
    return b.binary("xor", lower, b.and_(differs, HIGHEST))


def _shifted(opcode: str) -> Rule:
    """A shift by the same known amount."""

    def rule(b: InstructionBuilder, x: Value, amounts: Value) -> Value | None:
        amount = amounts & 0xFF if isinstance(amounts, int) else BYTE_BITS
        if amount >= BYTE_BITS or amounts != amount * EACH:
            return None
        kept = (0xFF << amount) & 0xFF if opcode == "shl" else 0xFF >> amount
        return b.and_(b.binary(opcode, x, amount), kept * EACH)

    return rule


def _shift_signed(b: InstructionBuilder, x: Value, amounts: Value) -> Value | None:
    """The sign of the shifted byte, which has fewer bits, is extended by a subtraction."""
    shifted, amount = _shifted("lshr")(b, x, amounts), amounts & 0xFF if isinstance(amounts, int) else 0
    if shifted is None:
        return None
    sign = (0x80 >> amount) * EACH
    return _subtract(b, b.binary("xor", shifted, sign), sign)


RULES: dict[str, Rule] = {
    "arith.addi": _add,
    "arith.subi": _subtract,
    "arith.andi": _bitwise("and"),
    "arith.ori": _bitwise("or"),
    "arith.xori": _bitwise("xor"),
    "arith.shli": _shifted("shl"),
    "arith.shrui": _shifted("lshr"),
    "arith.shrsi": _shift_signed,
}
