"""Generates the source of a Python function from the instructions of one basic block.

A register is a NumPy array over the threads of a group (or a NumPy scalar where all threads agree); the generated
function loads the registers that it reads from ``R`` into local variables, computes, and stores those that are
live at its end. Each register has one canonical *kind* (a dtype name such as ``u32`` or ``f32``); reading it as
another kind of the same width creates a view, once per definition.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from ..errors import UnsupportedInstruction
from ..isa.special_registers import KINDS as SPECIAL_KINDS
from ..isa.special_registers import SPECIALS
from ..ptx.ast import SINK, Address, Immediate, Instruction, Name, Negated, Register, Special, Variable, Vector
from .function_body import FunctionBody

if TYPE_CHECKING:
    from .f32x2_registers import F32Half

DTYPES = {
    "p": np.bool_, "u8": np.uint8, "s8": np.int8, "u16": np.uint16, "s16": np.int16, "f16": np.float16,
    "u32": np.uint32, "s32": np.int32, "f32": np.float32, "u64": np.uint64, "s64": np.int64, "f64": np.float64,
}  # fmt: skip
KIND_BITS = {"p": 1, "u8": 8, "s8": 8, "u16": 16, "s16": 16, "f16": 16, "u32": 32, "s32": 32, "f32": 32,
             "u64": 64, "s64": 64, "f64": 64, "b128": 128}  # fmt: skip
UNSIGNED = {1: "p", 8: "u8", 16: "u16", 32: "u32", 64: "u64", 128: "b128"}
SIGNED = {8: "s8", 16: "s16", 32: "s32", 64: "s64"}
FLOATS = {"f32", "f64"}  # 16-bit floats are stored as their bits

_TYPE_KINDS = {
    "pred": "p", "b8": "u8", "b16": "u16", "b32": "u32", "b64": "u64", "b128": "b128", "bf16": "u16", "f16": "u16",
    "f16x2": "u32", "bf16x2": "u32", "tf32": "u32", "f32x2": "u64", "u16x2": "u32", "s16x2": "u32",
    "u8x4": "u32", "s8x4": "u32",
}  # fmt: skip


def kind_of(type_: str) -> str:
    """The kind in which values of a PTX type are computed: ``b32`` -> ``u32``, ``bf16`` -> ``u16`` (its bits)."""
    return _TYPE_KINDS.get(type_, type_)


class Emitter:
    """Builds one generated function. Handlers call ``use``, ``set``, ``temp`` and ``line``."""

    def __init__(self, functions, pc: int, diverged: bool):
        from ..isa.mma_accumulation_chains import PendingMmaChains

        self.functions, self.program, self.name = functions, functions.program, f"block_{pc}"
        self.diverged = diverged  # whether warp-wide instructions may have to wait for other threads
        self.space = functions.namespace
        self.lines: list[str] = []
        self.loads: list[int] = []
        self.origin: list[int] = []  # pc of each line
        self.versions: dict[int, dict[str, str]] = {}  # register slot -> kind -> variable
        self.defined: set[int] = set()
        self.predicate: str | None = None
        self.ins: Instruction  # the current instruction
        self.first = self.pc = pc
        self.temps = 0
        self.memo: dict = {}
        self.stamp: dict[int, int] = {}
        self.pending_mmas = PendingMmaChains()
        self.pairs: dict[int, tuple[F32Half, F32Half]] = {}  # register slot -> its halves, if separate
        self.postponed: dict[int, str] = {}  # register slot -> source of a value without a reader so far

    # -- text ----------------------------------------------------------------------------------------
    def line(self, text: str) -> None:
        self.lines.append(text)
        self.origin.append(self.pc)

    def temp(self, expression: str) -> str:
        """Bind an expression to a fresh variable."""
        self.temps += 1
        name = f"t{self.temps}"
        self.line(f"{name} = {expression}")
        return name

    def constant(self, value, hint: str = "c") -> str:
        """The name of a Python object in the generated code."""
        name = f"{hint}_{len(self.space)}"
        self.space[name] = value
        return name

    def scalar(self, kind: str, value) -> str:
        """The name of a NumPy scalar of ``kind``; integers wrap to the width."""
        key = ("scalar", kind, value)
        name = self.functions.constants.get(key)
        if name is None:
            if kind == "p":
                number = np.bool_(value)
            elif kind in FLOATS:
                number = DTYPES[kind](value)
            else:
                bits = KIND_BITS[kind]
                number = DTYPES[UNSIGNED[bits]](value & ((1 << bits) - 1)).view(DTYPES[kind])
            name = self.functions.constants[key] = self.constant(number, f"k_{kind}")
        return name

    def fail(self, why: str = "unknown form") -> NoReturn:
        raise UnsupportedInstruction(f"line {self.ins.line}: {why}: {self.ins.text}")

    # -- reading -------------------------------------------------------------------------------------
    def use(self, operand, kind: str) -> str:
        """Source of an operand as ``kind``. A wider register is truncated, as PTX's relaxed type-checking rules allow."""
        if isinstance(operand, Register):
            return self.register(operand, kind)
        if isinstance(operand, Immediate):
            return self.immediate(operand, kind)
        if isinstance(operand, Special):
            return self.special(operand, kind)
        if isinstance(operand, Negated):
            return f"(~{self.use(operand.operand, 'p')})"
        if isinstance(operand, (Variable, Name, Address)):
            return self.symbol(operand, kind)
        self.fail(f"unexpected operand {operand!r}")

    def symbol(self, operand, kind: str) -> str:
        """The address of a symbol within its space."""
        value = self.program.address_of(operand, self.ins)
        if not self.program.in_own_shared(operand):
            return self.scalar(kind, value)
        address = self.temp(f"g.shared_window + {self.scalar('u32', value)}")
        return address if kind == "u32" else f"{address}.astype({kind})"

    def emit_pending_mma(self, register: Register) -> None:
        """Emit the pending MMAs if one of them writes this register."""
        if register.index in self.pending_mmas.slots:
            self.pending_mmas.emit(self)

    def register(self, register: Register, kind: str) -> str:
        self.emit_pending_mma(register)
        names = self.versions.get(register.index)
        if register.index in self.postponed:
            names = self.join_halves(register.index)
        if names is None:
            names = self.versions[register.index] = {register.kind: f"r{register.index}"}
            self.loads.append(register.index)
        found = names.get(kind)
        if found is None:
            found = self.convert(register, names, kind)
        return found

    def join_halves(self, slot: int) -> dict[str, str]:
        """Emit the postponed value of a 64-bit register; returns its versions."""
        self.line(f"r{slot} = {self.postponed.pop(slot)}")
        self.versions[slot] = {"u64": f"r{slot}"}
        return self.versions[slot]

    def convert(self, register: Register, names: dict, kind: str) -> str:
        source = names[register.kind]
        bits = KIND_BITS[kind]
        if bits > register.bits:
            if register.bits == 1 or kind in FLOATS:
                self.fail(f"register {register.name} is too narrow")
            names[kind] = self.temp(f"{self.register(register, UNSIGNED[register.bits])}.astype({kind})")
            return names[kind]
        if bits < register.bits:
            if register.bits == 128:
                self.fail("a 128-bit register used as a scalar")
            low = self.register(register, UNSIGNED[register.bits])
            name = self.temp(f"{low}.astype({UNSIGNED[bits]})")
            if kind != UNSIGNED[bits]:
                name = self.temp(f"{name}.view({kind})")
        elif register.kind in FLOATS:
            name = self.temp(f"bits{bits}({source})")
            if kind != UNSIGNED[bits]:
                names[UNSIGNED[bits]] = name
                name = self.temp(f"{name}.view({kind})")
        else:
            name = f"r{register.index}_{kind}"
            self.line(f"{name} = {source}.view({kind})")
        names[kind] = name
        return name

    def immediate(self, operand: Immediate, kind: str) -> str:
        value = operand.value
        if kind in FLOATS:
            if operand.type == "int":
                bits = KIND_BITS[kind]
                number = DTYPES[UNSIGNED[bits]](value & ((1 << bits) - 1)).view(DTYPES[kind])
                return self.functions.float_constant(self, kind, number)
            number = (
                struct.unpack("<d", struct.pack("<Q", value))[0]
                if operand.type == "f64"
                else np.uint32(value).view(np.float32)
            )
            return self.functions.float_constant(self, kind, DTYPES[kind](number))
        if operand.type == "f64" and KIND_BITS[kind] == 32:
            value = int(np.float32(struct.unpack("<d", struct.pack("<Q", value))[0]).view(np.uint32))
        return self.scalar(kind, bool(value) if kind == "p" else value)

    def special(self, operand: Special, kind: str) -> str:
        if operand.name not in SPECIALS:
            self.fail(f"unknown special register %{operand.name}")
        key = ("special", operand.name)
        if key not in self.memo or operand.name in ("clock", "clock64", "globaltimer"):
            self.memo[key] = self.temp(f"g.special({operand.name!r})")
        name = self.memo[key]
        have = SPECIAL_KINDS.get(operand.name, "u32")
        return name if kind == have else f"{name}.astype({kind})"

    def version(self, operand):
        """A key that changes whenever the operand's value may have changed, for reuse of derived values."""
        if isinstance(operand, Register):
            self.emit_pending_mma(operand)
            return (operand.index, self.stamp.get(operand.index, 0))
        return id(operand)

    # -- writing -------------------------------------------------------------------------------------
    def set(self, operand, kind: str, expression: str) -> None:
        """Assign an expression of ``kind`` to a destination; narrower values are sign- or zero-extended by kind."""
        if operand is SINK:
            self.line(expression)
            return
        if not isinstance(operand, Register):
            self.fail("the destination is not a register")
        bits, have = KIND_BITS[kind], operand.bits
        if bits != have:
            if bits > have:
                self.fail(f"destination {operand.name} is too narrow")
            if kind in FLOATS:
                expression, kind = f"bits{bits}({expression})", UNSIGNED[bits]
            target = SIGNED[have] if kind[0] == "s" else UNSIGNED[have]
            expression, kind = f"({expression}).astype({target})", target
        self.assign(operand, kind, expression)

    def define(self, register: Register) -> None:
        """Start a new definition of a register."""
        self.emit_pending_mma(register)
        slot = register.index
        self.pairs.pop(slot, None)
        self.postponed.pop(slot, None)
        self.defined.add(slot)
        self.stamp[slot] = self.stamp.get(slot, 0) + 1

    def assign(self, register: Register, kind: str, expression: str) -> None:
        self.emit_pending_mma(register)
        slot, canonical = register.index, register.kind
        extra = None
        if kind != canonical:
            if kind in FLOATS:
                expression = f"bits{register.bits}({expression})"
                if canonical in FLOATS:
                    expression += f".view({canonical})"
            elif kind[0] == "s" and canonical[0] == "u" and self.predicate is None:
                extra = f"r{slot}_{kind}"
                self.line(f"{extra} = {expression}")
                expression = f"{extra}.view({canonical})"
            else:
                expression = f"({expression}).view({canonical})"
        if self.predicate is not None:
            old = self.register(register, canonical)
            expression = f"choose({self.predicate}, {expression}, {old})"
        name = f"r{slot}"
        self.line(f"{name} = {expression}")
        self.versions[slot] = {canonical: name}
        if extra is not None:
            self.versions[slot][kind] = extra
        self.define(register)

    def set_tuple(self, operands, kind: str, expression: str) -> None:
        """Assign the items of a tuple-valued expression to several destinations."""
        names = []
        for _ in operands:
            self.temps += 1
            names.append(f"t{self.temps}")
        self.line(f"{', '.join(names)}{',' if len(names) == 1 else ''} = {expression}")
        for operand, name in zip(operands, names):
            if operand is not SINK:
                self.set(operand, kind, name)

    # -- the function --------------------------------------------------------------------------------
    def finish(self, live_out: int, tail: str, file: str, end: int) -> FunctionBody:
        """The function up to ``end``: body, write-back of live registers, and ``tail``."""
        self.pending_mmas.emit(self)
        wanted = [slot for slot in sorted(self.defined) if live_out >> slot & 1]
        for slot in wanted:  # adjacent, so that these lines are merged
            if slot in self.postponed:
                self.join_halves(slot)
        for slot in wanted:
            self.line(f"R[{slot}] = r{slot}")
        self.line(tail)
        lines = [*(f"r{slot} = R[{slot}]" for slot in self.loads), *self.lines]
        origin = [self.origin[0]] * len(self.loads) + self.origin
        place = self.name, lines, origin, self.space, file
        return FunctionBody(*place, tuple(self.loads), end - self.first, end)


def vector_items(operand) -> list:
    """The items of a vector operand, or the operand itself."""
    return operand.items if isinstance(operand, Vector) else [operand]
