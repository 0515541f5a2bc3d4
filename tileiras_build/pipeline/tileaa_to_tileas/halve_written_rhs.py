"""Let each CTA of a pair write half of the columns of a right operand that threads copy, or compute.

The MMA of a pair reads the halves of both CTAs (PTX ISA 9.0, section 9.7.16.10.5). ``use_two_cta_mma.py`` halves what TMA loads.
"""

from __future__ import annotations

from ...ir.casting import as_op, next_op, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import CtaRankOp
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts.tmem_layout import PAIR
from ..analysis.copied_operands import half_of_copied_rhs
from ..analysis.enclosing_control_flow import enclosing_kernel
from ..analysis.sharding_propagation import Sharding
from ..analysis.stored_operands import half_of_computed_rhs, is_stored
from .op_insertion import insertion_before
from .sharded_program import ShardedProgram


def halve_written_rhs(dot: TableOp, mn_major: tuple[str, ...]) -> None:
    """Shard the right operand of a dot of a pair, if threads write it, by its columns."""
    if not is_stored(dot, 1):
        return
    is_copied = dot.copied is not None and 1 in dot.copied
    _shard_in_pair(dot, _copied_half(dot, mn_major) if is_copied else unwrap(half_of_computed_rhs(dot, mn_major)))


def _copied_half(dot: TableOp, mn_major: tuple[str, ...]) -> Sharding:
    load, tiles = unwrap(half_of_copied_rhs(dot, mn_major))
    halves = Sharding(PAIR)
    halves.operations, halves.dims = {load}, dict(tiles)
    return halves


def _shard_in_pair(dot: TableOp, halves: Sharding) -> None:
    kernel = as_op(enclosing_kernel(dot))
    rank = next(op for op in walk(kernel) if op.name == CtaRankOp.name)
    insert = insertion_before(next_op(rank))
    in_pair = rank.results[0] if kernel.num_ctas == PAIR else insert.binary("and", rank.results[0], PAIR - 1)
    ShardedProgram(kernel, halves, in_pair).shard_tiles()
