"""Reductions: within a thread, then across lanes by shuffles, then across warps through shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from ....core.errors import InternalError
from ....ir.casting import cast, int_attr
from ....ir.dialects.cute import layout_of
from ....ir.dialects.gpu_ext import ShuffleMode
from ....ir.dialects.gpu_reductions import ReduceKind
from ....ir.dialects.nvvm.cluster_sync_and_fences import HereOp
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import LinearLayout
from ....ir.layouts.f2_linear_algebra import bits as bit_positions
from ....target.targets import Target
from ...analysis.foldable_f16_extensions import MIN_MAX_REDUCTIONS, unextended_reduction_source
from ...common.llvm_element_types import Element, element_of
from ...common.llvm_type_constructors import FLOAT, I32
from ..emission.function_builder import Value
from ..emission.instruction_builder import WARP, InstructionBuilder
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.register_values import materialize
from ..emission.value_map import ValueMap
from .lane_shuffle import shuffle
from .packed_min_max import combine_pairs
from .reduce_across_warps import reduce_across_warps
from .scatter_across_lanes import Combine, LaneScatter, Tuple

# Registers whose indices differ in these low bits are combined last.
NEIGHBORS = 2
# Independent min or max chains per thread: the issue of the others hides the latency of one instruction.
CHAINS = 4


def combiner(e: KernelEmitter, op: TableOp) -> Combine:
    """The region of a reduction or a scan as a function of groups of elements, one scalar per operand each; earlier elements come first.

    The public text of ``scan`` calls the first argument the current element, but its example names it ``acc``, and
    NVIDIA's compiler returns the input unchanged for a region that yields its second argument.
    """
    block = op.regions[0].blocks[0]

    def combine(first: Sequence[Tuple], second: Sequence[Tuple]) -> list[Tuple]:
        for index, argument in enumerate(block.args):
            e.values[argument] = [values[index // 2] for values in (second if index % 2 else first)]
        for inner in block.ops:
            if inner.name.endswith(".yield"):
                columns = [e.values.registers(value) for value in inner.operands]
                return list(zip(*(column * (len(first) // len(column)) for column in columns)))
            e.emit(inner)
        raise InternalError("region-yield", "the region of a reduction ends without a yield")

    return combine


# ---- reduce --------------------------------------------------------------------------------------
def emit_reduce(e: KernelEmitter, op: TableOp) -> None:
    axis = int_attr(op, "axis")
    layout = layout_of(op.sources[0])
    elements = [element_of(source.type) for source in op.sources]
    combine, along = combiner(e, op), layout.bits_along(axis)
    held = _combine_in_thread(e, op, layout, along["register"], combine)
    results = list(held)
    scatter = _scatter(e, op, layout, axis, results, elements)
    held = scatter.combine(e, held, elements, combine)
    remaining = along["lane"] & ~scatter.lanes
    held = dict(zip(held, _across_lanes(e, op, list(held.values()), remaining, elements, combine)))
    if along["warp"]:
        held = reduce_across_warps(e, op, held, results, scatter, layout, axis, elements, combine)
    if e.tmem is not None and not along["lane"] and not along["warp"]:
        # A reduction that LLVM sinks to its use would keep its elements in registers during the wait for MMAs.
        held = {r: tuple(_in_this_thread(e.b, value) for value in values) for r, values in held.items()}
    _set_results(e.values, op, held, layout, axis)


def _scatter(
    e: KernelEmitter, op: TableOp, layout: LinearLayout, axis: int, results: list[int], elements: list[Element]
) -> LaneScatter:
    """The steps across lanes that leave each lane a part of the results."""
    along = layout.bits_along(axis)
    in_one_instruction = along["lane"] == WARP - 1 and _kind_of_warp(e.target, op, elements) is not None
    if not along["warp"] or in_one_instruction:
        return LaneScatter()
    return LaneScatter.of(op, layout, axis, results)


def _combine_in_thread(
    e: KernelEmitter, op: TableOp, layout: LinearLayout, mask: int, combine: Combine
) -> dict[int, Tuple]:
    """Combine each thread's elements; returns the remaining registers."""
    if (source := unextended_reduction_source(op)) is None:
        if e.is_spilling:
            return _sequentially(e.values, op.sources, layout, mask, combine)
        within = _in_chains if _has_three_input_form(e.target, op) else _within_thread
        return within(distinct_tuples(e.values, op.sources, layout), mask, combine)
    narrow = {register: value for register, (value,) in distinct_tuples(e.values, [source], layout).items()}
    held, mask = combine_pairs(e.b, op, narrow, mask)
    return _within_thread({register: (value,) for register, value in held.items()}, mask, combine)


def _in_this_thread(b: InstructionBuilder, value: Value) -> Value:
    return value if isinstance(value, int) else b.issue(HereOp, value, type=value.type)


def distinct_tuples(values: ValueMap, sources: Sequence[SSAValue], layout: LinearLayout) -> dict[int, Tuple]:
    """Register -> one scalar per operand, without registers that duplicate others."""
    columns = [values.registers(source) for source in sources]
    _, distinct, _ = layout.distinct_registers()
    return {r: tuple(column[r] for column in columns) for r in distinct}


def _within_thread(held: dict[int, Tuple], mask: int, combine: Combine) -> dict[int, Tuple]:
    """Combine registers that differ in the bits of ``mask``: halves, from the highest bit down."""
    for position in reversed(bit_positions(mask)):
        bit = 1 << position
        if not any(register & bit for register in held):
            continue
        lower = [register for register in held if not register & bit]
        held = dict(zip(lower, combine([held[r | bit] for r in lower], [held[r] for r in lower])))
    return held


