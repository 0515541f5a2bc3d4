"""How a dot's tile is divided into mma.sync atoms over the warps."""

from __future__ import annotations

from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import Atom, LinearLayout, MmaTiling, mma_tiling
from ....target.mma_atoms import ELEMENT_BITS, MmaAtom
from ..dots import dot_shape


def padded_shape(m: int, n: int, k: int, atom: MmaAtom) -> tuple[int, int, int]:
    """The tile's extents, at least the atom's."""
    return max(m, atom.m), max(n, atom.n), max(k, atom.k)


def layout_atom(atom: MmaAtom) -> Atom:
    """The row's shape as an ``Atom`` of ``layouts``."""
    return Atom(atom.m, atom.n, atom.k, atom.storage_bits or ELEMENT_BITS[atom.a_type])


def tiling_of(op: TableOp, atom: MmaAtom) -> MmaTiling:
    """The tiling of a dot over its ``warps``: (along m, n, batch)."""
    batch, m, n, k = dot_shape(op)
    m, n, k = padded_shape(m, n, k, atom)
    warps_m, warps_n, warps_batch = op.warps
    return mma_tiling(m, n, k, layout_atom(atom), warps_m, warps_n, batch, warps_batch)


def sliced_to_shape(layout: LinearLayout, shape: tuple[int, ...]) -> LinearLayout:
    """The layout of a smaller tile than that of ``layout``: positions outside of it become replicas."""
    for dim, size in enumerate(shape):
        if layout.shape[dim] != size:
            layout = layout.resize(dim, size)
    return layout
