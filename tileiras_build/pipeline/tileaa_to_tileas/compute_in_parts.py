"""Compute tiles part after part where the registers of a multiprocessor do not hold what products keep.

In:    nv_tileas without layouts; kernels with products in loops.
Out:   where the sums of a loop's products, and left operands that stay in registers, are more than all threads of a CTA hold,
       a loop around the program of the kernel: each of its turns loads, computes and stores one of two, four or eight
       equal parts of the tiles, the fewest with which they fit. Scalars and views that are the same in each turn stay
       before it.
After: distribute_over_ctas (tiles are one CTA's). Before: split_products (which asks how large tiles are),
       choose_occupancy, and all passes that choose warps and copies.
Sound: a division follows the rules of analysis/cta_split: no part needs another one, and what the program accesses in an
       order, by tokens, is the same part of the same view, so that its bytes are accessed in one turn. What must happen once
       leaves the kernel whole.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Block, Operation, Region

from ...dialects.facts import is_entry
from ...dialects.ir import erase
from ...dialects.nv_tileas.ops import COUNTERPARTS
from ...layouts.tensor_memory import ROWS
from ..analysis.budget import choose_warps, kept_words_fit
from ..analysis.chained_products import chains_of
from ..analysis.cta_split import Undivided
from ..analysis.kept_tiles import kept_words
from ..analysis.kinds import is_pure, is_tile
from ..contracts import EdgePass
from ..job import Job
from ..shared.accessors import block_of, last_op, row
from ..shared.eliminate_common import EliminateCommon
from .divided_program import DividedProgram
from .divisions import division_of, separate
from .inserted import constant_i32, insert_before

PARTS = (2, 4, 8)
ContinueOp, ForOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("continue", "for"))


class ComputeInParts(EdgePass):
    """Turns for parts of tiles."""

    name = "tileas-compute-in-parts"

    def run(self, module: ModuleOp, job: Job) -> None:
        whole = [func for func in module.body.block.ops if is_entry(func) and row(func).num_ctas is None]
        for func in whole:
            if not _fits(func, job):
                _take_turns(func, job)
        EliminateCommon().run(module, job)


def _fits(func: Operation, job: Job) -> bool:
    """Whether the threads of a CTA have registers for what products keep, and rows of scores one thread each."""
    if job.target.has("tcgen05") and any(chain.rows > ROWS for chain in chains_of(func)):
        return False
    return kept_words_fit(kept_words(func, job.target), choose_warps(func, job), job.target)


def _take_turns(func: Operation, job: Job) -> None:
    """A copy of the kernel with the fewest turns that fit stands for it; where none do, it stays."""
    for parts in PARTS:
        trial = func.clone()
        block_of(func).insert_op_after(trial, func)
        if _divide(trial, parts, job) and _fits(trial, job):
            return erase(func)
        erase(trial)


def _divide(func: Operation, parts: int, job: Job) -> bool:
    separate(func)
    try:
        division = division_of(func, job, parts)
    except Undivided:
        return False
    turn = _loop_around(func, parts)
    DividedProgram(func, division, turn.args[0]).run()
    return True


def _loop_around(func: Operation, parts: int) -> Block:
    """The body of a loop of so many turns around all that may differ between them."""
    entry, turn = func.regions[0].blocks[0], Block(arg_types=[i32])
    moved: set[Operation] = set()
    for op in list(entry.ops)[:-1]:
        if not _is_common(op, moved):
            moved.add(op)
            op.detach()
            turn.add_op(op)
    last = last_op(entry)
    bounds = [insert_before(constant_i32(number), last) for number in (0, parts, 1)]
    turn.add_op(ContinueOp.make([[]], []))
    insert_before(ForOp.make([*bounds, []], [], {}, [Region(turn)]), last)
    return turn


def _is_common(op: Operation, moved: set[Operation]) -> bool:
    """Pure, without tiles, and computed from nothing that was moved."""
    if not is_pure(op) or op.regions or any(is_tile(value) for value in (*op.operands, *op.results)):
        return False
    return not any(value.owner in moved for value in op.operands)
