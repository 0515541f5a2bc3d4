"""The half of a right operand that each CTA of a pair loads: of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...ir.dialects.nv_tileaa.types import TiledViewType
from ...ir.layouts import SharedLayout, matrix_operand
from ...ir.layouts.matrix_descriptor import WIDE, WIDE_CHUNK
from ...ir.layouts.shared_layout import VECTOR_BYTES
from ...ir.layouts.tmem_layout import PAIR
from ..analysis.dot_operand_chains import smem_layout_after_views
from ..analysis.tensor_windows import tile_order
from ..analysis.tma_operands import TmaOperand
from ..analysis.tma_tensor_maps import LONGEST_LINE, PATTERN_LINES, SHORTEST_SWIZZLED_LINE, MapBox


def half_of_operand(operand: TmaOperand) -> tuple[int, SharedLayout, SharedLayout] | None:
    """``half_of`` for a right operand that TMA copies."""
    load, chain, box = operand
    seen = smem_layout_after_views(chain, box.placement)
    return None if seen is None else half_of(load.view.type, box, box.placement, seen)


def half_of(
    view: TiledViewType, box: MapBox, whole: SharedLayout, seen: SharedLayout
) -> tuple[int, SharedLayout, SharedLayout] | None:
    """(the dimension of a loaded tile that is the columns, the placement of half of it, the same in the dot's dimensions (k, n)).

    ``whole`` and ``seen``: the placement of the tile, in its own dimensions and in the dot's. None where TMA cannot put half a
    tile where the MMA reads it.
    """
    dims = [dim for dim, extent in enumerate(whole.shape) if extent > 1]
    for columns, permutation in ((1, [0, 1]), (0, [1, 0])):
        if len(dims) != 2 or _squeezed(whole).permute_dims(permutation) != seen:
            continue
        half = _placed(view, box, whole.element_bits, dims[columns])
        if half is None:
            continue
        found = _squeezed(half).permute_dims(permutation)
        if _majorness(found) == _majorness(seen) is not None:
            return dims[columns], half, found
    return None


def halved(tile: Sequence[int], dim: int) -> list[int]:
    return [extent // PAIR if index == dim else extent for index, extent in enumerate(tile)]


def _squeezed(placement: SharedLayout) -> SharedLayout:
    return placement.reshape([extent for extent in placement.shape if extent > 1])


def _majorness(placement: SharedLayout) -> bool | None:
    operand = matrix_operand(placement, 0)
    return None if operand is None else operand.k_major


def _placed(view: TiledViewType, box: MapBox, element_bits: int, dim: int) -> SharedLayout | None:
    """Half a tile as TMA puts it into shared memory; None where TMA cannot."""
    order = tile_order(view, box.dims)
    tile, bytes, is_wide = halved(view.tile, dim), element_bits // 8, box.swizzle == WIDE
    line = min(LONGEST_LINE, tile[order[0]] * bytes)
    if line < (LONGEST_LINE if is_wide else SHORTEST_SWIZZLED_LINE) or prod(tile) * bytes % (line * PATTERN_LINES):
        return None
    return SharedLayout.boxed(tile, order, element_bits, line, WIDE_CHUNK if is_wide else VECTOR_BYTES)