def _has_three_input_form(target: Target, op: TableOp) -> bool:
    """Whether one instruction computes the min or max of three values, and the order does not matter."""
    body = list(op.regions[0].blocks[0].ops)
    combination = cast(Operation, body[0])
    single = len(op.sources) == 1 and len(body) == 2 and element_of(op.sources[0].type).type == FLOAT
    whole = set(combination.operands) == set(op.regions[0].blocks[0].args)
    return single and whole and combination.name in MIN_MAX_REDUCTIONS and target.has("max3")


def _in_chains(held: dict[int, Tuple], mask: int, combine: Combine) -> dict[int, Tuple]:
    """``_within_thread`` as chains, where order does not matter: LLVM fuses two in a row to one instruction."""
    groups: dict[int, list[Tuple]] = {}
    for register, values in held.items():
        groups.setdefault(register & ~mask, []).append(values)
    rows: list[Sequence[Tuple]] = list(zip(*groups.values(), strict=True))
    found = rows[:CHAINS]
    for start in range(CHAINS, len(rows), CHAINS):
        found = [combine(row, before) for row, before in zip(rows[start:], found)]
    last, *others = found
    for row in others:
        last = combine(row, last)
    return dict(zip(groups, last))


def _sequentially(
    values: ValueMap, sources: Sequence[SSAValue], layout: LinearLayout, mask: int, combine: Combine
) -> dict[int, Tuple]:
    """``_within_thread`` with the same order of combinations, one group of neighbors after the other.

    Lazy values of one group are computed at a time, so that they need not be in registers all at once.
    """
    columns = [values.packed(source) for source in sources]
    _, distinct, _ = layout.distinct_registers()

    def combined(registers: list[int], positions: list[int]) -> dict[int, Tuple]:
        if not positions:
            return {r: tuple(materialize(values.b, column[r]) for column in columns) for r in registers}
        bit, *others = positions
        low = combined([r for r in registers if not r >> bit & 1], others)
        high = combined([r for r in registers if r >> bit & 1], others)
        return dict(zip(low, combine([high[r | 1 << bit] for r in low], list(low.values()))))

    far = [bit for bit in bit_positions(mask & ~layout.free_bits("register")) if bit >= NEIGHBORS]
    return _within_thread(combined(list(distinct), far), mask & (1 << NEIGHBORS) - 1, combine)


def _across_lanes(
    e: KernelEmitter, op: TableOp, values: list[Tuple], mask: int, elements: list[Element], combine: Combine
) -> list[Tuple]:
    if mask == WARP - 1 and (kind := _kind_of_warp(e.target, op, elements)) is not None:
        return [(e.b.subgroup_reduce(kind, value, elements[0].type),) for (value,) in values]
    for position in bit_positions(mask):
        others = [
            tuple(shuffle(e.b, element, part, ShuffleMode.XOR, 1 << position) for element, part in zip(elements, value))
            for value in values
        ]
        values = combine(others, values)
    return values


# Element type -> the capability for warp-wide reductions, and the kind of each combining operation.
WHOLE_WARP: dict[Attribute, tuple[str, dict[str, ReduceKind]]] = {
    I32: (
        "redux_i32",
        {
            "arith.addi": ReduceKind.ADD, "arith.andi": ReduceKind.AND, "arith.ori": ReduceKind.OR,
            "arith.xori": ReduceKind.XOR, "arith.minsi": ReduceKind.MINSI, "arith.maxsi": ReduceKind.MAXSI,
            "arith.minui": ReduceKind.MINUI, "arith.maxui": ReduceKind.MAXUI,
        },
    ),
    FLOAT: (
        "redux_f32",
        {
            "arith.minnumf": ReduceKind.MINNUMF, "arith.maxnumf": ReduceKind.MAXNUMF,
            "arith.minimumf": ReduceKind.MINIMUMF, "arith.maximumf": ReduceKind.MAXIMUMF,
        },
    ),
}  # fmt: skip


def _kind_of_warp(target: Target, op: TableOp, elements: list[Element]) -> ReduceKind | None:
    """The kind of the warp-wide instruction that computes the same as the region; None where there is none."""
    block = op.regions[0].blocks[0]
    body = list(block.ops)
    if len(elements) != 1 or len(body) != 2 or elements[0].type not in WHOLE_WARP:
        return None
    combination, end = body
    capability, kinds = WHOLE_WARP[elements[0].type]
    whole = set(combination.operands) == set(block.args) and list(end.operands) == list(combination.results)
    exact = "flush_to_zero" not in combination.attributes
    return kinds.get(combination.name) if whole and exact and target.has(capability) else None


def _set_results(values: ValueMap, op: TableOp, held: dict[int, Tuple], layout: LinearLayout, axis: int) -> None:
    reduced = layout.drop_dim(axis)
    by_offset = {reduced.register_offsets[register]: parts for register, parts in held.items()}
    for number, result in enumerate(op.results):
        if not _is_tile(result):
            values[result] = next(iter(held.values()))[number]
            continue
        target = layout_of(result)
        values[result] = [by_offset[offset][number] for offset in target.register_offsets]


def _is_tile(value: SSAValue) -> bool:
    return hasattr(value.type, "encoding")


HANDLERS: dict[str, Handler] = {"nv_tileas.reduce": emit_reduce}
