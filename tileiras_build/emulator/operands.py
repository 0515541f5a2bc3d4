"""Which registers an instruction writes and reads."""

from __future__ import annotations

from collections.abc import Iterable

from .emit import items_of
from .syntax import SINK, Address, Arguments, Instruction, Negated, Pair, Register, Vector

_NO_RESULT = {"bra", "brx", "bar", "barrier", "nanosleep", "call", "ret", "exit", "trap", "st", "red", "setmaxnreg",
              "discard", "prefetch", "prefetchu", "pmevent", "tensormap", "_call", "_arguments"}  # fmt: skip


def results_of(ins: Instruction) -> list[Register]:
    """Registers that an instruction writes. The first operand is the destination unless it is an address."""
    if ins.op in _NO_RESULT or not ins.args or ins.mods[:1] == ("dealloc",):
        return []
    first = ins.args[0]
    if isinstance(first, Pair):
        return [r for part in (first.first, first.second) for r in items_of(part) if isinstance(r, Register)]
    if ins.op == "tcgen05" and "red" in ins.mods:
        return [r for r in (*items_of(first), ins.args[1]) if isinstance(r, Register)]
    return [r for r in items_of(first) if isinstance(r, Register)]


def _registers(operand, out: list) -> None:
    if isinstance(operand, Register):
        out.append(operand)
    elif isinstance(operand, (Vector, Arguments)):
        for item in operand.items:
            _registers(item, out)
    elif isinstance(operand, Address):
        _registers(operand.base, out)
        for item in operand.extra:
            _registers(item, out)
    elif isinstance(operand, Pair):
        _registers(operand.first, out)
        _registers(operand.second, out)
    elif isinstance(operand, Negated):
        _registers(operand.operand, out)


def sources_of(ins: Instruction) -> list[Register]:
    """Registers that an instruction reads; a predicated one also keeps its old results, a wgmma adds to them."""
    out: list[Register] = []
    args = ins.args
    results = results_of(ins)
    if ins.op == "wgmma":
        out += results
    for arg in args[1:] if results or (args and args[0] is SINK) else args:
        _registers(arg, out)
    if ins.predicate is not None:
        _registers(ins.predicate, out)
        out += results
    return out


def mask(registers: Iterable[Register]) -> int:
    """Registers as a bit mask of their slots."""
    out = 0
    for register in registers:
        out |= 1 << register.index
    return out
