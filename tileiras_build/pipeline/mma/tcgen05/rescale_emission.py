"""Rescale accumulators in place in tensor memory, between the MMAs that add to them (flash attention)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.ir import Operation, SSAValue

from ....ir.casting import as_op, unwrap
from ....ir.dialects.cute_nvgpu.ops import LoadTensorMemoryOp, StoreTensorMemoryOp
from ....ir.dialects.nv_tileas.ops import TmemScaleOp, TmemStoreOp
from ....ir.dialects.nvvm import tcgen05 as instructions
from ....ir.dialects.nvvm.target_independent_intrinsics import TrapOp
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import TmemTile, tmem_tile
from ....target.mma_atoms import ELEMENT_BITS
from ...common.llvm_type_constructors import FLOAT, I32
from ...tileas_to_ll.arith.f32_pairs import PAIR, has_pairs, in_pairs
from ...tileas_to_ll.emission.function_builder import Value
from ...tileas_to_ll.emission.kernel_emitter import KernelEmitter
from ...tileas_to_ll.emission.register_values import PackedLane, RegisterValue, materialize
from .tmem_access import form_of, pointer_to, registers_type, scalars_of, vector_of, warp_address
from .tmem_allocation import allocation_of

# Registers of a thread per chunk, two chunks in flight: the thread also has a row of scores live, and would spill with twice as many,
# which takes 2 to 3 % less time where it does not.
REGISTERS_PER_STEP = 8


def emit_tmem_scale(e: KernelEmitter, op: TableOp) -> None:
    """Each warp loads its part of the tile, multiplies it and stores it back, in one basic block with the exponentials of the first chunk
    that it stores next: the special function unit bounds those.
    """
    shape = op.factor.type.get_shape()
    tile = unwrap(tmem_tile(*shape, ELEMENT_BITS["f32"], e.num_warps))
    factors = [e.b.of(value, FLOAT) for value in e.values.registers_as(op.factor, tile.layout)]
    start = e.b.add(allocation_of(e).base, e.values.scalar(op.tile))
    begin_chunk(e, 0)
    others = _first_chunk(e, as_op(unwrap(op.next_op))) if is_behind_rescale(op.next_op) else ()
    _scale(e, tile, start, factors, others)


def is_behind_rescale(store: Operation | None) -> bool:
    """Whether an operation stores the first chunk of a tile, in a basic block with a rescaled accumulator."""
    return isinstance(store, TmemStoreOp) and as_op(store).chunk == 0 and isinstance(store.prev_op, TmemScaleOp)


def _first_chunk(e: KernelEmitter, store: TableOp) -> list[RegisterValue]:
    """What each thread stores first, in words where it is packed."""
    registers = e.values.packed(store.value)
    count = len(registers) // store.filled.type.stages.data
    return [value.word if isinstance(value, PackedLane) else value for value in registers[:count]]


def begin_chunk(e: KernelEmitter, chunk: int) -> None:
    """Start a basic block for a chunk: ptxas would interleave the computation of chunks within one block.

    The block follows a branch that is never taken, as no tensor memory address is so large. ptxas merges equal
    branches, so each tests another address.
    """
    with e.b.if_then(e.b.compare("eq", allocation_of(e).base, -1 - chunk)):
        e.b.issue(TrapOp)


def _scale(
    e: KernelEmitter, tile: TmemTile, start: Value, factors: list[SSAValue], others: Sequence[RegisterValue] = ()
) -> None:
    """Rescale chunk by chunk: one is loaded while the previous one is multiplied, and an equal part of ``others`` is computed."""
    e.b.issue(instructions.FenceAfterOp)
    held: tuple[SSAValue, SSAValue] | None = None
    pieces = list(tile.pieces(REGISTERS_PER_STEP))
    for number, (own, first, repetitions) in enumerate(pieces):
        address = pointer_to(e.b, warp_address(e.threads, tile, start, own, first))
        form, type = form_of(tile.shape.name, repetitions), registers_type(repetitions * tile.shape.registers)
        loaded = e.b.issue(LoadTensorMemoryOp, address, type=type, **form)
        if held is not None:
            factors = _store_scaled(e, *held, factors, form)
        for value in others[len(others) * number // len(pieces) : len(others) * (number + 1) // len(pieces)]:
            materialize(e.b, value)
        e.b.issue(instructions.WaitLoadOp)
        held = address, loaded
    _store_scaled(e, *unwrap(held), factors, form)
    e.b.issue(instructions.WaitStoreOp)
    e.b.issue(instructions.FenceBeforeOp)


def _store_scaled(
    e: KernelEmitter, address: SSAValue, loaded: SSAValue, factors: list[SSAValue], form: dict[str, bool | int | str]
) -> list[SSAValue]:
    """Multiply the loaded chunk by the first factors, and store it; returns the remaining factors."""
    values = scalars_of(e.b, FLOAT, loaded)
    used, left = factors[: len(values)], factors[len(values) :]
    words = [e.b.bitcast(value, I32) for value in _multiplied(e, values, used)]
    e.b.issue(StoreTensorMemoryOp, address, vector_of(e.b, words), type=None, **form)
    return left


def _multiplied(e: KernelEmitter, values: list[Value], factors: list[SSAValue]) -> list[Value]:
    """Multiply elementwise, packed where the target has it: each lane is rounded separately."""
    calls = list(zip(values, factors, strict=True))
    one = partial(e.b.binary, "fmul", type=FLOAT)
    if not has_pairs(e.target, FLOAT):
        return [one(*call) for call in calls]
    return in_pairs(e.b, calls, partial(e.b.binary, "fmul", type=PAIR), one)
