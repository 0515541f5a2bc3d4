"""Fused multiply-adds: the family of dots whose types have no instruction. Operands pass through scratch shared memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ....ir.dialects.op_definition import TableOp
from ....target.mma_atoms import MmaRow
from ....target.targets import Target
from ...analysis.tma_operands import TmaOperand
from ...job import Job
from ..family import DotLayouts, MmaFamily, Storage, family_with_fragments


class Fma(MmaFamily[MmaRow]):
    """Threads multiply elements. Each accumulates those of the result that it holds, in any layout."""

    name = "fma"
    a_storage = b_storage = Storage.SCRATCH

    def row_for(self, op: TableOp, target: Target, *, packed_fp4: bool = False) -> MmaRow | None:
        return None

    def select(
        self, op: TableOp, loaded: Mapping[int, TmaOperand], job: Job, warps: int, stored: Collection[int] | None = None
    ) -> Mapping[int, TmaOperand] | None:
        """Scales are multiplied before. A dot that has an instruction for fragments is that instruction's."""
        return loaded if op.lhs_scale is None and family_with_fragments(op, job.target) is self else None

    def layouts(self, op: TableOp, num_warps: int) -> DotLayouts | None:
        return None

    def description(self, op: TableOp) -> tuple[str, dict[str, Any]]:
        return "fma", {}


FAMILY = Fma()
