"""Matmul, reductions and scans of the public dialect.

Operands and accumulators already have their internal types. Regions of reductions and scans are converted by the rows
of arithmetic and control flow.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr

from ...ir.dialects import cuda_tile
from ...ir.dialects.nv_tileaa import ops
from ..rewriting.dialect_conversion import Rule
from .op_converter import Converter, attributes_of, enum_text


def _convert_mmaf(cv: Converter, op: cuda_tile.MmaFOp) -> None:
    operands = [cv.value(op.lhs), cv.value(op.rhs), cv.value(op.acc), None, None]
    cv.build(ops.DotOp, operands, attributes_of(op))


def _convert_mmaf_scaled(cv: Converter, op: cuda_tile.MmaFScaledOp) -> None:
    operands = [cv.value(value) for value in (op.lhs, op.rhs, op.acc, op.lhs_scale, op.rhs_scale)]
    cv.build(ops.DotOp, operands, attributes_of(op))


def _convert_mmai(cv: Converter, op: cuda_tile.MmaIOp) -> None:
    signs = {key: StringAttr(enum_text(op.properties[key])) for key in ("signedness_lhs", "signedness_rhs")}
    cv.build(ops.DotOp, [cv.value(op.lhs), cv.value(op.rhs), cv.value(op.acc), None, None], signs)


def _convert_collective(cv: Converter, op: cuda_tile.ReduceOp | cuda_tile.ScanOp) -> None:
    target = ops.ReduceOp if op.name.endswith("reduce") else ops.ScanOp
    sources = cv.operands(op)
    types = [cv.type(result.type) for result in op.results]
    new = target.make([sources], types, regions=[cv.region(op.regions[0])], axis=op.dim.value.data)
    if isinstance(op, cuda_tile.ScanOp):
        new.reverse = bool(op.reverse.value.data)
    cv.bind(new)


RULES: dict[str, Rule] = {
    **dict.fromkeys(("reduce", "scan"), _convert_collective),
    "mmaf": _convert_mmaf,
    "mmaf_scaled": _convert_mmaf_scaled,
    "mmai": _convert_mmai,
}
