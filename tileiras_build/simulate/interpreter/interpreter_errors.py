"""What the interpreter reports: a program that breaks a rule of Tile IR while it runs."""

from __future__ import annotations

from xdsl.ir import Operation

from ...core.errors import InvalidInput
from ...ir.dialects.cuda_tile.location import source_location


class InterpreterFault(InvalidInput):
    """A broken rule, with the operation's name and source; ``address`` is that of a bad access, else None."""

    address: int | None = None


def make_fault(op: Operation, id: str, message: str, *, address: int | None = None, remedy: str | None = None):
    """The InterpreterFault of an operation, to be raised."""
    problem = InterpreterFault(
        id, f"{op.name.removeprefix('cuda_tile.')}: {message}", location=source_location(op), remedy=remedy
    )
    problem.address = address
    return problem
