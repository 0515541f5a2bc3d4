"""Alias-aware tile IR: what the program means, with memory order explicit and no layouts."""

from xdsl.ir import Dialect

from .kernel_spec import KernelSpecAttr
from .ops import OPERATIONS
from .types import MemRefType, PointerType, TiledViewType, TokenType

NvTileAA = Dialect("nv_tileaa", list(OPERATIONS), [KernelSpecAttr, MemRefType, PointerType, TiledViewType, TokenType])
