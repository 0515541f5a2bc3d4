"""Expressions of generated lines as operations on strips (``strips.ROWS``)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

KINDS: dict[str, type[np.generic]] = {
    "f32": np.float32, "u32": np.uint32, "s32": np.int32, "u16": np.uint16, "p": np.bool_,
    "u64": np.uint64,
}  # fmt: skip
WORDS = ("f32", "u32", "s32")  # kinds of 32 bits, which are views of each other


class NotFusedError(Exception):
    """An expression that no row computes."""


@dataclass(frozen=True)
class Value:
    """A number of a program, and the kind as which its bits are read."""

    number: int
    kind: str


@dataclass
class Program:
    """The operations of a run. Values: what it is given, by variable, constants, and results in the order of the operations."""

    kinds: dict[str, str]  # of variables
    space: dict[str, object]
    given: dict[str, Value] = field(default_factory=dict)
    constants: dict[int, np.generic] = field(default_factory=dict)
    operations: list[tuple[str, int, list[int]]] = field(default_factory=list)
    variables: dict[str, Value] = field(default_factory=dict)  # as they are now
    count: int = 0
    computed: set[int] = field(default_factory=set)

    def new(self, kind: str) -> Value:
        self.count += 1
        return Value(self.count - 1, kind)

    def operate(self, name: str, kind: str, *operands: Value) -> Value:
        out = self.new(kind)
        self.operations.append((name, out.number, [operand.number for operand in operands]))
        self.computed.add(out.number)
        return out

    def value(self, node: ast.expr) -> Value:
        """The value of an expression. Raises ``NotFusedError``."""
        handler = _NODES.get(type(node))
        if handler is None:
            raise NotFusedError
        return handler(self, node)

    def number(self, number: np.generic) -> Value:
        """A constant of an operation that no variable has."""
        out = self.new("u32")
        self.constants[out.number] = number
        return out

    def float(self, node: ast.expr) -> Value:
        value = self.value(node)
        if value.kind != "f32":
            raise NotFusedError
        return value


def _name(program: Program, node: ast.Name) -> Value:
    name = node.id
    if name in program.variables:
        return program.variables[name]
    if name not in program.given:
        program.given[name] = (
            _constant(program, name) if name not in program.kinds else program.new(program.kinds[name])
        )
    return program.given[name]


def _constant(program: Program, name: str) -> Value:
    number = program.space.get(name)
    kind = next((kind for kind, type_ in KINDS.items() if type(number) is type_), None)
    if kind is None or not isinstance(number, np.generic):
        raise NotFusedError
    out = program.new(kind)
    program.constants[out.number] = number
    return out


_FLOATS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
_BITS = {
    ast.BitOr: "or", ast.BitAnd: "and", ast.BitXor: "xor", ast.LShift: "shift", ast.RShift: "shift.right", ast.Add: "plus",
}  # fmt: skip
_SHIFTS = (ast.LShift, ast.RShift)


def _binary(program: Program, node: ast.BinOp) -> Value:
    if isinstance(node.op, ast.BitOr) and ast.dump(node.left) == ast.dump(node.right):
        return program.value(node.left)
    left, right = program.value(node.left), program.value(node.right)
    if left.kind == right.kind == "f32" and type(node.op) in _FLOATS:
        return program.operate(_FLOATS[type(node.op)], "f32", left, right)
    if left.kind == right.kind == "p" and isinstance(node.op, ast.BitOr):
        return program.operate("either", "p", left, right)
    # Integers of others are addresses as a rule: fewer than threads, and no work.
    are_new = not program.computed.isdisjoint((left.number, right.number))
    if left.kind == right.kind == "u32" and type(node.op) in _BITS and are_new:
        if isinstance(node.op, _SHIFTS) and not int(program.constants.get(right.number, 32)) < 32:
            raise NotFusedError
        return program.operate(_BITS[type(node.op)], "u32", left, right)
    raise NotFusedError


def _call(program: Program, node: ast.Call) -> Value:
    if isinstance(node.func, ast.Attribute):
        return _method(program, node.func, node.args)
    if not isinstance(node.func, ast.Name) or node.func.id not in _CALLS or node.keywords:
        raise NotFusedError
    return _CALLS[node.func.id](program, node.args)


def _method(program: Program, function: ast.Attribute, arguments: list[ast.expr]) -> Value:
    """A view as another kind, or 16 bits as 32."""
    kind = arguments[0].id if len(arguments) == 1 and isinstance(arguments[0], ast.Name) else ""
    value = program.value(function.value)
    if function.attr == "view" and kind in WORDS and value.kind in WORDS:
        return Value(value.number, kind)
    if function.attr == "astype" and (value.kind, kind) in _WIDTHS:
        return program.operate(_WIDTHS[value.kind, kind], kind, value)
    raise NotFusedError


_WIDTHS = {("u16", "u32"): "extend", ("u32", "u16"): "low"}
_COMPARISONS = {ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge"}  # of integers with a sign


def _compare(program: Program, node: ast.Compare) -> Value:
    (kind,) = map(type, node.ops)
    left, right = map(program.value, (node.left, *node.comparators))
    if left.kind == right.kind == "f32" and kind is ast.NotEq:
        return program.operate("unequal", "p", left, right)
    if left.kind == right.kind == "s32" and kind in _COMPARISONS:
        return program.operate(_COMPARISONS[kind], "p", left, right)
    raise NotFusedError


def _field(program: Program, nodes: list[ast.expr]) -> Value:
    """Bits of a word from a place on, both known."""
    value, position, length = map(program.value, nodes[:3])
    known = [int(program.constants.get(number.number, 32)) for number in (position, length)]
    if _literals(nodes[3:]) != (False,) or value.kind != "u32" or not sum(known) <= 32 or 0 in known:
        raise NotFusedError
    moved = program.operate("shift.right", "u32", value, position)
    return program.operate("and", "u32", moved, program.number(np.uint32((1 << known[1]) - 1)))


def _literals(nodes: Sequence[ast.expr]) -> tuple:
    if not all(isinstance(node, ast.Constant) for node in nodes):
        raise NotFusedError
    return tuple(node.value for node in nodes if isinstance(node, ast.Constant))


def _extreme(program: Program, nodes: list[ast.expr]) -> Value:
    name, _, has_xor = _literals([nodes[0], *nodes[3:]])
    if has_xor:
        raise NotFusedError
    return program.operate(name, "f32", *map(program.float, nodes[1:3]))


def _paired(program: Program, nodes: list[ast.expr]) -> Value:
    (name,) = _literals(nodes[:1])
    return program.operate(name, "f32", *map(program.float, nodes[1:]))


def _approximate(program: Program, nodes: list[ast.expr], suffix: str = "") -> Value:
    (name,) = _literals(nodes[:1])
    if name != "ex2":
        raise NotFusedError
    return program.operate(name + suffix, "f32", program.float(nodes[1]))


def _narrow(program: Program, nodes: list[ast.expr]) -> Value:
    name, *how = _literals([nodes[0], *nodes[2:]])
    if name not in ("f16", "bf16") or tuple(how) != ("rn", False):
        raise NotFusedError
    return program.operate(name, "u16", program.float(nodes[1]))


def _half(name: str) -> Callable[[Program, list[ast.expr]], Value]:
    """Half of the bits of a register of 64."""

    def half(program: Program, nodes: list[ast.expr]) -> Value:
        value = program.value(*nodes)
        if value.kind != "u64":
            raise NotFusedError
        return program.operate(name, "u32", value)

    return half


def _join(program: Program, nodes: list[ast.expr]) -> Value:
    halves = list(map(program.value, nodes))
    if {half.kind for half in halves} != {"u32"}:
        raise NotFusedError
    return program.operate("join", "u64", *halves)


def _choose(program: Program, nodes: list[ast.expr]) -> Value:
    mask, new, old = map(program.value, nodes)
    if mask.kind != "p" or new.kind not in WORDS or old.kind != new.kind:
        raise NotFusedError
    return program.operate("select", new.kind, mask, new, old)


def _of_one(name: str, kind: str) -> Callable[[Program, list[ast.expr]], Value]:
    return lambda program, nodes: program.operate(name, kind, *map(program.float, nodes))


_CALLS: dict[str, Callable[[Program, list[ast.expr]], Value]] = {
    "extreme": _extreme, "paired": _paired, "approximate": _approximate, "narrow": _narrow, "choose": _choose,
    "approximate_flushed": lambda program, nodes: _approximate(program, nodes, ".ftz"),
    "fma32": _of_one("fma", "f32"), "bits32": _of_one("bits", "u32"), "tidy": _of_one("bits", "f32"),
    "flush": _of_one("flush", "f32"), "extract_field": _field,
    "lower_half": _half("lower"), "upper_half": _half("upper"), "joined_halves": _join,
}  # fmt: skip
_NODES: dict[type[ast.expr], Callable[..., Value]] = {
    ast.Name: _name,
    ast.BinOp: _binary,
    ast.Call: _call,
    ast.Compare: _compare,
}
