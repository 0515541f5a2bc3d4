"""Fused multiply-adds: the family of dots whose types have no instruction. Operands pass through scratch shared memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ....ir.dialects.op_definition import TableOp
from ....target.mma_atoms import MmaRow
from ....target.sm_limits import WARP
from ....target.targets import Target
from ...analysis.tma_operands import TmaOperand
from ...job import Job
from ..family import DotLayouts, MmaFamily, Storage, family_with_fragments

if TYPE_CHECKING:
    from ....target.gpu_rates import SmRates
    from ...schedule.kernel import Dot


class Fma(MmaFamily[MmaRow]):
    """Threads multiply elements. Each accumulates those of the result that it holds, in any layout."""

    name = "fma"
    a_storage = b_storage = Storage.SCRATCH
    pipe = "FMA"

    def row_for(self, op: TableOp, target: Target, *, packed_fp4: bool = False) -> MmaRow | None:
        return None

    def select(
        self, op: TableOp, loaded: Mapping[int, TmaOperand], job: Job, warps: int, stored: Collection[int] | None = None
    ) -> Mapping[int, TmaOperand] | None:
        """Scales are multiplied before. A dot that has an instruction for fragments is that instruction's."""
        return loaded if op.lhs_scale is None and family_with_fragments(op, job.target) is self else None

    def layouts(self, op: TableOp, num_warps: int) -> DotLayouts | None:
        return None

    def clocks(self, dot: Dot, rates: SmRates) -> float:
        return dot.multiply_adds / (rates.float64 if dot.c_type == "f64" else rates.float32)

    def shared_bytes(self, dot: Dot, warps: int) -> float:
        """Each thread reads a row of A and a column of B for each element of its result: a warp reads them once."""
        return 4 * dot.multiply_adds / WARP + dot.a_size() + dot.b_size()

    def instructions(self, dot: Dot, warps: int) -> float:
        return 1.5 * dot.multiply_adds / WARP

    def description(self, op: TableOp) -> tuple[str, dict[str, Any]]:
        return "fma", {}


FAMILY = Fma()
