"""Hazards of asynchronous copies: accesses of shared memory that a copy in flight has yet to write.

The writes of cp.async, bulk copies to shared memory and st.async become visible at their wait (PTX ISA 9.0, section
9.7.9.25.1, completion mechanisms). Before it, a read may return old or new bytes, and a write may be overwritten. The words
of a copy are marked from its issue until the emulator performs it, at its wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..memory.cta_memories import CtaMemories

WORD_BYTES = 4  # the smallest copy, in bytes
_KINDS = {4: np.uint8, 8: np.uint16, 16: np.uint32}  # size of an access in bytes -> type of the marks of its words
_SPLAT = {
    size: int(np.iinfo(kind).max) // 255 for size, kind in _KINDS.items()
}  # mark 1 on each word of such an access
_SHIFTS = {1: 2, 2: 1}  # element size -> log2(elements per word)
MAX_MARK = 255  # further instructions share the last mark


class AsyncCopyMarks:
    """The marks of one batch, one byte per word: 0, or the mark of the instruction whose copy to the word is in flight."""

    def __init__(self, memories: CtaMemories) -> None:
        self.memories = memories
        marks = np.zeros(len(memories.shared) // WORD_BYTES, np.uint8)
        self.marks = {size: marks.view(kind) for size, kind in _KINDS.items()}
        self.mark_ids: dict = {}
        self.instructions: list = []

    def mark_written(self, ins, index, size: int, per_cta: int = 0) -> None:
        """Mark elements ``index`` of ``size`` bytes (4, 8 or 16) of the batch's shared memory as being written.

        With ``per_cta``, ``index`` is into an array of shape (CTAs, ``per_cta``).
        """
        self.marks_of(size, per_cta)[index] = self.mark_value(ins, size)

    def clear(self, index, size: int, per_cta: int = 0) -> None:
        self.marks_of(size, per_cta)[index] = 0

    def marks_of(self, size: int, per_cta: int) -> np.ndarray:
        """The marks of elements, of shape (elements,) or (CTAs, ``per_cta``)."""
        marks = self.marks[size]
        return marks.reshape(-1, per_cta) if per_cta else marks

    def mark_value(self, ins, size: int) -> int:
        """The mark that ``ins`` sets on elements of ``size`` bytes."""
        return self.mark_id(ins) * _SPLAT[size]

    def mark_id(self, ins) -> int:
        found = self.mark_ids.get(id(ins))
        if found is None:
            self.instructions.append(ins)
            found = self.mark_ids[id(ins)] = min(len(self.instructions), MAX_MARK)
        return found

    def check(self, site, group, place, inside, writes: bool, selection) -> None:
        """Check an ordinary access of shared memory by the threads ``inside`` of the selection (None: all)."""
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
        """Check an MMA or a copy that reads 16-byte chunks of the batch's shared memory."""
        found = self.marks[16].take(index)
        if np.count_nonzero(found):
            at = int(index.reshape(-1)[int(np.argmax(found.reshape(-1) != 0))])
            site.fault(group, self.explain(found, False), address=at * 16 % self.memories.shared_size)

    def explain(self, found, writes: bool) -> str:
        mark = int(found.reshape(-1)[int(np.argmax(found.reshape(-1) != 0))] if np.ndim(found) else found)
        while not mark & 0xFF:
            mark >>= 8
        ins = self.instructions[(mark & 0xFF) - 1]
        did = "written" if writes else "read"
        return f"shared memory {did} before a wait for the copy to it at line {ins.line} ({ins.text})"
