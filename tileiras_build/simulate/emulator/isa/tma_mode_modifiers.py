"""Load modes of tensor copies: tile, gather4 and scatter4, im2col."""

from __future__ import annotations

from .. import tensor_map


def is_gather4_or_scatter4(mods) -> bool:
    """tile::gather4 and tile::scatter4: a column coordinate and four independent row coordinates of a matrix."""
    return "tile::gather4" in mods or "tile::scatter4" in mods


# im2col load modes -> the mode of their tensor maps.
IM2COL_MODES = {name: name for name in ("im2col", *tensor_map.WIDE_MODES[1:])} | {"im2col_no_offs": "im2col"}


MAX_IM2COL_OFFSET = 32  # wOffset


def mode_of(mods) -> str:
    """The tensor map mode that a copy requires."""
    return next((IM2COL_MODES[m] for m in mods if m in IM2COL_MODES), "tile")


def is_im2col(mods) -> bool:
    """Whether a copy has an im2col mode."""
    return mode_of(mods) != "tile"


def is_im2col_w(mods) -> bool:
    """im2col::w and im2col::w::128: pixels along W only."""
    return mode_of(mods) in tensor_map.WIDE_MODES
