"""Elements that are loaded several per 32-bit word, and stay packed until they are used or stored.

Bytes that are only copied are stored as the words that were loaded: extracting and packing them takes four instructions each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Block, SSAValue

from ....ir.dialects.nv_tileas.ops import StoreScalesOp
from ....ir.dialects.op_definition import TableOp
from ...common.llvm_element_types import ELEMENTS, Element
from ...common.llvm_type_constructors import I1, I32
from ...common.llvm_type_constructors import vector as vector_of
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.register_values import PackedLane, RegisterValue, materialize
from .vector_access import Modifiers, load_vector

REGISTER_TYPE, BYTES = ELEMENTS["i32"], 4
BYTE_BITS, HALF_BITS = 8, 16
LOW_BITS, ONES = 0x7F7F7F7F, 0x01010101  # of each byte of a word: its seven low bits, and the number 1
TILED_STORE = "nv_tileas.tiled_store"
TWO_VERSIONS = frozenset({"full_tile_version", "has_boundary_tile"})  # attributes of such loads
VIEW_LIKE_OPS = ("nv_tileas.permute", "nv_tileas.view")


def stays_packed(op: TableOp, element: Element, vector: int) -> bool:
    """Whether ``vector`` elements stay packed: bytes that are scales or copied, and halves that two versions of a load define, which would
    take a register each where these join.
    """
    if element.bits == HALF_BITS and not TWO_VERSIONS.isdisjoint(op.attributes):
        return vector * HALF_BITS % REGISTER_TYPE.bits == 0
    return element.bits == BYTE_BITS and vector % BYTES == 0 and (_is_copied(op) or _is_stored_packed(op))


def _is_copied(op: TableOp) -> bool:
    """Whether the elements are loaded only to be stored, by vectors also at the end of the array."""
    uses = [use.operation for use in op.value.uses]
    return bool(uses) and "has_boundary_tile" not in op.attributes and all(use.name == TILED_STORE for use in uses)


def _is_stored_packed(op: TableOp) -> bool:
    """Whether the elements are loaded only to be stored as scales in tensor memory order."""
    uses = list(op.value.uses)
    while len(uses) == 1 and uses[0].operation.name in VIEW_LIKE_OPS:
        uses = list(uses[0].operation.results[0].uses)
    return [use.operation.name for use in uses] == [StoreScalesOp.name]


def load_packed_registers(
    b: InstructionBuilder,
    element: Element,
    count: int,
    address: Value,
    offset: int,
    mask: Value | None,
    fill: int,
    modifiers: Modifiers,
) -> list[PackedLane]:
    """The elements of one load as lanes of 32-bit words; ``fill`` is a whole word."""
    per_word = REGISTER_TYPE.bits // element.bits
    words = load_vector(b, REGISTER_TYPE, count // per_word, address, offset, mask, fill, modifiers)
    return [
        PackedLane(b.of(word, REGISTER_TYPE.type), position, element) for word in words for position in range(per_word)
    ]


def whole_words(b: InstructionBuilder, values: Sequence[RegisterValue]) -> list[SSAValue]:
    """The words of which the values are all lanes, in order, as memory has them; none for other values."""
    lanes = [value for value in values if isinstance(value, PackedLane)]
    per_word = REGISTER_TYPE.bits // lanes[0].element.bits if lanes else 1
    words = lanes[::per_word]
    if (
        not lanes
        or lanes != [replace(word, position=at) for word in words for at in range(per_word)]
        or len(lanes) < len(values)
    ):
        return []
    found = [b.of(materialize(b, lane.word), I32) for lane in words]
    return [_as_zeros_and_ones(b, word) for word in found] if words[0].element.type == I1 else found


def _as_zeros_and_ones(b: InstructionBuilder, word: SSAValue) -> SSAValue:
    """1 in each byte that is not 0: the carry out of its low bits, or its high bit."""
    carries = b.binary("add", b.binary("and", word, LOW_BITS), LOW_BITS)
    return b.binary("and", b.binary("lshr", b.binary("or", carries, word), 7), ONES)


def merged(
    b: InstructionBuilder, element: Element, branches: Sequence[tuple[Sequence[RegisterValue], Block]]
) -> list[RegisterValue]:
    """The registers of a tile that several versions of a load define: packed if the first version has them packed."""
    first = [value for value in branches[0][0] if isinstance(value, PackedLane)]
    if not first:
        values = [([materialize(b, value) for value in way], block) for way, block in branches]
        return [*b.phis([element.type] * len(branches[0][0]), values)]
    edges = [(_as_registers(b, way), block) for way, block in branches]
    found = b.phis([REGISTER_TYPE.type] * len(edges[0][0]), edges)
    joint = dict(zip(edges[0][0], found, strict=True))
    return [replace(part, word=b.of(joint[materialize(b, part.word)], REGISTER_TYPE.type)) for part in first]


def joined_later(
    b: InstructionBuilder, op: TableOp, element: Element, vector: int, values: Sequence[RegisterValue]
) -> list[RegisterValue]:
    """The elements that one version of a load defines, of ``vector`` in an access of the other: as lanes of 32-bit words where they stay
    packed; each run of elements that occurs several times is one word.
    """
    is_packed = any(isinstance(value, PackedLane) for value in values)
    if is_packed or "lazy" in op.attributes or not stays_packed(op, element, vector):
        return [*values]
    per_word = REGISTER_TYPE.bits // element.bits
    words: dict[tuple[RegisterValue, ...], SSAValue] = {}
    lanes: list[RegisterValue] = []
    for first in range(0, len(values), per_word):
        if (part := tuple(values[first : first + per_word])) not in words:
            words[part] = _joined(b, element, part)
        lanes += [PackedLane(words[part], position, element) for position in range(per_word)]
    return lanes


def _joined(b: InstructionBuilder, element: Element, values: Sequence[RegisterValue]) -> SSAValue:
    vector = b.vector([materialize(b, value) for value in values], vector_of(len(values), element.crossing_type))
    return b.cast("bitcast", vector, REGISTER_TYPE.type)


def _as_registers(b: InstructionBuilder, parts: Sequence[RegisterValue]) -> list[Value]:
    """The distinct words of the lanes."""
    return [*dict.fromkeys(materialize(b, part.word) for part in parts if isinstance(part, PackedLane))]
