"""Kernels, control flow and grid queries of the public dialect."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr, i32
from xdsl.ir import Operation, SSAValue

from ...core.errors import Unsupported
from ...ir.dialects import cuda_tile
from ...ir.dialects.nv_tileaa import ops
from ..analysis.integer_ranges import constant_of
from ..rewriting.dialect_conversion import Rule
from .op_converter import Converter

TERMINATORS = {"yield": ops.YieldOp, "break": ops.BreakOp, "continue": ops.ContinueOp}


def _convert_entry(cv: Converter, op: cuda_tile.EntryOp) -> None:
    name, hints = op.sym_name.data, op.optimization_hints
    regions = [cv.region(op.regions[0])]
    cv.bind(ops.FuncOp.make([], [], regions=regions, sym_name=name, optimization_hints=hints))


def _convert_for(cv: Converter, op: cuda_tile.ForOp) -> None:
    values = cv.operands(op)
    unsigned = "unsigned_cmp" in op.properties or "unsignedCmp" in op.properties
    if _never_runs(values[0], values[1], unsigned):
        cv.values |= zip(op.results, values[3:], strict=True)
        return
    types = [cv.type(result.type) for result in op.results]
    regions = [cv.region(op.regions[0])]
    cv.bind(ops.ForOp.make([*values[:3], values[3:]], types, regions=regions, unsigned=unsigned))


def _never_runs(lower: SSAValue, upper: SSAValue, unsigned: bool) -> bool:
    """Whether a loop is known to have no iteration: pipelines and shared memory would be kept for it."""
    start, end = constant_of(lower), constant_of(upper)
    if start is None or end is None:
        return lower is upper
    return start == end or (start > end and not unsigned)


def _convert_loop(cv: Converter, op: cuda_tile.LoopOp) -> None:
    initial = cv.operands(op)
    types = [cv.type(result.type) for result in op.results]
    cv.bind(ops.LoopOp.make([initial], types, {}, [cv.region(op.regions[0])]))


def _convert_if(cv: Converter, op: cuda_tile.IfOp) -> None:
    types = [cv.type(result.type) for result in op.results]
    regions = [cv.region(region) for region in op.regions]
    for region in regions:
        if not region.blocks[0].ops:
            region.blocks[0].add_op(ops.YieldOp.make([[]], []))
    cv.bind(ops.IfOp.make([cv.value(op.operands[0])], types, {}, regions))


def _convert_terminator(cv: Converter, op: Operation) -> None:
    target = TERMINATORS[op.name.removeprefix("cuda_tile.")]
    cv.bind(target.make([cv.operands(op)], []))


def _convert_return(cv: Converter, op: cuda_tile.ReturnOp) -> None:
    if op.operands:
        raise Unsupported("kernel-returns", "Kernel functions do not support return with operands")
    cv.bind(ops.ReturnOp.make([], []))


def _convert_assert(cv: Converter, op: cuda_tile.AssertOp) -> None:
    cv.build(ops.AssertOp, [cv.value(op.operands[0])], {"message": op.properties["message"]})


def _convert_print(cv: Converter, op: cuda_tile.PrintTkoOp) -> None:
    text = op.properties.get("str") or op.properties["format"]
    values = [cv.value(value) for value in op.args]
    cv.build(ops.PrintOp, [values, cv.optional(op.token)], {"format": text})


def _convert_block_id(cv: Converter, op: Operation) -> None:
    target = ops.GetProgramIdOp if op.name.endswith("id") else ops.GetNumProgramsOp
    for axis, result in enumerate(op.results):
        new = target.make([], [i32], axis=axis)
        cv.values[result] = cv.insert(new)


def _convert_grid_dependency(cv: Converter, op: cuda_tile.TileOperation) -> None:
    action = "launch_dependents" if "launch" in op.name else "wait"
    token = cv.value(op.operands[0]) if op.operands else None
    cv.build(ops.GridDependencyOp, [token], {"action": StringAttr(action)})


RULES: dict[str, Rule] = {
    **dict.fromkeys(TERMINATORS, _convert_terminator),
    **dict.fromkeys(("get_tile_block_id", "get_num_tile_blocks"), _convert_block_id),
    **dict.fromkeys(("gdc_launch_dependents_tko", "gdc_wait_tko"), _convert_grid_dependency),
    "for": _convert_for,
    "loop": _convert_loop,
    "if": _convert_if,
    "return": _convert_return,
    "assert": _convert_assert,
    "print_tko": _convert_print,
    "entry": _convert_entry,
}
