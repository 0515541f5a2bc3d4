"""Bytes that are loaded from global memory four to a word, and stay there until they are stored."""

from __future__ import annotations

from ....dialects.definition import TableOperation
from ....dialects.nv_tileas.ops import StoreScalesOp
from ...shared.element_types import ELEMENTS, Element
from ..emission.kernel_emitter import KernelEmitter, Part
from ..emission.thread_code import Value
from .vector_access import Modifiers, load_vector

WORD, BYTES = ELEMENTS["i32"], 4
RENAMING = ("nv_tileas.permute", "nv_tileas.view")


def is_stored_in_words(op: TableOperation, vector: int) -> bool:
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
    """The bytes of one access, each as the part of a word that it is; ``fill``: of a whole word."""
    words = load_vector(e, WORD, count // BYTES, address, offset, mask, fill, modifiers)
    return [Part(e.b.of(word, WORD.type), position, element) for word in words for position in range(BYTES)]
