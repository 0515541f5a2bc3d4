"""Which MMA instruction a dot uses, and how its tile is divided into atoms over the warps."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ...core.errors import InternalError
from ...ir.casting import type_as, unwrap
from ...ir.dialects.fast_xdsl import string_of
from ...ir.dialects.nv_tileas.ops import AsyncDotOp, AsyncUmmaOp
from ...ir.dialects.nv_tileas.types import BufferType
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts import (
    Atom,
    MmaTiling,
    ScaleColumns,
    TmemTile,
    WgmmaTiling,
    mma_tiling,
    tmem_tile,
    wgmma_tiling,
)
from ...ir.layouts.wgmma_layout import MAX_COLUMNS
from ...target.mma_atoms import ELEMENT_BITS, TCGEN05_ATOMS, WGMMA_ATOMS, MmaAtom, Tcgen05Atom, WgmmaAtom
from ...target.targets import Target

FP4 = "f4E2M1FN"
FP4_PAIR = "f4E2M1FNx2"  # two fp4 in a byte, the type of dots that are ``packed``
# Scales that have no sign, and one whose sign the instructions do not read: Tile IR leaves open what negative scales do
# (specification of mmaf_scaled). Where the elements are not read in pairs, they are scaled first, with the sign.
UNSIGNED_SCALE, SIGNED_SCALE = "f8E8M0FNU", "f8E4M3FN"

# Elements along k of each part of a left operand, whole instructions of all types, and the most parts.
LHS_CHUNK_K, MAX_LHS_CHUNKS = 32, 2


@cache
def atoms_by_name(target: Target) -> dict[str, MmaAtom]:
    """Every mma row of a GPU by its name."""
    return {atom.name: atom for atom in target.all_mma_atoms}


def atom_named(target: Target, name: str) -> MmaAtom:
    return atoms_by_name(target)[name]


def select_mma_sync_atom(target: Target, op: TableOp) -> MmaAtom | None:
    """The preferred row whose k is no longer than the tile's, else the one with the shortest k; None where there is no row."""
    if op.lhs_scale is not None:
        return select_block_scaled_atom(target, op)
    k = op.lhs.type.get_shape()[-1]
    rows = target.mma_atoms(*(string_of(value.type.element_type) for value in (op.lhs, op.rhs, op.result)))
    if not rows:
        return None
    fitting = [row for row in rows if row.k <= k]
    return fitting[0] if fitting else min(rows, key=lambda row: row.k)


def select_block_scaled_atom(target: Target, op: TableOp, *, packed_fp4: bool = False) -> MmaAtom | None:
    """The row that multiplies and scales; None where there is none for the types and blocks of a dot.

    ``in_pairs``: the row for when its fp4 elements were read two to a byte.
    """
    types, k, block = _scaled_types(op, packed_fp4)
    rows = target.mma_atoms(*types) if _reads_scales(types) else []
    return next((row for row in rows if row.k <= k and row.scale_block == block), None)


def select_block_scaled_tcgen05_atom(target: Target, op: TableOp, *, packed_fp4: bool = False) -> Tcgen05Atom | None:
    """The tcgen05 row that multiplies and scales; None where there is none for the types and blocks of a dot."""
    (a, b, result, scale), k, block = _scaled_types(op, packed_fp4)
    row = target.tcgen05_atom(a, b, result, scale, block)
    return row if row is not None and row.k <= k else None


def has_block_scaled_instruction(target: Target, op: TableOp) -> bool:
    """Whether an instruction might multiply and scale, once it is known how a dot's operands are read."""
    ways = (False, True) if string_of(op.lhs.type.element_type) == FP4 else (False,)
    rows = (
        find(target, op, packed_fp4=packed)
        for find in (select_block_scaled_atom, select_block_scaled_tcgen05_atom)
        for packed in ways
    )
    return any(row is not None for row in rows)


def _scaled_types(op: TableOp, in_pairs: bool) -> tuple[list[str], int, int]:
    """The types of operands, result and scales, the length along k and the elements there that share a scale."""
    types = [string_of(value.type.element_type) for value in (op.lhs, op.rhs, op.result, op.lhs_scale)]
    k, count = op.lhs.type.get_shape()[-1], op.lhs_scale.type.get_shape()[-1]
    packed = op.packed
    if packed or in_pairs:
        types[:2] = (FP4_PAIR, FP4_PAIR)
        k = k if packed else k // 2
    return types, k, k // count


def _reads_scales(types: list[str]) -> bool:
    return types[-1] == UNSIGNED_SCALE or types[0] == FP4_PAIR


def scale_columns(op: TableOp, num_warps: int) -> list[ScaleColumns]:
    """How the scales of a dot lie in tensor memory: those of its left operand and of its right one."""
    scales = ((op.lhs_scale, 0), (op.rhs_scale, 1))
    return [ScaleColumns(tuple(value.type.get_shape()), dim, num_warps) for value, dim in scales]


def padded_shape(m: int, n: int, k: int, atom: MmaAtom) -> tuple[int, int, int]:
    """The tile's extents, at least the atom's."""
    return max(m, atom.m), max(n, atom.n), max(k, atom.k)


