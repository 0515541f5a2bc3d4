"""The dialect of layout algebra, for IR that is written by hand.

There ``cute.layout`` is a type, and in the text artifacts an attribute: the two dialects never meet in one text, and
compiling a kernel does not load this one.
"""

from xdsl.ir import Dialect

from .ops import OPERATIONS
from .types import TYPES

CuteAlgebra = Dialect("cute", list(OPERATIONS), list(TYPES))
