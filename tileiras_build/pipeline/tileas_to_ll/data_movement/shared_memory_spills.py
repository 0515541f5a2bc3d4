"""Tiles that are partly spilled to shared memory while other tiles are live.

One 16-byte access stores or loads four elements. The slots of neighboring threads are adjacent, so there are no bank
conflicts. Each thread accesses only its own slots, so no barrier is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ....ir.casting import defining_table_op, int_attr
from ....ir.dialects.cute import layout_of
from ....ir.dialects.op_definition import TableOp
from ...analysis.scratch_memory_sizes import SPILL_VECTOR_REGS, SPILLED_ELEMENT_BYTES, spill_bytes
from ...common.llvm_element_types import Element, element_of
from ..emission.function_builder import Value
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.register_values import (
    LazyElement,
    LazyValues,
    RegisterValue,
    RematerializedValues,
    materialize,
    spill_vectors,
)
from ..memory.shared_memory import load_shared, store_shared


def emit_spill(e: KernelEmitter, op: TableOp) -> None:
    """Store each spilled element as soon as it is computed; the registers of the tile do not change."""
    found, element = list(e.values.packed(op.value)), element_of(op.value.type)
    for number, group in enumerate(_groups(op)):
        values = [found[register] for register in group]
        _assign_groups(found, group, LazyValues(partial(_store, e, element, op, number, values)))
    e.values[op.result] = _reused_slots(found, op)


def _store(
    e: KernelEmitter, element: Element, op: TableOp, number: int, values: Sequence[RegisterValue]
) -> list[Value]:
    computed = [materialize(e.b, value) for value in values]
    store_shared(e.b, element, computed, *_spill_address(e, op, number), None)
    return computed


def emit_reload(e: KernelEmitter, op: TableOp) -> None:
    """Each element is loaded at its use, if it was spilled."""
    spilled, element = defining_table_op(op.spilled), element_of(op.result.type)
    found: list[RegisterValue] = [*e.values.registers(op.spilled)]
    for number, group in enumerate(_groups(spilled)):
        _assign_groups(found, group, RematerializedValues(partial(_load, e, element, spilled, number)))
    e.values[op.result] = _reused_slots(found, op)


def _assign_groups(found: list[RegisterValue], group: Sequence[int], source: LazyValues) -> None:
    for position, register in enumerate(group):
        found[register] = LazyElement(source, position)


def _reused_slots(found: list[RegisterValue], op: TableOp) -> list[RegisterValue]:
    """Map registers that duplicate others to the same value."""
    free = layout_of(op.result).free_bits("register")
    return [found[register & ~free] for register in range(len(found))]


def _load(e: KernelEmitter, element: Element, spilled: TableOp, number: int) -> list[Value]:
    return load_shared(e.b, element, SPILL_VECTOR_REGS, *_spill_address(e, spilled, number))


def _groups(op: TableOp) -> list[Sequence[int]]:
    """The spilled registers by the instruction that stores them; duplicates are stored once.

    The last registers are spilled: the others are used first, and their registers are then free for the reloads.
    """
    _, distinct, _ = layout_of(op.value).distinct_registers()
    return spill_vectors(distinct[-op.regs :])


def _spill_address(e: KernelEmitter, op: TableOp, number: int) -> tuple[Value, int]:
    """The thread's base address, and the offset of a group of registers."""
    with e.b.at_function_start():
        base = e.b.add(e.b.mul(e.threads.thread, SPILLED_ELEMENT_BYTES), e.memory.shared_base)
    while op.overwrites is not None:
        op = defining_table_op(op.overwrites)
    return base, int_attr(op, "shared_offset") + spill_bytes(number * SPILL_VECTOR_REGS, e.num_warps)


HANDLERS: dict[str, Handler] = {"nv_tileas.spill": emit_spill, "nv_tileas.reload": emit_reload}
