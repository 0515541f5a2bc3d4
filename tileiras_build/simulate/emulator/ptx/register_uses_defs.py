"""Uses and definitions of registers by instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..codegen.emit_block import vector_items
from .ast import SINK, Address, Arguments, Instruction, Negated, Pair, Register, Vector

_NO_RESULT = {"bra", "brx", "bar", "barrier", "nanosleep", "call", "ret", "exit", "trap", "st", "red", "setmaxnreg",
              "discard", "prefetch", "prefetchu", "pmevent", "tensormap", "_call", "_arguments"}  # fmt: skip


def registers_written(ins: Instruction) -> list[Register]:
    """The registers that an instruction writes. The first operand is the destination unless it is an address."""
    args = ins.args
    if not args or ins.op in _NO_RESULT:
        return []
    first = args[0]
    if type(first) is Register and ins.op != "tcgen05":
        return [first]  # the common case
    if ins.mods[:1] == ("dealloc",):
        return []
    if isinstance(first, Pair):
        return [r for part in (first.first, first.second) for r in vector_items(part) if isinstance(r, Register)]
    if ins.op == "tcgen05" and "red" in ins.mods:
        return [r for r in (*vector_items(first), args[1]) if isinstance(r, Register)]
    return [r for r in vector_items(first) if isinstance(r, Register)]


def _add_items(operand: Vector | Arguments, out: list[Register]) -> None:
    for item in operand.items:
        _add(item, out)


def _add_address(operand: Address, out: list[Register]) -> None:
    _add(operand.base, out)
    for item in operand.extra:
        _add(item, out)


def _add_pair(operand: Pair, out: list[Register]) -> None:
    _add(operand.first, out)
    _add(operand.second, out)


_REGISTERS_OF: dict[type, Callable[..., None]] = {
    Register: lambda operand, out: out.append(operand),
    Vector: _add_items,
    Arguments: _add_items,
    Address: _add_address,
    Pair: _add_pair,
    Negated: lambda operand, out: _add(operand.operand, out),
}


def _add(operand: object, out: list[Register]) -> None:
    """Add the registers of an operand."""
    if (parts := _REGISTERS_OF.get(type(operand))) is not None:
        parts(operand, out)


def registers_read(ins: Instruction, results: list[Register]) -> list[Register]:
    """The registers that an instruction reads. Predicated instructions and wgmma also read their results."""
    out: list[Register] = [*results] if ins.op == "wgmma" else []
    args = ins.args
    for arg in args[1:] if results or (args and args[0] is SINK) else args:
        if type(arg) is Register:
            out.append(arg)
        else:
            _add(arg, out)
    if ins.predicate is not None:
        _add(ins.predicate, out)
        out += results
    return out


def mask(registers: Iterable[Register]) -> int:
    """The bit mask of the slots of registers."""
    out = 0
    for register in registers:
        out |= 1 << register.index
    return out


def slots_of(mask: int) -> list[int]:
    """The slots of a sparse bit mask, ascending."""
    out = []
    while mask:
        lowest = mask & -mask
        out.append(lowest.bit_length() - 1)
        mask ^= lowest
    return out
