"""Attributes made of several plain Python values, with a constructor that names them.

xDSL's Data attributes hold one value and the parser constructs them from what ``parse_parameter`` returns.
``record`` lets such a class have a constructor of its own: the parser's result bypasses it.
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition

C = TypeVar("C", bound=type[Data])


class Parsed:
    """What ``parse_parameter`` gave, on its way to the attribute's ``data``."""

    __slots__ = ("data",)

    def __init__(self, data):
        self.data = data


def record(cls: C) -> C:
    """Define a Data attribute whose constructor takes named values."""
    init, parse = cls.__init__, cls.parse_parameter.__func__

    def __init__(self, *values, **named):
        if values and type(values[0]) is Parsed:
            Data.__init__(self, values[0].data)
        else:
            init(self, *values, **named)

    def parse_parameter(cls, parser):
        return Parsed(parse(cls, parser))

    __init__.__doc__, __init__.__wrapped__ = init.__doc__, init
    cls.__init__ = __init__
    cls.parse_parameter = classmethod(parse_parameter)
    return irdl_attr_definition(cls)
