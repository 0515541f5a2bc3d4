"""Products of warpgroups (PTX ISA 9.0, section 9.7.15, wgmma).

The right operand, and the left one unless it is a tile in registers, are read from a stage in shared memory through
matrix descriptors. Accumulators are tied operands of inline assembly: they stay in place from one product to the next,
and nothing reads them before the wait that ties them too. Where the tensor core keeps too few bits of a long sum, the
accumulators are new ones for each part of k, which ordinary instructions add to the sum of the product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...dialects.nv_tileas.ops import AsyncDotOp
from ...layouts import MatrixOperand, WarpgroupTiling, matrix_operand
from ...layouts.linear_layout import log2_exact
from ..analysis.dot_atoms import operand_signs, partial_sums, warpgroup_atom_of, warpgroup_tiling_of
from .async_copies import matrix_descriptor, stage_address
from .builder import CONVERGENT, Value
from .kernel_emitter import Handler, KernelEmitter, layout_of
from .shared_memory import pack_words

FENCE, COMMIT = "wgmma.fence.sync.aligned;", "wgmma.commit_group.sync.aligned;"
WAIT = "wgmma.wait_group.sync.aligned {};"
FLOAT = "float"
LETTERS = {"i64": "l", "i32": "r", FLOAT: "f"}
# Whether the first product of a part of k adds to its accumulators: no. No grid is empty either, but ptxas does not know, so
# the part takes the registers of one that has been added. Else ptxas would add late, and hold all parts in registers.
FROM_ZERO = ".reg .pred first; setp.ne.b32 first, 0, 0;"
FROM_ADDED = ".reg .pred first; .reg .b32 ctas; mov.u32 ctas, %nctaid.x; setp.eq.u32 first, ctas, 0;"


def emit_async_dot(e: KernelEmitter, op: Any) -> None:
    tiling = warpgroup_tiling_of(op, e.num_warps)
    product = _Product(e, op, tiling)
    if partial_sums(op):
        return _emit_in_parts(e, op, product)
    tiles = [(m, n) for m in range(tiling.m_tiles) for n in range(tiling.n_tiles)]
    waits = [_wait_text(op)] if "pending" in op.attributes else []
    words = _packed(e, op.result, list(e.registers_as(op.acc, tiling.c)))
    for number, (m_tile, n_tile) in enumerate(tiles):
        text = [FENCE] if number == 0 else []
        text += product.instructions(m_tile, n_tile)
        text += [COMMIT] if number == len(tiles) - 1 else []
        text += waits if len(tiles) == 1 else []
        product.run(text, words, tiling.c_registers(m_tile, n_tile))
    if len(tiles) > 1 and waits:
        words = _tied(e, op.result, waits, words, [])
    registers = _unpacked(e, op.result, words)
    _define(e, op, tiling, registers)


def _define(e: KernelEmitter, op: Any, tiling: WarpgroupTiling, registers: list[Value]) -> None:
    e.values[op.result] = [registers[name] for name in tiling.c.register_permutation(layout_of(op.result))]


def _emit_in_parts(e: KernelEmitter, op: Any, product: _Product) -> None:
    """Sums of ``partial_k`` products, each of which is added where its registers are wanted for another one."""
    tiling, (_, most) = product.tiling, partial_sums(op)
    sums = list(e.registers_as(op.acc, tiling.c))
    under_way: list[_Part] = []
    for m_tile, n_tile, k_tiles in product.parts():
        added = _add_oldest(e, sums, under_way) if len(under_way) == most else []
        first = FROM_ADDED if added else FROM_ZERO
        text = [FENCE, *product.instructions(m_tile, n_tile, k_tiles, first), COMMIT]
        part = _assembly(e, FLOAT, "f", text, added, product.inputs, product.outputs)
        left = [pair for pair in product.inputs if pair[0] == "i32"]
        under_way.append(_Part(tiling.c_registers(m_tile, n_tile), part, left))
    while under_way:
        _add_oldest(e, sums, under_way)
    _define(e, op, tiling, sums)


@dataclass
class _Part:
    """A sum of part of k under way: the registers of the sum that it is for, its own, and the left operand's in words."""

    members: range
    values: list[Value]
    left: list[tuple[str, Value]]


def _add_oldest(e: KernelEmitter, sums: list[Value], under_way: list[_Part]) -> list[Value]:
    """Wait for the oldest part and add it, in one text: LLVM would move the additions behind the next products."""
    part = under_way.pop(0)
    count, own = len(part.values), slice(part.members.start, part.members.stop)
    text = [WAIT.format(len(under_way)), *(f"add.rn.f32 ${i}, ${i}, ${2 * count + i};" for i in range(count))]
    sums[own] = _assembly(e, FLOAT, "f", text, sums[own], [*((FLOAT, value) for value in part.values), *part.left])
    return part.values


