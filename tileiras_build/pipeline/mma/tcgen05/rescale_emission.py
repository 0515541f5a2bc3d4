"""Rescale accumulators in place in tensor memory, between the MMAs that add to them (flash attention)."""

from __future__ import annotations

from functools import partial

from xdsl.ir import SSAValue

from ....ir.casting import unwrap
from ....ir.dialects.cute_nvgpu.ops import LoadTensorMemoryOp, StoreTensorMemoryOp
from ....ir.dialects.nvvm import tcgen05 as instructions
from ....ir.dialects.nvvm.warp_sync import VoteAllOp
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import TmemTile, tmem_tile
from ....target.mma_atoms import ELEMENT_BITS
from ...common.llvm_type_constructors import FLOAT, I1, I32
from ...tileas_to_ll.arith.f32_pairs import PAIR, has_pairs, in_pairs
from ...tileas_to_ll.emission.function_builder import Value
from ...tileas_to_ll.emission.kernel_emitter import KernelEmitter
from .tmem_access import form_of, pointer_to, registers_type, scalars_of, vector_of, warp_address
from .tmem_allocation import allocation_of

# Registers of a thread per chunk, two chunks in flight: the thread also has a row of scores live, and would spill with
# twice as many.
REGISTERS_PER_STEP = 16


def emit_tmem_scale(e: KernelEmitter, op: TableOp) -> None:
    """Each warp loads its part of the tile, multiplies it and stores it back, unless all factors are 1."""
    shape = op.factor.type.get_shape()
    tile = unwrap(tmem_tile(*shape, ELEMENT_BITS["f32"], e.num_warps))
    factors = [e.b.of(value, FLOAT) for value in e.values.registers_as(op.factor, tile.layout)]
    one = e.b.float_constant(1, FLOAT)
    first, *others = [e.b.compare_floats("oeq", value, one) for value in dict.fromkeys(factors)]
    unchanged = e.b.issue(VoteAllOp, -1, e.b.of(e.b.all_lanes(first, *others), I1), type=I1)
    changes = e.b.xor(unchanged, 1, I1)
    with e.b.if_then(e.b.all_lanes(changes, None if op.enabled is None else e.values.scalar(op.enabled))):
        _scale(e, tile, e.b.add(allocation_of(e).base, e.values.scalar(op.tile)), factors)


def _scale(e: KernelEmitter, tile: TmemTile, start: Value, factors: list[SSAValue]) -> None:
    """Rescale chunk by chunk: one is loaded while the previous one is multiplied."""
    e.b.issue(instructions.FenceAfterOp)
    held: tuple[SSAValue, SSAValue] | None = None
    for own, first, repetitions in tile.pieces(REGISTERS_PER_STEP):
        address = pointer_to(e.b, warp_address(e.threads, tile, start, own, first))
        form, type = form_of(tile.shape.name, repetitions), registers_type(repetitions * tile.shape.registers)
        loaded = e.b.issue(LoadTensorMemoryOp, address, type=type, **form)
        if held is not None:
            factors = _store_scaled(e, *held, factors, form)
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
