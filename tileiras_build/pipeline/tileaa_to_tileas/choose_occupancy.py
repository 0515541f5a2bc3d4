"""Decide how many CTAs shall share a multiprocessor: as many as the kernel asks for, or as its products leave registers for.

In:    nv_tileas without layouts; kernels with the hint ``occupancy``.
Out:   ``occupancy`` on those kernels: what the hint says, or fewer where the tiles that a loop keeps in registers for its
       products do not fit otherwise; then ``occupancy_asked`` has the hint's number.
After: legalize_dot, distribute_over_ctas (products have their sizes). Before: select_async (it asks what fits).
Sound: a hint is no promise. Registers that a thread does not have are memory, in each iteration of a loop; CTAs that a
       multiprocessor does not have are not missed so much. Kernels without products get what they ask for.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects.facts import is_entry
from ..analysis.budget import choose_warps, words_fit
from ..analysis.kept_tiles import kept_words
from ..contracts import EdgePass
from ..job import Job
from ..shared.accessors import row
from ..shared.optimization_hints import hint


class ChooseOccupancy(EdgePass):
    """CTAs of a multiprocessor."""

    name = "tileas-choose-occupancy"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in module.body.block.ops:
            if is_entry(func) and (asked := hint(func, job, "occupancy")):
                chosen = _choose(func, asked, job)
                row(func).occupancy, row(func).occupancy_asked = chosen, asked if chosen != asked else None


def _choose(func: Operation, asked: int, job: Job) -> int:
    warps = choose_warps(func, job)
    words = kept_words(func, job.target)
    return (
        next((ctas for ctas in range(asked, 1, -1) if words_fit(words, warps, ctas, job.target)), 1) if words else asked
    )
