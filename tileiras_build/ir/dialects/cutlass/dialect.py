"""The dialect, for text. Conversions import the types alone."""

from xdsl.ir import Dialect

from .ops import OPERATIONS
from .types import TYPES

Cutlass = Dialect("cutlass", list(OPERATIONS), list(TYPES))
