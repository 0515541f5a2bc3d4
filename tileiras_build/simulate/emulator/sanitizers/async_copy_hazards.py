"""Words of shared memory that asynchronous copies have yet to write: touching one before the copy was waited for is a fault.

cp.async, bulk copies to shared memory and st.async promise their bytes to nobody before their wait (PTX ISA 9.0, section
9.7.9.25.1, completion mechanisms): a read finds the old ones or the new ones, a write may be overwritten or not. A copy's
words are marked from its issue until it lands, which in the emulator is when it is waited for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..memory.cta_memories import CtaMemories

WORD_BYTES = 4  # the least that a copy writes, in bytes
_KINDS = {4: np.uint8, 8: np.uint16, 16: np.uint32}  # marks of what an access of so many bytes touches
_SPLAT = {size: int(np.iinfo(kind).max) // 255 for size, kind in _KINDS.items()}  # a mark of 1 on each word of them
_SHIFTS = {1: 2, 2: 1}  # from the index of a smaller element to that of its word
MAX_MARK = 255  # instructions with a mark of their own; more share the last one


class AsyncCopyMarks:
    """The marks of one batch, a byte per word: 0, or the number of the instruction whose copy is in flight to it."""

    def __init__(self, memories: CtaMemories) -> None:
        self.memories = memories
        marks = np.zeros(len(memories.shared) // WORD_BYTES, np.uint8)
        self.marks = {size: marks.view(kind) for size, kind in _KINDS.items()}
        self.numbers: dict = {}
        self.instructions: list = []

    def mark_written(self, ins, index, size: int, per_cta: int = 0) -> None:
        """Elements ``index`` of ``size`` bytes (4, 8 or 16) of the batch's shared memory are on their way; with ``per_cta``
        they are those of arrays (CTAs, ``per_cta``)."""
        self.marks_of(size, per_cta)[index] = self.mark_value(ins, size)

    def clear(self, index, size: int, per_cta: int = 0) -> None:
        self.marks_of(size, per_cta)[index] = 0

    def marks_of(self, size: int, per_cta: int) -> np.ndarray:
        """The marks of elements, or of those of each CTA."""
        marks = self.marks[size]
        return marks.reshape(-1, per_cta) if per_cta else marks

    def mark_value(self, ins, size: int) -> int:
        """The mark of elements of ``size`` bytes."""
        return self.number(ins) * _SPLAT[size]

    def number(self, ins) -> int:
        found = self.numbers.get(id(ins))
        if found is None:
            self.instructions.append(ins)
            found = self.numbers[id(ins)] = min(len(self.instructions), MAX_MARK)
        return found

    def check(self, site, group, place, inside, writes: bool, selection) -> None:
        """An ordinary access of a place in shared memory, by the threads ``inside`` of those selected (None: all)."""
        size = site.bytes
        if size in _SHIFTS:
            found = self.marks[WORD_BYTES].take(place.index(size) >> _SHIFTS[size])
        else:
            found = self.marks[min(size, 16)].take(place.index(min(size, 16)))
            if size > 16:
                found = found | self.marks[16].take(place.index(16) + 1)
        if np.count_nonzero(found):
            self.fault(site, group, place, found, inside, writes, selection)

    def fault(self, site, group, place, found, inside, writes: bool, selection):
        why = self.explain(found, writes)
        if inside is not None:
            site.fault(group, why)
        shape = group.shape if selection is None else len(selection.rows)
        site.raise_first_fault(group, np.broadcast_to(found != 0, shape), why, place.offset, selection)

    def check_chunks(self, site, group, index) -> None:
        """An MMA or a copy reads 16-byte chunks of the batch's shared memory."""
        found = self.marks[16].take(index)
        if np.count_nonzero(found):
            at = int(index.reshape(-1)[int(np.argmax(found.reshape(-1) != 0))])
            site.fault(group, self.explain(found, False), address=at * 16 % self.memories.shared_size)

    def explain(self, found, writes: bool) -> str:
        number = int(found.reshape(-1)[int(np.argmax(found.reshape(-1) != 0))] if np.ndim(found) else found)
        while not number & 0xFF:
            number >>= 8
        ins = self.instructions[(number & 0xFF) - 1]
        did = "written" if writes else "read"
        return f"shared memory {did} before the copy to it at line {ins.line} ({ins.text}) has been waited for"
