"""CUTLASS: pipelines of stages in shared memory, and named barriers."""

from xdsl.ir import Dialect

from .ops import OPERATIONS
from .types import TYPES

Cutlass = Dialect("cutlass", list(OPERATIONS), list(TYPES))
