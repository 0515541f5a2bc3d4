"""The dialect of layout algebra, for hand-written IR.

In it ``cute.layout`` is a type, in text artifacts an attribute. No text uses both dialects, and compiling a kernel does
not load this one.
"""

from xdsl.ir import Dialect

from .ops import OPERATIONS
from .types import TYPES

CuteAlgebra = Dialect("cute", list(OPERATIONS), list(TYPES))
