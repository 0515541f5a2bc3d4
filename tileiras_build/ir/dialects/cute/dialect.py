"""The dialect of layout algebra, for IR that is written by hand.

In it ``cute.layout`` is a type, in the text artifacts an attribute. No text uses both dialects, and compiling a kernel does
not load this one.
"""

from xdsl.ir import Dialect

from .ops import OPERATIONS
from .types import TYPES

CuteAlgebra = Dialect("cute", list(OPERATIONS), list(TYPES))
