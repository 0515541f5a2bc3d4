"""How a tile changes its layout on a GPU: the plan that scratch assignment and the writer of LLVM IR must agree on."""

from __future__ import annotations

from typing import Any

from ...layouts import LinearLayout, plan_conversion
from ...layouts.conversion import Plan
from ..shared.element_types import Element

# A larger tile goes through shared memory in several passes.
MAX_SCRATCH = 32 * 1024


def conversion_plan(target: Any, source: LinearLayout, result: LinearLayout, element: Element) -> Plan:
    """The plan for a GPU: what it can do with matrices decides which instructions are considered."""
    matrices = target.has("ldmatrix")
    return plan_conversion(
        source, result, element.bits, stmatrix=target.has("stmatrix"), ldmatrix=matrices, max_scratch=MAX_SCRATCH
    )
