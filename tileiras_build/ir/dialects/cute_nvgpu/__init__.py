"""Atoms of CuTe: the MMAs, copies and descriptors of each GPU generation."""

from xdsl.ir import Dialect

from .ops import OPERATIONS
from .types import TYPES

CuteNvgpu = Dialect("cute_nvgpu", list(OPERATIONS), list(TYPES))
