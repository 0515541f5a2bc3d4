"""Which mma.sync row a matrix product uses, and how its tile is cut into atoms over the warps."""

from __future__ import annotations

from functools import cache
from typing import Any

from ...layouts import (
    Atom,
    MmaTiling,
    ScaleColumns,
    TensorMemoryTile,
    WarpgroupTiling,
    mma_tiling,
    tensor_memory_tile,
    warpgroup_tiling,
)
from ...targets import (
    ELEMENT_BITS,
    TENSOR_MEMORY_ATOMS,
    WARPGROUP_ATOMS,
    MmaAtom,
    Target,
    TensorMemoryAtom,
    WarpgroupAtom,
)

# Scales that the instructions take as Tile IR means them: they read f8E4M3FN without its sign.
SCALE_TYPES = ("f8E8M0FNU",)
PAIR = "f4E2M1FNx2"  # two fp4 in a byte, the type of products that are ``packed``


@cache
def atoms_by_name(target: Target) -> dict[str, MmaAtom]:
    """Every mma row of a GPU by its name."""
    return {atom.name: atom for atom in target.all_mma_atoms}


def atom_named(target: Target, name: str) -> MmaAtom:
    return atoms_by_name(target)[name]


def choose_atom(target: Target, op: Any) -> MmaAtom | None:
    """The preferred row whose k is no longer than the tile's, else the one with the shortest k; None where there is no row."""
    if op.lhs_scale is not None:
        return scaled_atom(target, op)
    k = op.lhs.type.get_shape()[-1]
    rows = target.mma_atoms(*(str(value.type.element_type) for value in (op.lhs, op.rhs, op.result)))
    if not rows:
        return None
    fitting = [row for row in rows if row.k <= k]
    return fitting[0] if fitting else min(rows, key=lambda row: row.k)


def scaled_atom(target: Target, op: Any) -> MmaAtom | None:
    """The row that multiplies and scales; None where there is none for the types and blocks of a product."""
    types = [str(value.type.element_type) for value in (op.lhs, op.rhs, op.result, op.lhs_scale)]
    if "packed" in op.attributes:
        types[:2] = (PAIR, PAIR)
    k, count = op.lhs.type.get_shape()[-1], op.lhs_scale.type.get_shape()[-1]
    rows = target.mma_atoms(*types) if types[-1] in SCALE_TYPES else []
    return next((row for row in rows if row.k <= k and row.scale_block * count == k), None)


def scaled_tensor_atom(target: Target, op: Any) -> TensorMemoryAtom | None:
    """The tcgen05 row that multiplies and scales; None where there is none for the types and blocks of a product."""
    types = [str(value.type.element_type) for value in (op.lhs, op.rhs, op.result, op.lhs_scale)]
    k, count = op.lhs.type.get_shape()[-1], op.lhs_scale.type.get_shape()[-1]
    row = target.tensor_memory_atom(*types) if types[-1] in SCALE_TYPES else None
    return row if row is not None and row.scale_block * count == k else None


def scale_columns(op: Any, num_warps: int) -> list[ScaleColumns]:
    """How the scales of a product lie in tensor memory: those of its left operand and of its right one."""
    scales = ((op.lhs_scale, 0), (op.rhs_scale, 1))
    return [ScaleColumns(tuple(value.type.get_shape()), dim, num_warps) for value, dim in scales]


def padded_shape(m: int, n: int, k: int, atom: MmaAtom) -> tuple[int, int, int]:
    """The tile's extents, at least the atom's."""
    return max(m, atom.m), max(n, atom.n), max(k, atom.k)


def layout_atom(atom: MmaAtom) -> Atom:
    """The row's shape as ``layouts`` knows it."""
    return Atom(atom.m, atom.n, atom.k, atom.packed_bits or ELEMENT_BITS[atom.a_type])


def operand_signs(op: Any) -> tuple[bool, bool]:
    """Whether the operands of a product are signed; what does not say so is."""
    keys = ("signedness_lhs", "signedness_rhs")
    return tuple(op.attributes[key].data == "signed" if key in op.attributes else True for key in keys)


def product_shape(op: Any) -> tuple[int | None, int, int, int]:
    """(batch or None, m, n, k) of a ``dot``."""
    left, result = op.lhs.type.get_shape(), op.result.type.get_shape()
    batch = result[0] if len(result) == 3 else None
    return batch, result[-2], result[-1], left[-1]


def tiling_for(op: Any, atom: MmaAtom, warps: tuple[int, int, int]) -> MmaTiling:
    """The tiling of a ``dot`` over (warps_m, warps_n, warps_batch)."""
    batch, m, n, k = product_shape(op)
    m, n, k = padded_shape(m, n, k, atom)
    return mma_tiling(m, n, k, layout_atom(atom), warps[0], warps[1], batch, warps[2])


def tiling_of(op: Any, atom: MmaAtom) -> MmaTiling:
    """The tiling that layout assignment wrote on a ``dot``."""
    return tiling_for(op, atom, tuple(op.attributes["warps"].get_values()))


_TENSOR_MEMORY_ATOMS = {atom.name: atom for atom in TENSOR_MEMORY_ATOMS}


def tensor_memory_atom_of(op: Any) -> TensorMemoryAtom:
    """The tcgen05 row of a product, before (``tensor_memory``) or after (``atom``) its operands have their places."""
    return _TENSOR_MEMORY_ATOMS[op.attributes["atom" if op.name.endswith("async.umma") else "tensor_memory"].data]


def tensor_memory_tiles(op: Any, num_warps: int) -> tuple[TensorMemoryTile | None, TensorMemoryTile]:
    """How a product's left operand, were it there, and its accumulators lie in tensor memory."""
    atom = tensor_memory_atom_of(op)
    m, n = op.result.type.get_shape()
    left = tensor_memory_tile(m, k_of(op), ELEMENT_BITS[atom.a_type], num_warps)
    return left, tensor_memory_tile(m, n, 32, num_warps)


_WARPGROUP_ATOMS = {atom.name: atom for atom in WARPGROUP_ATOMS}


def warpgroup_atom_of(op: Any) -> WarpgroupAtom:
    """The wgmma row of a product, before (``warpgroup``) or after (``atom``) its operands are in shared memory."""
    return _WARPGROUP_ATOMS[op.attributes["atom" if op.name.endswith("async.dot") else "warpgroup"].data]


def warpgroup_tiling_of(op: Any, num_warps: int) -> WarpgroupTiling:
    """The tiling of a warpgroup product over a kernel's warps."""
    atom = warpgroup_atom_of(op)
    m, n = op.result.type.get_shape()
    k = k_of(op)
    return warpgroup_tiling(m, n, k, ELEMENT_BITS[atom.a_type], num_warps, "scattered_rows" in op.attributes)


def k_of(op: Any) -> int:
    """Length of the sum of a product, also of one whose operands are buffers."""
    if "rhs_placement" in op.attributes:
        return op.attributes["rhs_placement"].data.shape[0]
    return op.lhs.type.get_shape()[-1]
