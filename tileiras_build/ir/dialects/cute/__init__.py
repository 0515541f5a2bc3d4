"""CuTe layouts as attributes: which lane, warp and register holds each element of a tile.

``#cute.layout<(16,16), ((4,8),(2,2),2):((2,16),(128,0),1)>``: the tile's shape, then for lanes, warps and registers the
modes and strides over the row-major index of the tile. Stride 0 replicates (ir/layouts/cute_text.py).
"""

from xdsl.ir import Dialect

from .layout_attr import LayoutAttr, layout_of, layout_of_type
from .shared_layout_attr import SharedLayoutAttr

__all__ = ["Cute", "LayoutAttr", "SharedLayoutAttr", "layout_of", "layout_of_type"]

Cute = Dialect("cute", [], [LayoutAttr, SharedLayoutAttr])
