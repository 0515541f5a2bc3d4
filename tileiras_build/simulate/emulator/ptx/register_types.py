"""Assigns each register its canonical kind: float if every definition is float arithmetic, else unsigned."""

from __future__ import annotations

import numpy as np

from .. import isa
from ..codegen.emit_block import FLOATS, UNSIGNED
from .ast import Immediate, Instruction, Register, Vector


def find_kinds(
    code: list[Instruction], sources: list[list[Register]], results: list[list[Register]]
) -> dict[int, Register]:
    """Set the canonical kinds of all registers; returns the registers by slot."""
    used: dict[int, Register] = {}
    kinds: dict[int, str] = {}
    copies: list[tuple[Register, Register]] = []
    for ins, reads, writes in zip(code, sources, results):
        for register in reads:
            used[register.index] = register
        for position, register in enumerate(writes):
            used[register.index] = register
            _note_kind(ins, position, register, kinds, copies)
    changed = True
    while changed:
        changed = False
        for destination, source in copies:
            kind = kinds.get(source.index)
            if kind is not None and _join(kinds, destination, kind):
                changed = True
    for slot, register in used.items():
        register.kind = kinds.get(slot, UNSIGNED[register.bits])
    return used


def _note_kind(ins: Instruction, position: int, register: Register, kinds: dict[int, str], copies: list) -> None:
    bits = UNSIGNED[register.bits]
    if ins.op in ("mov", "selp") and not isinstance(ins.args[0], Vector):
        for source in ins.args[1:3]:
            if isinstance(source, Register) and source.bits == register.bits:
                copies.append((register, source))
            elif not (isinstance(source, Immediate) and _is_number(source, register)):
                _join(kinds, register, bits)
        return
    kind = isa.result_kind(ins, position)
    same = kind in FLOATS and UNSIGNED[{"f16": 16, "f32": 32, "f64": 64}[kind]] == bits
    _join(kinds, register, kind if same else bits)


def _is_number(operand: Immediate, register: Register) -> bool:
    """Whether a float register can represent a constant; it would not preserve the payload of a NaN."""
    if operand.type == "int":
        return operand.value == 0
    value = (
        np.uint32(operand.value).view(np.float32)
        if operand.type == "f32"
        else np.uint64(operand.value).view(np.float64)
    )
    return not np.isnan(value) and {"f32": 32, "f64": 64}[operand.type] == register.bits


def _join(kinds: dict[int, str], register: Register, kind: str) -> bool:
    old = kinds.get(register.index)
    new = kind if old in (None, kind) else UNSIGNED[register.bits]
    kinds[register.index] = new
    return new != old
