"""Move registers to and from shared memory as the plans of ``layouts`` define.

An address is ``((base ^ xor) + add)`` past the start of a scratch region; ``base`` depends on the thread and is
computed once (ir/layouts/shared_access.py). Matrix plans become ldmatrix and stmatrix, whose words stay packed until
used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.ir import SSAValue

from ....ir.dialects.cute_nvgpu.atom_mnemonics import matrices_atom
from ....ir.dialects.cute_nvgpu.ops import LoadMatrixOp, StoreMatrixOp
from ....ir.dialects.nvvm.register_packing import PackOp, PrmtOp
from ....ir.layouts import MatrixAccess, SharedAccess
from ....ir.layouts.ldmatrix_access import MatrixInstruction
from ....ir.layouts.shared_access import VectorAccess
from ...common.llvm_element_types import ELEMENTS, Element
from ...common.llvm_type_constructors import I8, I16, I32
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import KernelEmitter
from ..emission.register_values import LazyElement, LazyValues, PackedLane, RegisterValue, materialize
from ..emission.thread_ids import ThreadIds
from .packed_loads import whole_words
from .vector_access import load_vector, store_vector, to_memory_type

BYTES, REGISTER_TYPE = 4, ELEMENTS["i32"]
UNSIGNED_BYTES = 0x7F7F7F7F
SPACE = {"space": "shared"}
Access = SharedAccess | MatrixAccess


def _address(e: KernelEmitter, access: Access, xor: int, scratch: int, start: Value | None = None) -> tuple[Value, int]:
    """(address register, constant to add) of one access in the region at byte ``scratch``.

    ``start`` is the region's 32-bit address, if it is dynamic.
    """
    thread = e.threads.linear(access.lane_offsets, access.warp_offsets)
    with e.b.at_function_start():
        place = e.b.xor(thread, xor)
        base = e.b.add(place, e.memory.shared_base) if start is None else place
    return base if start is None else e.b.add(place, start), scratch


def store_registers(
    e: KernelEmitter,
    access: Access,
    element: Element,
    registers: Sequence[RegisterValue],
    scratch: int,
    start: Value | None = None,
    only: Value | None = None,
) -> None:
    """Write the registers of this thread to the region at byte ``scratch``; ``start`` is its address if that is dynamic. ``only``: the
    condition under which other threads read what this one writes. A warp stores whole matrices.
    """
    if isinstance(access, MatrixAccess):
        return _store_matrices(e, access, element, registers, scratch, start)
    holder = e.b.all_of([holder_of(e.threads, access.free_lanes, access.free_warps), only])
    for vector in access.vectors:
        base, offset = _address(e, access, vector.xor, scratch, start)
        values = [registers[register] for register in vector.registers]
        words = whole_words(e.b, values) or _words_of_bytes(e.b, element, values)
        stored: Sequence[Value] = words or [materialize(e.b, value) for value in values]
        store_shared(e.b, REGISTER_TYPE if words else element, stored, base, offset + vector.add, holder)


def holder_of(threads: ThreadIds, lanes: int, warps: int) -> Value | None:
    """Whether the bits of this thread in the masks are zero; None for empty masks."""
    if not lanes and not warps:
        return None
    with threads.b.at_function_start():
        return threads.b.compare("eq", threads.b.and_(threads.thread, lanes | warps << 5), 0)


def load_registers(
    e: KernelEmitter,
    access: Access,
    element: Element,
    scratch: int,
    start: Value | None = None,
    *,
    lazy: bool = False,
    packed: bool = False,
) -> dict[int, RegisterValue]:
    """Load the registers of this thread by ``access`` from the region at byte ``scratch``; register index -> value.

    ``packed``: bytes stay in the words that they are loaded in. ``lazy``: each load is emitted at the first use of one of its
    registers; nothing may write to the region before.
    """
    if isinstance(access, MatrixAccess):
        return _load_matrices(e, access, element, scratch, start, lazy)
    registers: dict[int, RegisterValue] = {}
    for vector in access.vectors:
        per_word = BYTES if packed and element.bits == 8 and len(vector.registers) % BYTES == 0 else 1
        count, type = len(vector.registers) // per_word, REGISTER_TYPE if per_word > 1 else element
        load = partial(_load_vector, e, access, vector, type, count, scratch, start)
        for index, value in enumerate(_values(load, count, lazy)):
            for position, register in enumerate(vector.registers[index * per_word : (index + 1) * per_word]):
                registers[register] = value if per_word == 1 else PackedLane(_as_register(value), position, element)
    return registers


def _load_vector(
    e: KernelEmitter,
    access: SharedAccess,
    vector: VectorAccess,
    element: Element,
    count: int,
    scratch: int,
    start: Value | None,
) -> list[Value]:
    base, offset = _address(e, access, vector.xor, scratch, start)
    return load_shared(e.b, element, count, base, offset + vector.add)


def _values(load: Callable[[], list[Value]], count: int, lazy: bool) -> Sequence[Value | LazyElement]:
    """The results of a load, emitted now or at their use."""
    if not lazy:
        return load()
    source = LazyValues(load)
    return [LazyElement(source, position) for position in range(count)]


def _as_register(value: Value | LazyElement) -> SSAValue | LazyElement:
    assert not isinstance(value, int), "a loaded value is not known"
    return value


def store_shared(
    b: InstructionBuilder, element: Element, values: Sequence[Value], base: Value, offset: int, mask: Value | None
) -> None:
    """One st.shared of consecutive elements to the 32-bit address ``base`` + ``offset``."""
    store_vector(b, element, values, base, offset, mask, SPACE)


def load_shared(b: InstructionBuilder, element: Element, count: int, base: Value, offset: int) -> list[Value]:
    """One ld.shared of consecutive elements."""
    return load_vector(b, element, count, base, offset, None, 0, SPACE)


# ---- matrices ------------------------------------------------------------------------------------
def _load_matrices(
    e: KernelEmitter,
    access: MatrixAccess,
    element: Element,
    scratch: int,
    start: Value | None,
    lazy: bool,
) -> dict[int, RegisterValue]:
    registers: dict[int, RegisterValue] = {}
    for instruction in access.instructions:
        load = partial(_load_matrix_registers, e, access, instruction, scratch, start)
        for word, members in zip(_values(load, access.count, lazy), instruction.registers):
            for position, register in enumerate(members):
                registers[register] = _extract_from_register(e.b, element, word, position)
    return registers


def _load_matrix_registers(
    e: KernelEmitter, access: MatrixAccess, instruction: MatrixInstruction, scratch: int, start: Value | None
) -> list[Value]:
    base, offset = _address(e, access, instruction.xor, scratch, start)
    kind, types = matrices_atom("ldsm", access.count, access.transposed), [I32] * access.count
    words = e.b.issue_several(LoadMatrixOp, base, types=types, atom=kind, offset=offset + instruction.add)
    return _swap_lanes(e.threads, access, list(words))


def _swap_lanes(threads: ThreadIds, access: MatrixAccess, regs: list[Value]) -> list[Value]:
    """The words of an instruction in the order of its matrices, converted from or to that of the lane."""
    if not access.swapped_lanes:
        return regs
    with threads.b.at_function_start():
        swapped = threads.b.compare("ne", threads.b.and_(threads.thread, access.swapped_lanes), 0)
    pairs = [(regs[number ^ 1], word) for number, word in enumerate(regs)]
    return [threads.b.select(swapped, other, own, I32) for other, own in pairs]


def _extract_from_register(
    b: InstructionBuilder, element: Element, word: Value | LazyElement, position: int
) -> RegisterValue:
    if element.type == I32:
        return word
    if element.bits < 32 or isinstance(word, LazyElement):
        return PackedLane(_as_register(word), position, element)
    return b.bitcast(word, element.type)


def _store_matrices(
    e: KernelEmitter,
    access: MatrixAccess,
    element: Element,
    registers: Sequence[RegisterValue],
    scratch: int,
    start: Value | None = None,
) -> None:
    kind = matrices_atom("stsm", access.count, access.transposed)
    for instruction in access.instructions:
        base, offset = _address(e, access, instruction.xor, scratch, start)
        packed = [
            pack_register(e.b, element, [registers[register] for register in members])
            for members in instruction.registers
        ]
        packed = _swap_lanes(e.threads, access, packed)
        e.b.issue(StoreMatrixOp, base, packed, atom=kind, offset=offset + instruction.add)


def pack_registers(
    b: InstructionBuilder, element: Element, values: Sequence[RegisterValue], per_word: int = 0
) -> list[Value]:
    """The 32-bit words of consecutive elements, as many as fill one or ``per_word``; the upper bits of others are unspecified."""
    count = per_word or 32 // element.bits
    return [pack_register(b, element, values[first : first + count]) for first in range(0, len(values), count)]


def pack_bytes(b: InstructionBuilder, element: Element, values: Sequence[RegisterValue]) -> Value:
    """Up to four bytes as a word; its upper bits are unspecified."""
    if len(values) == 1:
        return b.cast("zext", materialize(b, values[0]), I32, I8)
    return pack_register(b, element, values)


def pack_scales(b: InstructionBuilder, element: Element, values: Sequence[RegisterValue]) -> Value:
    """Up to four scales as a word for an instruction: ue4m3 is f8E4M3FN with a zero for its sign (PTX ISA 9.0, section
    5.2.3, "Alternate Floating-Point Data Formats"); Tile IR leaves open what negative scales do.
    """
    word = pack_bytes(b, element, values)
    return b.and_(word, UNSIGNED_BYTES) if element.name == "f8E4M3FN" else word


def pack_register(b: InstructionBuilder, element: Element, values: Sequence[RegisterValue]) -> Value:
    """The 32-bit word of consecutive elements, lowest first; a word that was loaded as a whole is reused."""
    first = values[0]
    if isinstance(first, PackedLane) and all(
        value == PackedLane(first.word, i, element) for i, value in enumerate(values)
    ):
        return materialize(b, first.word)
    if element.bits == 8 and (known := _bytes_of_words(b, values)) is not None:
        return known
    scalars = [materialize(b, value) for value in values]
    type = element.crossing_type
    if len(scalars) == 1:
        return (
            b.cast("zext", b.bitcast(scalars[0], I16, type), I32)
            if element.bits == 16
            else b.bitcast(scalars[0], I32, type)
        )
    if element.bits == 16:
        return b.issue(PackOp, *(b.of(value, type) for value in scalars), type=I32)
    word: Value = 0
    for position, value in enumerate(scalars):
        wide = b.cast("zext", to_memory_type(b, element, value), I32, type)
        word = b.or_(word, b.shift(wide, element.bits * position))
    return word


def _words_of_bytes(b: InstructionBuilder, element: Element, values: Sequence[RegisterValue]) -> list[Value]:
    """The words of bytes that all are in words; none of others."""
    is_packed = element.bits == 8 and all(isinstance(value, PackedLane) for value in values)
    return pack_registers(b, element, values) if is_packed and len(values) % BYTES == 0 else []


def _bytes_of_words(b: InstructionBuilder, values: Sequence[RegisterValue]) -> Value | None:
    """A word of four bytes from two other words, by one permutation, or by three from more; None where bytes are in no word."""
    parts = [value for value in values if isinstance(value, PackedLane)]
    if len(values) != BYTES or len(parts) != BYTES:
        return None
    words = list(dict.fromkeys(part.word for part in parts))
    if len(words) <= 2:
        return _permuted(b, words[0], words[-1], [words.index(part.word) * BYTES + part.position for part in parts])
    (low, first), (high, second) = _pair_of_bytes(b, *parts[:2]), _pair_of_bytes(b, *parts[2:])
    return _permuted(b, low, high, [2 * first, 2 * first + 1, BYTES + 2 * second, BYTES + 2 * second + 1])


def _pair_of_bytes(b: InstructionBuilder, low: PackedLane, high: PackedLane) -> tuple[Value, int]:
    """A word with a half of two bytes, and the place of the half. The other half has the bytes beside them, as another word needs them where
    bytes of words are transposed.
    """
    start = low.position & 2
    if low.position != high.position:
        return _permuted(b, low.word, high.word, [low.position, BYTES + high.position, 0, 0]), 0
    return _permuted(b, low.word, high.word, [start, BYTES + start, start + 1, BYTES + start + 1]), low.position & 1


def _permuted(b: InstructionBuilder, first: RegisterValue, second: RegisterValue, bytes: Sequence[int]) -> Value:
    """Four of the eight bytes of two words."""
    selector = sum(place << 4 * position for position, place in enumerate(bytes))
    return b.issue(PrmtOp, materialize(b, first), materialize(b, second), selector, type=I32)
