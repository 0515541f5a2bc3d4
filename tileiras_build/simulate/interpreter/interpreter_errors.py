"""Errors of the interpreter: violations of Tile IR's rules at run time."""

from __future__ import annotations

from xdsl.ir import Operation

from ...core.errors import InvalidInput
from ...ir.dialects.cuda_tile.location import source_location


class InterpreterFault(InvalidInput):
    """A violated rule, with the operation's name and location; ``address`` is that of an invalid access, else None."""

    address: int | None = None


def make_fault(op: Operation, id: str, message: str, *, address: int | None = None, remedy: str | None = None):
    """An InterpreterFault for an operation."""
    problem = InterpreterFault(
        id, f"{op.name.removeprefix('cuda_tile.')}: {message}", location=source_location(op), remedy=remedy
    )
    problem.address = address
    return problem
