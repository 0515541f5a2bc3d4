"""Elements that are loaded from global memory several to a word, and stay there until they are used, or stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Block, SSAValue

from ....dialects.definition import TableOperation
from ....dialects.nv_tileas.ops import StoreScalesOp
from ...shared.element_types import ELEMENTS, Element
from ..emission.kernel_emitter import KernelEmitter, LateValue, Packed, Part
from ..emission.thread_code import Value
from .vector_access import Modifiers, load_vector

WORD, BYTES = ELEMENTS["i32"], 4
HALF_BITS = 16
RENAMING = ("nv_tileas.permute", "nv_tileas.view")


def is_kept_in_words(op: TableOperation, element: Element, vector: int) -> bool:
    """Whether ``vector`` elements at a time stay in words: bytes that are scales, and halves of which two ways meet."""
    if "whole" in op.attributes and element.bits == HALF_BITS:
        return vector * HALF_BITS % WORD.bits == 0
    return _is_stored_in_words(op, vector)


def _is_stored_in_words(op: TableOperation, vector: int) -> bool:
    """Whether ``vector`` elements at a time are loaded only to become scales in the order of tensor memory."""
    uses = list(op.value.uses)
    while len(uses) == 1 and uses[0].operation.name in RENAMING:
        uses = list(uses[0].operation.results[0].uses)
    return vector % BYTES == 0 and [use.operation.name for use in uses] == [StoreScalesOp.name]


def load_words(
    e: KernelEmitter,
    element: Element,
    count: int,
    address: Value,
    offset: int,
    mask: Value | None,
    fill: int,
    modifiers: Modifiers,
) -> list[Part]:
    """The elements of one access, each as the part of a word that it is; ``fill``: of a whole word."""
    per_word = WORD.bits // element.bits
    words = load_vector(e, WORD, count // per_word, address, offset, mask, fill, modifiers)
    return [Part(e.b.of(word, WORD.type), position, element) for word in words for position in range(per_word)]


def joined(e: KernelEmitter, element: Element, ways: Sequence[tuple[Sequence[Packed], Block]]) -> list[Packed]:
    """The registers of a tile that has been loaded in one of several ways, in words if all of them are."""
    if not all(isinstance(value, Part) for values, _ in ways for value in values):
        return [*e.b.phis([element.type] * len(ways[0][0]), ways)]
    words = e.b.phis([WORD.type] * len(_words(ways[0][0])), [(_words(values), block) for values, block in ways])
    places = {word: number for number, word in enumerate(_words(ways[0][0]))}
    return [replace(part, word=words[places[part.word]]) for part in ways[0][0]]


def _words(parts: Sequence[Part]) -> list[SSAValue | LateValue]:
    return [*dict.fromkeys(part.word for part in parts)]
