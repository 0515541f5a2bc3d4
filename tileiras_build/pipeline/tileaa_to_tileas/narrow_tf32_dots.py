"""Multiply tf32 operands that are extended from f16 or bf16 as f16 or bf16.

In:    nv_tileas dots of tf32, both operands of which are converted from tiles of one of these types, perhaps to f32 first, and
       renamed by views and permutations in between.
Out:   dots of these tiles, renamed alike: of half the bytes, at twice the rate, and where they are loaded, read as they are. The
       conversions stay for other users.
After: elide_bounds_checks (as for legalize_dot). Before: legalize_dot, and all passes that choose instructions.
Sound: tf32 has the exponents of bf16, the mantissa of f16 and subnormals: conversions of both to it are exact, and so is what the
       instructions multiply and add to their f32 accumulators; the order of the additions is not defined.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.casting import tile_type
from ...ir.dialects.fast_xdsl import string_of
from ...ir.dialects.op_definition import TableOp
from ..analysis.op_queries import DOT
from ..pass_manager import EdgePass
from ..rewriting.dialect_conversion import RuleTable
from ..rewriting.rewriter import Rewriter

WIDENING, RENAMING = "nv_tileas.fp_to_fp", ("nv_tileas.view", "nv_tileas.permute")
WIDE, EXACT_IN_TF32 = ("tf32", "f32"), ("f16", "bf16")


def _narrow(rewriter: Rewriter, op: TableOp) -> None:
    sources = [_source(op.lhs), _source(op.rhs)]
    elements = {tile_type(source).element_type for source, _ in sources}
    if _element(op.lhs) != "tf32" or len(elements) != 1 or string_of(element := elements.pop()) not in EXACT_IN_TF32:
        return
    for index, (source, names) in enumerate(sources):
        before, op.operands[index] = op.operands[index], _renamed(rewriter, source, names, element)
        _erase_unused(before)


def _source(operand: SSAValue) -> tuple[SSAValue, list[Operation]]:
    """The tile of f16 or bf16 that an operand is converted from, and the operations that rename its elements; the first wider tile
    that is computed otherwise.
    """
    names = list[Operation]()
    while isinstance(op := operand.owner, Operation) and _element(operand) in WIDE:
        if op.name in RENAMING:
            names.insert(0, op)
        elif op.name != WIDENING:
            break
        operand = op.operands[0]
    return operand, names


def _renamed(rewriter: Rewriter, source: SSAValue, names: list[Operation], element: Attribute) -> SSAValue:
    """A tile with its elements named as those of another type are, at the same place: it may be before a loop."""
    for op in names:
        clone = type(op).create(
            operands=[source],
            result_types=[TensorType(element, tile_type(op.results[0]).get_shape())],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        source = rewriter.at(op).insert(clone)
    return source


def _erase_unused(tile: SSAValue) -> None:
    """Erase what computes a tile that nothing reads: other passes take readers of a load for such that need it."""
    while isinstance(op := tile.owner, Operation) and op.name in (WIDENING, *RENAMING) and not list(tile.uses):
        tile = op.operands[0]
        op.detach()
        op.erase()


def _element(tile: SSAValue) -> str:
    return string_of(tile_type(tile).element_type)


class NarrowTf32Dots(EdgePass):
    """Dots of f16 and bf16 in place of tf32."""

    name = "tileas-narrow-tf32-dots"
    rules = RuleTable({DOT: _narrow})
