"""Tiles of which a thread keeps a part in shared memory while it waits for others.

Four elements are one store and one load of 16 bytes; those of neighboring threads lie beside each other, so that no banks
conflict. Nobody else reads them: no barrier is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ....ir.casting import maker, number_of
from ....ir.dialects.op_definition import TableOperation
from ...analysis.scratch_memory_sizes import PARKED_BYTES, PARKED_WORDS, parked_bytes
from ...common.llvm_element_types import Element
from ..emission.function_builder import Value
from ..emission.kernel_emitter import (
    Handler,
    KernelEmitter,
    Late,
    LateInBlock,
    LateValue,
    Packed,
    layout_of,
    parked_together,
    taken,
)
from ..memory.shared_memory import load_shared, store_shared


def emit_park(e: KernelEmitter, op: TableOperation) -> None:
    """Each of its first elements is stored as soon as it is computed; the tile's registers stay what they are."""
    found, element = list(e.packed(op.value)), e.element(op.value)
    for number, group in enumerate(_groups(op)):
        values = [found[register] for register in group]
        _put(found, group, Late(partial(_store, e, element, op, number, values)))
    e.values[op.result] = _repeated(found, op)


def _store(
    e: KernelEmitter, element: Element, op: TableOperation, number: int, values: Sequence[Packed]
) -> list[Value]:
    computed = [taken(e.b, value) for value in values]
    store_shared(e, element, computed, *_place(e, op, number), None)
    return computed


def emit_take_back(e: KernelEmitter, op: TableOperation) -> None:
    """Each element where it is used, from shared memory if it is there."""
    parked, element = maker(op.parked), e.element(op.result)
    found: list[Packed] = [*e.registers(op.parked)]
    for number, group in enumerate(_groups(parked)):
        _put(found, group, LateInBlock(partial(_load, e, element, parked, number)))
    e.values[op.result] = _repeated(found, op)


def _put(found: list[Packed], group: Sequence[int], source: Late) -> None:
    for position, register in enumerate(group):
        found[register] = LateValue(source, position)


def _repeated(found: list[Packed], op: TableOperation) -> list[Packed]:
    """Registers that only repeat others are these."""
    free = layout_of(op.result).free_bits("register")
    return [found[register & ~free] for register in range(len(found))]


def _load(e: KernelEmitter, element: Element, parked: TableOperation, number: int) -> list[Value]:
    return load_shared(e, element, PARKED_WORDS, *_place(e, parked, number))


def _groups(op: TableOperation) -> list[Sequence[int]]:
    """The registers that are parked, so many as one instruction stores; none of them twice.

    The last ones: those that wait in registers are used first, and leave theirs to what comes back.
    """
    _, distinct, _ = layout_of(op.value).distinct_registers()
    return parked_together(distinct[-op.words :])


def _place(e: KernelEmitter, op: TableOperation, number: int) -> tuple[Value, int]:
    """The thread's address, and what to add to it for a group of registers."""
    with e.b.in_prologue():
        base = e.b.add(e.b.mul(e.thread, PARKED_BYTES), e.shared_base)
    while op.instead is not None:
        op = maker(op.instead)
    return base, number_of(op, "shared_offset") + parked_bytes(number * PARKED_WORDS, e.num_warps)


HANDLERS: dict[str, Handler] = {"nv_tileas.park": emit_park, "nv_tileas.take_back": emit_take_back}