def emit_async_dot_wait(e: KernelEmitter, op: Any) -> None:
    words = _packed(e, op.result, e.registers(op.source))
    kept = [("i32", word) for word in _left_under_way(e, op.source.owner)]
    e.values[op.result] = _unpacked(e, op.result, _tied(e, op.result, [_wait_text(op)], words, kept))


def _left_under_way(e: KernelEmitter, product: Any) -> list[Value]:
    """The registers of a left operand, which the product reads until it is waited for: the wait names them as well."""
    if not isinstance(product, AsyncDotOp) or product.lhs_stage is not None:
        return []
    return _left_words(e, product, warpgroup_tiling_of(product, e.num_warps))


def _left_words(e: KernelEmitter, product: Any, tiling: WarpgroupTiling) -> list[Value]:
    """A left operand in registers, as 32-bit words."""
    return pack_words(e, e.element(product.lhs), e.packed_as(product.lhs, tiling.a))


def _wait_text(op: Any) -> str:
    return WAIT.format(op.attributes["pending"].value.data)


# ---- accumulators --------------------------------------------------------------------------------
def _packed(e: KernelEmitter, value: Any, registers: list[Value]) -> list[Value]:
    """Accumulators as the instruction holds them: 16-bit ones in pairs, which stay together until all are complete."""
    element = e.element(value)
    if element.bits != 16:
        return registers
    return pack_words(e, element, registers)


def _unpacked(e: KernelEmitter, value: Any, words: list[Value]) -> list[Value]:
    element = e.element(value)
    if element.bits != 16:
        return words
    return [half for word in words for half in _halves(e, element.register, word)]


def _tied(
    e: KernelEmitter, value: Any, text: Sequence[str], words: Sequence[Value], inputs: Sequence[tuple[str, Value]]
) -> list[Value]:
    """Run assembly whose outputs are the accumulators; ``inputs`` are (LLVM type, value) behind them."""
    element = e.element(value)
    if element.bits == 16:
        return _assembly(e, "i32", "r", text, words, inputs)
    return _assembly(e, element.register, "f" if element.is_float else "r", text, words, inputs)


def _halves(e: KernelEmitter, type: str, word: Value) -> list[Value]:
    vector = e.b.pure(f"bitcast i32 {word} to <2 x {type}>")
    return [e.b.pure(f"extractelement <2 x {type}> {vector}, i32 {i}") for i in range(2)]


def _assembly(
    e: KernelEmitter,
    type: str,
    letter: str,
    text: Sequence[str],
    values: Sequence[Value],
    inputs: Sequence[tuple[str, Value]],
    outputs: int | None = None,
) -> list[Value]:
    """The outputs, tied to ``values``, or as many new ones as ``outputs`` says."""
    count = len(values) if outputs is None else outputs
    constraints = [f"={letter}"] * count + [str(i) for i in range(len(values))]
    constraints += [LETTERS[kind] for kind, _ in inputs] + ["~{memory}"]
    arguments = [f"{type} {value}" for value in values] + [f"{kind} {value}" for kind, value in inputs]
    struct = "{" + ", ".join([type] * count) + "}"
    body, shapes = " ".join(text), ",".join(constraints)
    result = e.b.value(f'call {struct} asm sideeffect "{body}", "{shapes}"({", ".join(arguments)}) {CONVERGENT}')
    return e.b.unpack(struct, result, count)


# ---- operands ------------------------------------------------------------------------------------
@dataclass
class _Shared:
    """An operand in a stage: its canonical layout, and the descriptor of the part of this warpgroup."""

    layout: MatrixOperand
    descriptor: Value


