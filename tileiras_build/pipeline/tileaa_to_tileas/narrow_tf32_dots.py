"""Multiply tf32 operands that are extended from f16 or bf16 as f16 or bf16.

In:    nv_tileas dots of tf32, both operands of which are converted from tiles of one of these types, perhaps to f32 first, and
       renamed by views and permutations in between.
Out:   dots of these tiles, renamed alike: of half the bytes, at twice the rate, and where they are loaded, read as they are. The
       conversions stay for other users. Where asynchronous MMAs accumulate in registers, the dots of a tile are narrowed together or not
       at all: threads would write it for the others anyway, and these would have a slower instruction.
After: elide_bounds_checks (as for legalize_dot). Before: legalize_dot, and all passes that choose instructions.
Sound: tf32 has the exponents of bf16, the mantissa of f16 and subnormals: conversions of both to it are exact, and so is what the
       instructions multiply and add to their f32 accumulators; the order of the additions is not defined.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.casting import as_op, tile_type
from ...ir.dialects.fast_xdsl import string_of
from ...ir.dialects.op_definition import TableOp
from ..analysis.op_queries import DOT
from ..job import Job
from ..mma.family import Storage, fastest_family
from ..pass_manager import EdgePass
from ..rewriting.dialect_conversion import RuleTable
from ..rewriting.rewriter import Rewriter

WIDENING, RENAMING = "nv_tileas.fp_to_fp", ("nv_tileas.view", "nv_tileas.permute")
WIDE, EXACT_IN_TF32 = ("tf32", "f32"), ("f16", "bf16")


def _narrow(rewriter: Rewriter, op: TableOp) -> None:
    if (element := _exact_element(op)) is None:
        return
    sources = [_source(op.lhs), _source(op.rhs)]
    if _is_async_from_registers(rewriter.job) and any(map(_is_read_wide, sources)):
        return
    for index, (source, names) in enumerate(sources):
        before, op.operands[index] = op.operands[index], _renamed(rewriter, source, names, element)
        _erase_unused(before)


def _is_async_from_registers(job: Job) -> bool:
    """Whether asynchronous MMAs accumulate in registers: a tile that threads write wide for one dot costs another nothing."""
    family = fastest_family(job.target)
    return family.async_ops is not None and family.accumulator is not Storage.TENSOR


def _exact_element(dot: TableOp) -> Attribute | None:
    """The element type from which both operands of a tf32 dot are extended; None where there is none."""
    elements = {tile_type(_source(operand)[0]).element_type for operand in (dot.lhs, dot.rhs)}
    element = elements.pop()
    return element if not elements and _element(dot.lhs) == "tf32" and string_of(element) in EXACT_IN_TF32 else None


def _is_read_wide(source: tuple[SSAValue, list[Operation]]) -> bool:
    """Whether another dot needs the tile of an operand in tf32."""
    return any(_exact_element(dot) is None for dot in _dots_of(source[0]))


def _dots_of(tile: SSAValue) -> list[TableOp]:
    """The tf32 dots that read a tile as it is extended and renamed."""
    found = list[TableOp]()
    for user in (use.operation for use in tile.uses):
        if user.name in (WIDENING, *RENAMING):
            found += _dots_of(user.results[0])
        elif user.name == DOT and _element(as_op(user).lhs) == "tf32":
            found.append(as_op(user))
    return found


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
