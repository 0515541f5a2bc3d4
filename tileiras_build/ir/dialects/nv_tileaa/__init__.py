"""Alias-aware tile IR: the semantics of the program, with explicit memory order and without layouts."""

from xdsl.ir import Dialect

from .kernel_spec import KernelSpecAttr
from .ops import OPERATIONS
from .types import MemRefType, PointerType, TiledViewType, TokenType

NvTileAA = Dialect("nv_tileaa", list(OPERATIONS), [KernelSpecAttr, MemRefType, PointerType, TiledViewType, TokenType])