class _Product:
    """The instructions of one ``async.dot``."""

    def __init__(self, e: KernelEmitter, op: Any, tiling: WarpgroupTiling):
        self.e, self.op, self.tiling = e, op, tiling
        self.atom = warpgroup_atom_of(op)
        self.inputs: list[tuple[str, Value]] = []
        self.tied = True
        groups = log2_exact(tiling.groups_m)
        self.left = self._in_shared("lhs", op.lhs, op.lhs_stage, 1, 6, range(2, 2 + groups)) if op.lhs_stage else None
        columns = log2_exact(tiling.group_n)
        others = range(2 + groups, 2 + groups + log2_exact(tiling.groups_n))
        self.right = self._in_shared("rhs", op.rhs, op.rhs_stage, 0, columns, others)
        self.words = None if self.left else _left_words(e, op, tiling)
        element = e.element(op.result)
        self.per_register = 2 if element.bits == 16 else 1

    def _in_shared(self, name: str, buffer: Any, stage: Any, k_dim: int, row_bit: int, warp_bits: range) -> _Shared:
        """``row_bit``: the first bit of the row number that the warps' bits ``warp_bits`` choose."""
        e, b = self.e, self.e.b
        layout = matrix_operand(self.op.attributes[f"{name}_placement"].data, k_dim)
        images = [0] * warp_bits.stop
        for bit, offset in zip(warp_bits, layout.row_offsets[row_bit:]):
            images[bit] = offset
        with e.in_prologue():
            group = b.linear(e.uniform_warp, images)
        address = b.add(stage_address(e, buffer, e.scalar(stage)), group)
        return _Shared(layout, matrix_descriptor(e, address, layout.wgmma_descriptor))

    # ---- text ------------------------------------------------------------------------------------
    def parts(self) -> Iterator[tuple[int, int, range]]:
        """(m_tile, n_tile, k_tiles) of each sum of as much of k as the tensor core may add up."""
        tiling = self.tiling
        steps = self.atom.partial_k // self.atom.k
        for start in range(0, tiling.k_tiles, steps):
            for m_tile in range(tiling.m_tiles):
                for n_tile in range(tiling.n_tiles):
                    yield m_tile, n_tile, range(start, min(start + steps, tiling.k_tiles))

    def instructions(self, m_tile: int, n_tile: int, k_tiles: range | None = None, first: str = "") -> list[str]:
        """One tile of the accumulators times all of k, or ``k_tiles`` of it. ``first`` sets the predicate ``first``: whether
        the first instruction adds to the accumulators.

        Operands are numbered behind the accumulators, and those that are tied to them.
        """
        tiling = self.tiling
        k_tiles = range(tiling.k_tiles) if k_tiles is None else k_tiles
        self.inputs, self.tied = [], first != FROM_ZERO
        self.outputs = len(tiling.c_registers(m_tile, n_tile)) // self.per_register
        accumulators = "{" + ", ".join(f"${i}" for i in range(self.outputs)) + "}"
        name = self.atom.ptx_name(tiling.columns, *operand_signs(self.op))
        text = ["{.reg .pred add; setp.ne.b32 add, 1, 0;", *([first] if first else [])]
        for k_tile in k_tiles:
            left = self._left(m_tile, k_tile)
            k = k_tile * tiling.depth
            right = self._advanced(self.right, n_tile * tiling.columns, k)
            add = "first" if first and k_tile == k_tiles.start else "add"
            text.append(f"{name} {accumulators}, {left}, {right}, {add}{self._tail()};")
        return [*text, "}"]

    def _tail(self) -> str:
        """Signs of the operands, then which are MN-major: as far as the type allows a choice."""
        if self.atom.a_type == "i8":
            return ""
        if not self.atom.transposable:
            return ", 1, 1"
        right = f", {int(not self.right.layout.k_major)}"
        left = f", {int(not self.left.layout.k_major)}" if self.left else ""
        return f", 1, 1{left}{right}"

    def _left(self, m_tile: int, k_tile: int) -> str:
        if self.left:
            return self._advanced(self.left, m_tile * self.tiling.m_step, k_tile * self.tiling.depth)
        members = self.tiling.a_registers(m_tile, k_tile)
        per_word = 32 // self.e.element(self.op.lhs).bits
        words = self.words[members.start // per_word : members.stop // per_word]
        return "{" + ", ".join(self._input("i32", word) for word in words) + "}"

    def _advanced(self, operand: _Shared, row: int, k: int) -> str:
        step = operand.layout.offset(row, k) >> 4
        return self._input("i64", self.e.b.add(operand.descriptor, step, "i64"))

    def _input(self, type: str, value: Value) -> str:
        if (type, value) not in self.inputs:
            self.inputs.append((type, value))
        return f"${(1 + self.tied) * self.outputs + self.inputs.index((type, value))}"

    def run(self, text: list[str], words: list[Value], members: range) -> None:
        part = slice(members.start // self.per_register, members.stop // self.per_register)
        words[part] = _tied(self.e, self.op.result, text, words[part], self.inputs)


HANDLERS: dict[str, Handler] = {
    "nv_tileas.async.dot": emit_async_dot,
    "nv_tileas.async.dot_wait": emit_async_dot_wait,
}