def layout_atom(atom: MmaAtom) -> Atom:
    """The row's shape as ``layouts`` knows it."""
    return Atom(atom.m, atom.n, atom.k, atom.storage_bits or ELEMENT_BITS[atom.a_type])


def operand_signs(op: TableOp) -> tuple[bool, bool]:
    """Whether the operands of a dot are signed; what does not say so is."""
    return op.signedness_lhs == "signed", op.signedness_rhs == "signed"


def dot_shape(op: TableOp) -> tuple[int | None, int, int, int]:
    """(batch or None, m, n, k) of a ``dot``."""
    left, result = op.lhs.type.get_shape(), op.result.type.get_shape()
    batch = result[0] if len(result) == 3 else None
    return batch, result[-2], result[-1], left[-1]


def tiling_for(op: TableOp, atom: MmaAtom, warps: tuple[int, int, int]) -> MmaTiling:
    """The tiling of a ``dot`` over (warps_m, warps_n, warps_batch)."""
    batch, m, n, k = dot_shape(op)
    m, n, k = padded_shape(m, n, k, atom)
    return mma_tiling(m, n, k, layout_atom(atom), warps[0], warps[1], batch, warps[2])


def tiling_of(op: TableOp, atom: MmaAtom) -> MmaTiling:
    """The tiling that layout assignment wrote on a ``dot``."""
    return tiling_for(op, atom, op.warps)


_TCGEN05_ATOMS = {atom.name: atom for atom in TCGEN05_ATOMS}


def tcgen05_atom_of(op: TableOp) -> Tcgen05Atom:
    """The tcgen05 row of a dot, before (``tensor_memory``) or after (``atom``) its operands have their places."""
    return _TCGEN05_ATOMS[op.atom if isinstance(op, AsyncUmmaOp) else op.tensor_memory]


def tmem_tiles(op: TableOp, num_warps: int) -> tuple[TmemTile | None, TmemTile]:
    """How a dot's left operand, were it there, and its accumulators lie in tensor memory."""
    atom = tcgen05_atom_of(op)
    m, n = op.result.type.get_shape()
    left = tmem_tile(m, k_of(op), ELEMENT_BITS[atom.a_type], num_warps)
    return left, unwrap(tmem_tile(m, n, 32, num_warps))


_WGMMA_ATOMS = {atom.name: atom for atom in WGMMA_ATOMS}


def wgmma_atom_of(op: TableOp) -> WgmmaAtom:
    """The wgmma row of a dot, before (``warpgroup``) or after (``atom``) its operands are in shared memory."""
    return _WGMMA_ATOMS[op.atom if isinstance(op, AsyncDotOp) else op.warpgroup]


def wgmma_tiling_of(op: TableOp, num_warps: int) -> WgmmaTiling:
    """The tiling of a warpgroup dot over a kernel's warps."""
    atom = wgmma_atom_of(op)
    m, n = op.result.type.get_shape()
    k = k_of(op)
    parts = accumulator_promotion(op)
    columns = parts.columns if parts else MAX_COLUMNS
    tiling = wgmma_tiling(m, n, k, ELEMENT_BITS[atom.a_type], num_warps, op.a_via_registers, columns)
    return unwrap(tiling)


class AccumulatorPromotion(NamedTuple):
    """How a dot comes together from accumulators of part of k: the columns of one, how many a thread holds at a time, and how
    many elements along k each is of."""

    columns: int
    number: int
    k: int


def accumulator_promotion(op: TableOp) -> AccumulatorPromotion | None:
    """The promotion of a dot; None where one accumulator is enough."""
    return AccumulatorPromotion(*op.promotion) if op.promotion else None


def lhs_k_chunks(dot: TableOp) -> int:
    """In how many parts along k a left operand that threads compute goes to tensor memory: the first are multiplied meanwhile."""
    return max(1, min(MAX_LHS_CHUNKS, k_of(dot) // LHS_CHUNK_K))


def k_of(op: TableOp) -> int:
    """Length of the sum of a dot, also of one whose operands are buffers."""
    if isinstance(op, AsyncDotOp | AsyncUmmaOp):
        return op.rhs_placement.shape[0]
    return op.lhs.type.get_shape()[-1]


def require_operands(op: TableOp, shape: tuple[int, int, int] | None = None) -> None:
    """Of a dot whose operands are buffers: a stage holds each of them, and they are those of a dot of ``shape`` (m, n, k)."""
    sides = (
        [(op.rhs, op.rhs_placement)]
        if op.lhs_stage is None
        else [(op.lhs, op.lhs_placement), (op.rhs, op.rhs_placement)]
    )
    if any(placement.size_bytes > type_as(buffer, BufferType).stage_bytes for buffer, placement in sides):
        raise InternalError("operand-size", f"an operand of {op.name} is more than a stage of its buffer")
    if shape is not None and (shape[2] > op.rhs_placement.shape[0] or shape[1] > 2 * op.rhs_placement.shape[1]):
        raise InternalError("operand-shape", f"the operands of {op.name} are not of a product of {shape}")
