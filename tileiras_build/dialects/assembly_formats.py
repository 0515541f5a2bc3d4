"""xDSL's assembly formats, read when an operation is first parsed or printed by one."""

from __future__ import annotations

from functools import cached_property

from xdsl.irdl import OpDef
from xdsl.irdl.declarative_assembly_format import FormatDirective, FormatProgram

_read = FormatProgram.from_str


class DeferredFormat(FormatProgram):
    """The format ``text`` of an operation. That it is wrong is not said before it is used."""

    def __init__(self, text: str, operation: OpDef):
        vars(self).update(text=text, operation=operation)

    text: str
    operation: OpDef

    @cached_property
    def stmts(self) -> tuple[FormatDirective, ...]:
        """The parts of the format; raises ParseError."""
        return _read(self.text, self.operation).stmts


def defer_formats() -> None:
    """From now on operations are defined so."""
    FormatProgram.from_str = DeferredFormat  # type: ignore[method-assign,assignment]
