"""Verify that layout conversions preserve tiles: execute the plan of each ``convert_layout`` on all threads.

Scratch allocation and code emission use the same plan. ``layouts.check_conversion`` executes it on a tile whose
elements are their own coordinates. Equal conversions are verified once.

A violation raises ``InternalError`` with id ``layout-verifier`` that names the two layouts.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute

from ...core.errors import InternalError
from ...ir.casting import as_op
from ...ir.dialects.cute import layout_of_type
from ...target.targets import Target, find_target
from ..analysis.convert_layout_op_plans import DEFAULT_CHUNK_BYTES, conversion_plan
from ..common.llvm_element_types import element_of
from .exhaustive_layout_checks import verify_conversion

CONVERSION = "nv_tileas.convert_layout"
TARGET = "nv_tileaa.target_spec"


def verify_layout_conversions(module: ModuleOp) -> int:
    """Check every conversion of a nv_tileas module whose tiles have layouts; return the number of distinct ones."""
    target = module.attributes.get(TARGET)
    if not isinstance(target, StringAttr):
        return 0
    conversions = (as_op(op) for op in module.walk() if op.name == CONVERSION)
    kinds = {
        (source, result, op.chunk_bytes or DEFAULT_CHUNK_BYTES)
        for op in conversions
        for source, result in zip(op.operand_types, op.result_types, strict=True)
    }
    for source, result, chunk_bytes in kinds:
        _check(find_target(target.data), source, result, chunk_bytes)
    return len(kinds)


def _check(target: Target, source: Attribute, result: Attribute, chunk_bytes: int) -> None:
    before, after = layout_of_type(source), layout_of_type(result)
    plan = conversion_plan(target, before, after, element_of(source), chunk_bytes)
    try:
        verify_conversion(before, after, plan)
    except InternalError as error:
        message = f"{CONVERSION} from {source} to {result}: {error.message}"
        raise InternalError(error.id, message, remedy=error.remedy) from error
