"""The AST of a PTX module: operands, instructions, functions."""

from __future__ import annotations

from dataclasses import dataclass, field

TYPE_BITS = {
    "pred": 1, "b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "s16": 16, "f16": 16, "bf16": 16, "b32": 32,
    "u32": 32, "s32": 32, "f32": 32, "tf32": 32, "f16x2": 32, "bf16x2": 32, "b64": 64, "u64": 64, "s64": 64,
    "f64": 64, "f32x2": 64, "b128": 128, "e4m3x2": 16, "e5m2x2": 16, "e2m1x2": 8, "e2m3x2": 16, "e3m2x2": 16,
    "ue8m0x2": 16, "e4m3x4": 32, "e5m2x4": 32, "e2m3x4": 32, "e3m2x4": 32, "e2m1x4": 16, "u16x2": 32, "s16x2": 32,
    "u8x4": 32, "s8x4": 32,
}  # fmt: skip


class Register:
    """A virtual register. ``index`` is its slot in the register file, ``bits`` its width (1 = predicate)."""

    __slots__ = ("bits", "index", "kind", "name", "type")

    def __init__(self, index: int, name: str, type: str):
        self.index, self.name, self.type, self.bits = index, name, type, TYPE_BITS[type]
        self.kind = ""

    def __repr__(self):
        return self.name


class Special:
    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name


class Immediate:
    """``type`` is "int", "f32" or "f64"; ``value`` the integer, or the float's bits."""

    __slots__ = ("type", "value")

    def __init__(self, type: str, value: int):
        self.type, self.value = type, value


class Vector:
    __slots__ = ("items",)

    def __init__(self, items: list):
        self.items = items


class Address:
    """``[base + offset]``; base is a Register, a Variable, an Immediate or None; ``extra`` are further parts."""

    __slots__ = ("base", "extra", "offset")

    def __init__(self, base, offset: int = 0, extra=()):
        self.base, self.offset, self.extra = base, offset, extra


class Pair:
    __slots__ = ("first", "second")

    def __init__(self, first, second):
        self.first, self.second = first, second


class Negated:
    __slots__ = ("operand",)

    def __init__(self, operand):
        self.operand = operand


class Sink:
    """The sink operand ``_``: a discarded result."""

    __slots__ = ()


class Name:
    """A label or function name, resolved when the function is complete."""

    __slots__ = ("name", "offset", "scope")

    def __init__(self, name: str, scope, offset: int = 0):
        self.name, self.scope, self.offset = name, scope, offset


class Arguments:
    """The parenthesized lists of a call."""

    __slots__ = ("items",)

    def __init__(self, items: list):
        self.items = items


SINK = Sink()


@dataclass
class Variable:
    """A memory variable. The layout of the program assigns ``offset`` (an address for global and const)."""

    name: str
    space: str
    size: int
    align: int
    init: bytes | None = None
    relocations: list = field(default_factory=list)  # (offset, name, addend, generic)
    extern: bool = False
    offset: int = 0
    pointer: bool = False


class Instruction:
    __slots__ = ("args", "line", "mods", "negated", "op", "predicate", "text")

    def __init__(self, op, mods, args, predicate, negated, line, text):
        self.op, self.mods, self.args = op, mods, args
        self.predicate, self.negated, self.line, self.text = predicate, negated, line, text

    @property
    def opcode(self) -> str:
        return ".".join((self.op, *self.mods))


class Scope:
    """The names of a block scope."""

    __slots__ = ("cache", "labels", "names", "parent", "ranges")

    def __init__(self, parent=None):
        self.parent, self.names, self.ranges, self.labels, self.cache = parent, {}, {}, {}, {}


class Function:
    """One .entry or .func: parameters, body and variables; a label is an index into the body."""

    def __init__(self, name: str, entry: bool, params: list[Variable], results: list[Variable]):
        self.name, self.entry, self.params, self.results = name, entry, params, results
        self.body: list[Instruction] = []
        self.variables: list[Variable] = []
        self.reqntid: tuple[int, int, int] | None = None
        self.directives: dict[str, tuple[int, ...]] = {}
        self.defined = False
        self.targets: dict = {}
        self.last_label: int | None = None


class Module:
    def __init__(self):
        self.functions: dict[str, Function] = {}
        self.variables: dict[str, Variable] = {}
        self.registers: list[Register] = []
        self.version, self.target = "", ""
