"""CuTe layouts as attributes: where each element of a tile is held.

``#cute.layout<(16,16), ((4,8),(2,2),2):((2,16),(128,0),1)>``: the tile's shape, then for lanes, warps and registers the
modes and strides over the row-major index of the tile. Stride 0 repeats (layouts/cute.py).
"""

from xdsl.ir import Dialect

from .layout import LayoutAttr
from .ops import OPERATIONS
from .shared import SharedLayoutAttr
from .types import TYPES

Cute = Dialect("cute", [], [LayoutAttr, SharedLayoutAttr])
# The dialect of layout algebra (ops.py, types.py): there ``cute.layout`` is a type, so that the two never meet in one text.
CuteAlgebra = Dialect("cute", list(OPERATIONS), list(TYPES))
