"""Lowers expressions of generated lines to vector operations (``vector_vm.VECTOR_OPS``)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

KINDS: dict[str, type[np.generic]] = {
    "f32": np.float32, "u32": np.uint32, "s32": np.int32, "u16": np.uint16, "p": np.bool_,
    "u64": np.uint64,
}  # fmt: skip
WORD_KINDS = ("f32", "u32", "s32")  # 32-bit kinds, which are views of each other


class NotVectorizableError(Exception):
    """An expression without a vector operation."""


@dataclass(frozen=True)
class VectorValue:
    """The index of a value in a program, and the kind of the view of its bits."""

    number: int
    kind: str


@dataclass
class VectorProgram:
    """The operations of a run. Its values are inputs, by variable, constants, and the results of the operations, in order."""

    kinds: dict[str, str]  # of variables
    space: dict[str, object]
    inputs: dict[str, VectorValue] = field(default_factory=dict)
    constants: dict[int, np.generic] = field(default_factory=dict)
    operations: list[tuple[str, int, list[int]]] = field(default_factory=list)
    variables: dict[str, VectorValue] = field(default_factory=dict)  # current values
    count: int = 0
    computed: set[int] = field(default_factory=set)

    def new(self, kind: str) -> VectorValue:
        self.count += 1
        return VectorValue(self.count - 1, kind)

    def append(self, name: str, kind: str, *operands: VectorValue) -> VectorValue:
        out = self.new(kind)
        self.operations.append((name, out.number, [operand.number for operand in operands]))
        self.computed.add(out.number)
        return out

    def value(self, node: ast.expr) -> VectorValue:
        """The value of an expression. Raises ``NotVectorizableError``."""
        handler = _NODES.get(type(node))
        if handler is None:
            raise NotVectorizableError
        return handler(self, node)

    def number(self, number: np.generic) -> VectorValue:
        """A constant operand."""
        out = self.new("u32")
        self.constants[out.number] = number
        return out

    def float(self, node: ast.expr) -> VectorValue:
        value = self.value(node)
        if value.kind != "f32":
            raise NotVectorizableError
        return value


def _name(program: VectorProgram, node: ast.Name) -> VectorValue:
    name = node.id
    if name in program.variables:
        return program.variables[name]
    if name not in program.inputs:
        program.inputs[name] = (
            _constant(program, name) if name not in program.kinds else program.new(program.kinds[name])
        )
    return program.inputs[name]


def _constant(program: VectorProgram, name: str) -> VectorValue:
    number = program.space.get(name)
    kind = next((kind for kind, type_ in KINDS.items() if type(number) is type_), None)
    if kind is None or not isinstance(number, np.generic):
        raise NotVectorizableError
    out = program.new(kind)
    program.constants[out.number] = number
    return out


_FLOATS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
_BITS = {
    ast.BitOr: "or", ast.BitAnd: "and", ast.BitXor: "xor", ast.LShift: "shift", ast.RShift: "shift.right", ast.Add: "plus",
}  # fmt: skip
_SHIFTS = (ast.LShift, ast.RShift)


def _binary(program: VectorProgram, node: ast.BinOp) -> VectorValue:
    if isinstance(node.op, ast.BitOr) and ast.dump(node.left) == ast.dump(node.right):
        return program.value(node.left)
    left, right = program.value(node.left), program.value(node.right)
    if left.kind == right.kind == "f32" and type(node.op) in _FLOATS:
        return program.append(_FLOATS[type(node.op)], "f32", left, right)
    if left.kind == right.kind == "p" and isinstance(node.op, ast.BitOr):
        return program.append("either", "p", left, right)
    # Other integers are usually addresses, with fewer elements than threads.
    are_new = not program.computed.isdisjoint((left.number, right.number))
    if left.kind == right.kind == "u32" and type(node.op) in _BITS and are_new:
        if isinstance(node.op, _SHIFTS) and not int(program.constants.get(right.number, 32)) < 32:
            raise NotVectorizableError
        return program.append(_BITS[type(node.op)], "u32", left, right)
    raise NotVectorizableError


def _call(program: VectorProgram, node: ast.Call) -> VectorValue:
    if isinstance(node.func, ast.Attribute):
        return _method(program, node.func, node.args)
    if not isinstance(node.func, ast.Name) or node.func.id not in _CALLS or node.keywords:
        raise NotVectorizableError
    return _CALLS[node.func.id](program, node.args)


def _method(program: VectorProgram, function: ast.Attribute, arguments: list[ast.expr]) -> VectorValue:
    """A view as another kind, or an extension of 16 bits to 32."""
    kind = arguments[0].id if len(arguments) == 1 and isinstance(arguments[0], ast.Name) else ""
    value = program.value(function.value)
    if function.attr == "view" and kind in WORD_KINDS and value.kind in WORD_KINDS:
        return VectorValue(value.number, kind)
    if function.attr == "astype" and (value.kind, kind) in _WIDTHS:
        return program.append(_WIDTHS[value.kind, kind], kind, value)
    raise NotVectorizableError


_WIDTHS = {("u16", "u32"): "extend", ("u32", "u16"): "low"}
_COMPARISONS = {ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge"}  # of signed integers


def _compare(program: VectorProgram, node: ast.Compare) -> VectorValue:
    (kind,) = map(type, node.ops)
    left, right = map(program.value, (node.left, *node.comparators))
    if left.kind == right.kind == "f32" and kind is ast.NotEq:
        return program.append("unequal", "p", left, right)
    if left.kind == right.kind == "s32" and kind in _COMPARISONS:
        return program.append(_COMPARISONS[kind], "p", left, right)
    raise NotVectorizableError


def _field(program: VectorProgram, nodes: list[ast.expr]) -> VectorValue:
    """A bit-field of a word, with constant position and length."""
    value, position, length = map(program.value, nodes[:3])
    known = [int(program.constants.get(number.number, 32)) for number in (position, length)]
    if _literals(nodes[3:]) != (False,) or value.kind != "u32" or not sum(known) <= 32 or 0 in known:
        raise NotVectorizableError
    moved = program.append("shift.right", "u32", value, position)
    return program.append("and", "u32", moved, program.number(np.uint32((1 << known[1]) - 1)))


def _literals(nodes: Sequence[ast.expr]) -> tuple:
    if not all(isinstance(node, ast.Constant) for node in nodes):
        raise NotVectorizableError
    return tuple(node.value for node in nodes if isinstance(node, ast.Constant))


def _extreme(program: VectorProgram, nodes: list[ast.expr]) -> VectorValue:
    name, _, has_xor = _literals([nodes[0], *nodes[3:]])
    if has_xor:
        raise NotVectorizableError
    return program.append(name, "f32", *map(program.float, nodes[1:3]))


def _paired(program: VectorProgram, nodes: list[ast.expr]) -> VectorValue:
    (name,) = _literals(nodes[:1])
    return program.append(name, "f32", *map(program.float, nodes[1:]))


def _approximate(program: VectorProgram, nodes: list[ast.expr], suffix: str = "") -> VectorValue:
    (name,) = _literals(nodes[:1])
    if name != "ex2":
        raise NotVectorizableError
    return program.append(name + suffix, "f32", program.float(nodes[1]))


def _narrow(program: VectorProgram, nodes: list[ast.expr]) -> VectorValue:
    name, *how = _literals([nodes[0], *nodes[2:]])
    if name not in ("f16", "bf16") or tuple(how) != ("rn", False):
        raise NotVectorizableError
    return program.append(name, "u16", program.float(nodes[1]))


def _half(name: str) -> Callable[[VectorProgram, list[ast.expr]], VectorValue]:
    """The low or high half of a 64-bit register."""

    def half(program: VectorProgram, nodes: list[ast.expr]) -> VectorValue:
        value = program.value(*nodes)
        if value.kind != "u64":
            raise NotVectorizableError
        return program.append(name, "u32", value)

    return half


def _join(program: VectorProgram, nodes: list[ast.expr]) -> VectorValue:
    halves = list(map(program.value, nodes))
    if {half.kind for half in halves} != {"u32"}:
        raise NotVectorizableError
    return program.append("join", "u64", *halves)


def _choose(program: VectorProgram, nodes: list[ast.expr]) -> VectorValue:
    mask, new, old = map(program.value, nodes)
    if mask.kind != "p" or new.kind not in WORD_KINDS or old.kind != new.kind:
        raise NotVectorizableError
    return program.append("select", new.kind, mask, new, old)


def _of_one(name: str, kind: str) -> Callable[[VectorProgram, list[ast.expr]], VectorValue]:
    return lambda program, nodes: program.append(name, kind, *map(program.float, nodes))


_CALLS: dict[str, Callable[[VectorProgram, list[ast.expr]], VectorValue]] = {
    "min_max": _extreme, "f32x2_operation": _paired, "approximate": _approximate, "narrow": _narrow, "choose": _choose,
    "approximate_flushed": lambda program, nodes: _approximate(program, nodes, ".ftz"),
    "fma32": _of_one("fma", "f32"), "bits32": _of_one("bits", "u32"), "canonicalize_nans": _of_one("bits", "f32"),
    "flush": _of_one("flush", "f32"), "extract_field": _field,
    "lower_half": _half("lower"), "upper_half": _half("upper"), "joined_halves": _join,
}  # fmt: skip
_NODES: dict[type[ast.expr], Callable[..., VectorValue]] = {
    ast.Name: _name,
    ast.BinOp: _binary,
    ast.Call: _call,
    ast.Compare: _compare,
}
