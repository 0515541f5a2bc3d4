"""How the tiles of a dot lie in tensor memory: accumulators, a left operand, block scales."""

from __future__ import annotations

from ...ir.casting import unwrap
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts import ScaleColumns, TmemTile, tmem_tile
from ...target.mma_atoms import ELEMENT_BITS
from .dots import k_of, row_of

# k of each chunk of a left operand, a multiple of all instructions' k, and the maximal number of chunks.
LHS_CHUNK_K, MAX_LHS_CHUNKS = 32, 2


def tmem_tiles(op: TableOp, num_warps: int) -> tuple[TmemTile | None, TmemTile]:
    """The tensor memory layouts of a dot's left operand, if it were there, and of its accumulators."""
    atom = unwrap(row_of(op))
    m, n = op.result.type.get_shape()
    quads = bool(op.shares_rows)
    left = tmem_tile(m, k_of(op), ELEMENT_BITS[atom.a_type], num_warps, shares_rows=quads)
    return left, unwrap(tmem_tile(m, n, 32, num_warps, is_pair=bool(op.pair), shares_rows=quads))


def staged_columns(dot: TableOp, num_warps: int) -> int:
    """The columns of one stage of a left operand."""
    return unwrap(tmem_tiles(dot, num_warps)[0]).total_tmem_columns


def scale_columns(op: TableOp, num_warps: int) -> list[ScaleColumns]:
    """The tensor memory columns of a dot's scales: those of its left operand and of its right one."""
    scales = ((op.lhs_scale, 0), (op.rhs_scale, 1))
    return [ScaleColumns(tuple(value.type.get_shape()), dim, num_warps) for value, dim in scales]


def lhs_k_chunks(dot: TableOp) -> int:
    """The number of chunks along k in which threads store a computed left operand to tensor memory:

    MMAs of the first overlap.
    """
    return max(1, min(MAX_LHS_CHUNKS, k_of(dot) // LHS_CHUNK_K))
