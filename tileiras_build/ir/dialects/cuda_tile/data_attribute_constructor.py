"""Attributes of several plain Python values, with a constructor with named parameters.

xDSL's Data attributes hold one value, and the parser constructs them from the result of ``parse_parameter``. ``record``
defines a constructor for such a class, which the parser's result bypasses.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, TypeVar

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser

C = TypeVar("C", bound=Data)


class ParsedAttribute:
    """The result of ``parse_parameter``, to become the attribute's ``data``."""

    __slots__ = ("data",)

    def __init__(self, data: object):
        self.data = data


def record_attribute(cls: type[C]) -> type[C]:
    """Define a Data attribute whose constructor takes named values."""
    init, parse = cls.__init__, cls.parse_parameter

    @wraps(init)
    def __init__(self: C, *values: Any, **named: Any) -> None:
        if values and type(values[0]) is ParsedAttribute:
            Data.__init__(self, values[0].data)
        else:
            init(self, *values, **named)

    def parse_parameter(_: type[C], parser: AttrParser) -> ParsedAttribute:
        return ParsedAttribute(parse(parser))

    for name, method in {"__init__": __init__, "parse_parameter": classmethod(parse_parameter)}.items():
        setattr(cls, name, method)
    return irdl_attr_definition(cls)
