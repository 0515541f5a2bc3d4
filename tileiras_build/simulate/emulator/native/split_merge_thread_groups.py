"""Copies many registers of splitting or merging groups in one call of native code, to avoid the overhead of NumPy calls.

It copies 32-bit registers with a value per thread; the caller copies the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .native_code import address, addresses, identities, is_ready, kernel

if TYPE_CHECKING:
    from ..codegen.function_cache import FunctionCache
    from ..simt.thread_group import ThreadGroup

MIN_REGISTERS = 6  # registers from which a call pays off
WORD_BYTES = 4


class RegisterBatch:
    """Registers ``slots`` of a program, prepared for ``addresses``."""

    def __init__(self, functions: FunctionCache, slots: Sequence[int]):
        self.slots = slots
        self.dtypes = [functions.word_registers.get(slot) for slot in slots]
        self.kinds = identities(self.dtypes)

    @classmethod
    def of(cls, functions: FunctionCache, slots: Sequence[int]) -> RegisterBatch:
        """The batch of these slots, cached."""
        key = tuple(slots)
        found = functions.register_batches.get(key)
        if found is None:
            found = functions.register_batches[key] = cls(functions, key)
        return found

    def at(self, values: Sequence[object], shape: tuple[int, int]) -> np.ndarray:
        """The addresses of per-thread values; 0 for the others."""
        out = np.empty(len(values), np.int64)
        addresses(tuple(values), self.kinds, shape, out)
        return out

    def views(self, whole: np.ndarray, chosen: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """(slot, value) of the chosen registers, whose bits are consecutive in ``whole``."""
        numbers = np.flatnonzero(chosen).tolist()
        return [(self.slots[i], bits.view(self.dtypes[i])) for i, bits in zip(numbers, whole)]


def is_movable(group: ThreadGroup) -> bool:
    """Whether the threads of a child are rows or adjacent columns of its parent."""
    select = group.select
    return select[0] == "rows" or (select[0] == "columns" and isinstance(select[1], slice))


def pick(group: ThreadGroup, slots: Sequence[int]) -> None:
    """Resolve registers of a child from its parent, as far as native code supports it."""
    if len(slots) < MIN_REGISTERS or not is_ready() or not is_movable(group):
        return
    parent, registers = group.parent, RegisterBatch.of(group.functions, slots)
    places = registers.at([parent.R[slot] for slot in slots], parent.shape)
    chosen = places != 0
    whole = np.empty((np.count_nonzero(chosen), *group.shape), np.uint32)
    if len(whole):
        ThreadSubset(group).move(places[chosen], whole, is_out=False)
    for slot, value in registers.views(whole, chosen):
        group.R[slot] = group.parent_values[slot] = value


def overlay(
    functions: FunctionCache,
    slots: Sequence[int],
    bases: Sequence[object] | None,
    children: Sequence[tuple[ThreadGroup, Sequence]],
):
    """(slot, value) of a parent's registers: values of ``children`` over those of ``bases`` (None if the children are complete)."""
    if len(slots) < MIN_REGISTERS or not is_ready() or not all(is_movable(group) for group, _ in children):
        return []
    shape, registers = children[0][0].parent.shape, RegisterBatch.of(functions, slots)
    places = [registers.at(values, group.shape) for group, values in children]
    if bases is not None:
        places.append(registers.at(bases, shape))
    chosen = np.logical_and.reduce([place != 0 for place in places])
    whole = np.empty((np.count_nonzero(chosen), *shape), np.uint32)
    if not len(whole):
        return []
    if bases is not None:
        zero, old, size = np.zeros(1, np.int64), places.pop()[chosen], whole[0].nbytes
        kernel("move_rows", 10)(
            address(old), address(whole), address(zero), address(zero), len(whole), size, 1, size, size, size
        )
    for (group, _), place in zip(children, places):
        ThreadSubset(group).move(place[chosen], whole, is_out=True)
    return registers.views(whole, chosen)


def assemble(
    functions: FunctionCache,
    slots: Sequence[int],
    groups: Sequence[ThreadGroup],
    positions: Sequence[np.ndarray],
    merged: ThreadGroup,
):
    """(slot, value) of the registers of a merged group; the threads of ``groups`` are at ``positions``."""
    if len(slots) < MIN_REGISTERS or not is_ready():
        return []
    registers = RegisterBatch.of(functions, slots)
    places = [registers.at([group.R[slot] for slot in slots], group.shape) for group in groups]
    chosen = np.logical_and.reduce([place != 0 for place in places])
    whole = np.empty((np.count_nonzero(chosen), *merged.shape), np.uint32)
    for place, position in zip(places, positions) if len(whole) else ():
        sources, where = place[chosen], np.ascontiguousarray(position, np.int64)
        kernel("spread_words", 6)(address(sources), address(whole), address(where), len(whole), merged.size, len(where))
    return registers.views(whole, chosen)


class ThreadSubset:
    """The positions of a child's threads in its parent: rows of ``bytes`` in memory."""

    def __init__(self, group: ThreadGroup):
        kind, which = group.select
        rows, columns = group.parent.shape
        self.outside = np.arange(rows) if kind == "columns" else np.ascontiguousarray(which, np.int64)
        self.inside = np.arange(len(self.outside))
        self.bytes, self.apart = WORD_BYTES * group.shape[1], WORD_BYTES * columns
        self.first = WORD_BYTES * which.start if kind == "columns" else 0

    def move(self, places: np.ndarray, whole: np.ndarray, *, is_out: bool) -> None:
        """Copy values of the parent to the child's in ``whole`` or, if ``is_out``, in the other direction."""
        rows, aparts = (self.outside, self.inside), (self.apart, self.bytes)
        if is_out:
            rows, aparts = rows[::-1], aparts[::-1]
        places = places if is_out else places + self.first
        kernel("move_rows", 10)(
            address(places), address(whole) + (self.first if is_out else 0), address(rows[0]), address(rows[1]),
            len(places), whole[0].nbytes, len(self.inside), *aparts, self.bytes,
        )  # fmt: skip
