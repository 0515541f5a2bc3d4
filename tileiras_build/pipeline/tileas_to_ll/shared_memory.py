"""Moving registers to and from shared memory as the plans of ``layouts`` say.

An address is ``((base ^ xor) + add)`` past the start of a scratch region; ``base`` belongs to the thread and is computed
once (layouts/shared_access.py). Matrix plans become ldmatrix and stmatrix, whose words stay packed until used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...layouts import MatrixAccess, SharedAccess
from ..shared.element_types import ELEMENTS, Element
from .access_text import load_text, register_type, store_text
from .builder import CONVERGENT, Value
from .kernel_emitter import KernelEmitter, Late, LateValue, Part, taken
from .vector_access import from_border, to_border

BYTES, WORD = 4, ELEMENTS["i32"]
UNSIGNED_BYTES = 0x7F7F7F7F


def _address(e: KernelEmitter, access: Any, xor: int, scratch: int, start: Value | None = None) -> tuple[Value, int]:
    """(address register, constant to add) of one instruction's place in the region at byte ``scratch``.

    ``start`` is the region's 32-bit address where it is known at run time only.
    """
    thread = e.linear(access.lane_offsets, access.warp_offsets)
    with e.in_prologue():
        place = e.b.xor(thread, xor)
        base = e.b.add(place, e.shared_base) if start is None else place
    return base if start is None else e.b.add(place, start), scratch


def store_registers(
    e: KernelEmitter, access: SharedAccess | MatrixAccess, element: Element, registers: Sequence[Any], scratch: int
) -> None:
    """Write the registers of this thread to the region at byte ``scratch``."""
    if isinstance(access, MatrixAccess):
        return _store_matrices(e, access, element, registers, scratch)
    holder = holder_of(e, access.free_lanes, access.free_warps)
    for vector in access.vectors:
        base, offset = _address(e, access, vector.xor, scratch)
        values = [taken(e.b, registers[register]) for register in vector.registers]
        store_shared(e, element, values, base, offset + vector.add, holder)


def holder_of(e: KernelEmitter, lanes: int, warps: int) -> Value | None:
    """Whether this thread has none of the bits set; None where there are no bits."""
    if not lanes and not warps:
        return None
    with e.in_prologue():
        return e.b.compare("eq", e.b.and_(e.thread, lanes | warps << 5), 0)


def load_registers(
    e: KernelEmitter,
    access: SharedAccess | MatrixAccess,
    element: Element,
    count: int,
    scratch: int,
    start: Value | None = None,
    *,
    late: bool = False,
    in_words: bool = False,
) -> list[Any]:
    """The ``count`` registers of this thread, read from the region at byte ``scratch``; None where not loaded.

    ``in_words``: bytes stay in the words they are loaded in. ``late``: each instruction is written where the first of its registers is used; nothing may write there before.
    """
    if isinstance(access, MatrixAccess):
        return _load_matrices(e, access, element, count, scratch, start, late)
    registers: list[Any] = [None] * count
    for vector in access.vectors:
        per_word = BYTES if in_words and element.bits == 8 and len(vector.registers) % BYTES == 0 else 1
        count, type = len(vector.registers) // per_word, WORD if per_word > 1 else element

        def load(vector: Any = vector, count: int = count, type: Element = type) -> list[Value]:
            base, offset = _address(e, access, vector.xor, scratch, start)
            return load_shared(e, type, count, base, offset + vector.add)

        for index, value in enumerate(_values(load, count, late)):
            for position, register in enumerate(vector.registers[index * per_word : (index + 1) * per_word]):
                registers[register] = value if per_word == 1 else Part(value, position, element)
    return registers


def _values(load: Callable[[], list[Value]], count: int, late: bool) -> list[Any]:
    """The values of an instruction, now or when they are used."""
    if not late:
        return load()
    source = Late(load)
    return [LateValue(source, position) for position in range(count)]


def store_shared(
    e: KernelEmitter, element: Element, values: Sequence[Value], base: Value, offset: int, mask: Value | None
) -> None:
    """One st.shared of consecutive elements at the 32-bit address ``base`` + ``offset``."""
    template, constraints = store_text(element, len(values), mask is not None, "st.shared", offset)
    type = register_type(element)
    operands = [f"i32 {base}", *(f"{type} {to_border(e, element, value)}" for value in values)]
    if mask is not None:
        operands.append(f"i1 {mask}")
    e.b.line(f'call void asm sideeffect "{template}", "r{constraints[1:]}"({", ".join(operands)})')


def load_shared(e: KernelEmitter, element: Element, count: int, base: Value, offset: int) -> list[Value]:
    """One ld.shared of consecutive elements."""
    template, constraints, type = load_text(element, count, False, 0, "ld.shared", offset)
    result = e.b.value(f'call {type} asm sideeffect "{template}", "{constraints[:-1]}r"(i32 {base})')
    values = [result] if count == 1 else e.b.unpack(type, result, count)
    return [from_border(e, element, value) for value in values]


# ---- matrices ------------------------------------------------------------------------------------
def _load_matrices(
    e: KernelEmitter,
    access: MatrixAccess,
    element: Element,
    count: int,
    scratch: int,
    start: Value | None,
    late: bool,
) -> list[Any]:
    registers: list[Any] = [None] * count
    for instruction in access.instructions:

        def load(instruction: Any = instruction) -> list[Value]:
            base, offset = _address(e, access, instruction.xor, scratch, start)
            return _exchanged(e, access, _ldmatrix(e, access, base, offset + instruction.add))

        for word, members in zip(_values(load, access.count, late), instruction.registers):
            for position, register in enumerate(members):
                registers[register] = _word_part(e, element, word, position)
    return registers


def _ldmatrix(e: KernelEmitter, access: MatrixAccess, base: Value, offset: int) -> list[Value]:
    words = access.count
    names = ", ".join(f"${i}" for i in range(words))
    transposed = ".trans" if access.transposed else ""
    type = "i32" if words == 1 else "{" + ", ".join(["i32"] * words) + "}"
    constraints = ",".join(["=r"] * words + ["r"])
    text = f"ldmatrix.sync.aligned.m8n8.x{words}{transposed}.shared.b16 {{{names}}}, [${words}+{offset}];"
    result = e.b.value(f'call {type} asm sideeffect "{text}", "{constraints}"(i32 {base}) {CONVERGENT}')
    return [result] if words == 1 else e.b.unpack(type, result, words)


def _exchanged(e: KernelEmitter, access: MatrixAccess, words: list[Value]) -> list[Value]:
    """The words of an instruction in the order of its matrices, from that of the lane, or the other way around."""
    if not access.swapped_lanes:
        return words
    with e.in_prologue():
        swapped = e.b.compare("ne", e.b.and_(e.thread, access.swapped_lanes), 0)
    pairs = [(words[number ^ 1], word) for number, word in enumerate(words)]
    return [e.b.pure(f"select i1 {swapped}, i32 {other}, i32 {own}") for other, own in pairs]


def _word_part(e: KernelEmitter, element: Element, word: Any, position: int) -> Any:
    if element.bits < 32 or isinstance(word, LateValue) and element.register != "i32":
        return Part(word, position, element)
    return word if element.register == "i32" else e.b.value(f"bitcast i32 {word} to {element.register}")


def _store_matrices(
    e: KernelEmitter, access: MatrixAccess, element: Element, registers: Sequence[Any], scratch: int
) -> None:
    words = access.count
    names = ", ".join(f"${i + 1}" for i in range(words))
    transposed = ".trans" if access.transposed else ""
    constraints = ",".join(["r"] * (words + 1) + ["~{memory}"])
    for instruction in access.instructions:
        base, offset = _address(e, access, instruction.xor, scratch)
        packed = [
            pack_word(e, element, [registers[register] for register in members]) for members in instruction.registers
        ]
        packed = _exchanged(e, access, packed)
        text = (
            f"stmatrix.sync.aligned.m8n8.x{words}{transposed}.shared.b16 [$0+{offset + instruction.add}], {{{names}}};"
        )
        operands = ", ".join(f"i32 {value}" for value in (base, *packed))
        e.b.line(f'call void asm sideeffect "{text}", "{constraints}"({operands}) {CONVERGENT}')


def pack_words(e: KernelEmitter, element: Element, values: Sequence[Any]) -> list[Value]:
    """The 32-bit words of consecutive elements."""
    count = 32 // element.bits
    return [pack_word(e, element, values[first : first + count]) for first in range(0, len(values), count)]


def pack_bytes(e: KernelEmitter, element: Element, values: Sequence[Any]) -> Value:
    """Up to four bytes as a word; what is above them is not looked at."""
    if len(values) == 1:
        return e.b.pure(f"zext i8 {taken(e.b, values[0])} to i32")
    return pack_word(e, element, values)


def pack_scales(e: KernelEmitter, element: Element, values: Sequence[Any]) -> Value:
    """Up to four scales as a word for an instruction: ue4m3 is f8E4M3FN with a zero for its sign (PTX ISA 9.0, section
    5.2.3, "Alternate Floating-Point Data Formats"); Tile IR leaves open what negative scales do.
    """
    word = pack_bytes(e, element, values)
    return e.b.and_(word, UNSIGNED_BYTES) if element.name == "f8E4M3FN" else word


def pack_word(e: KernelEmitter, element: Element, values: Sequence[Any]) -> Value:
    """The 32-bit word of consecutive elements, lowest first; a word that was loaded whole is used again."""
    first = values[0]
    if isinstance(first, Part) and all(value == Part(first.word, i, element) for i, value in enumerate(values)):
        return taken(e.b, first.word)
    if element.bits == 8 and (word := _bytes_of_two(e, values)) is not None:
        return word
    scalars = [taken(e.b, value) for value in values]
    type = register_type(element)
    if len(scalars) == 1:
        return scalars[0] if type == "i32" else e.b.pure(f"bitcast {type} {scalars[0]} to i32")
    if element.bits == 16:
        operands = ", ".join(f"{type} {value}" for value in scalars)
        return e.b.pure(f'call i32 asm "mov.b32 $0, {{$1, $2}};", "=r,h,h"({operands})')
    word: Value = 0
    for position, value in enumerate(scalars):
        wide = e.b.pure(f"zext {type} {to_border(e, element, value)} to i32")
        word = e.b.or_(word, e.b.shift(wide, element.bits * position))
    return word


def _bytes_of_two(e: KernelEmitter, values: Sequence[Any]) -> Value | None:
    """A word of four bytes that two other words have; None where they come from elsewhere."""
    if len(values) != BYTES or not all(isinstance(value, Part) for value in values):
        return None
    words = list(dict.fromkeys(value.word for value in values))
    if len(words) != 2:
        return None
    selector = sum((words.index(value.word) * BYTES + value.position) << 4 * i for i, value in enumerate(values))
    first, second = (taken(e.b, word) for word in words)
    return e.b.pure(f"call i32 @llvm.nvvm.prmt(i32 {first}, i32 {second}, i32 {selector})")
