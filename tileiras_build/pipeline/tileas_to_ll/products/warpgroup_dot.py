"""Products of warpgroups (PTX ISA 9.0, section 9.7.15, wgmma).

The right operand, and the left one unless it is a tile in registers, are read from a stage in shared memory through
matrix descriptors. Accumulators are tied to the results of each group and wait (``dialects/nvvm/warpgroup.py``): they
stay in place from one product to the next, and nothing reads them before the wait. Where the tensor core keeps too few
bits of a long sum, the accumulators are new ones for each part of k, which ordinary instructions add to the sum of the
product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from ....dialects.nv_tileas.ops import AsyncDotOp
from ....dialects.nvvm.warpgroup import WgmmaGroupOp, WgmmaWaitOp
from ....layouts import MatrixOperand, WarpgroupTiling, matrix_operand
from ....layouts.linear_layout import log2_exact
from ...analysis.dot_atoms import operand_signs, partial_sums, warpgroup_atom_of, warpgroup_tiling_of
from ...shared.accessors import given, typed
from ...shared.element_types import Element
from ...shared.llvm_types import I32, I64, struct, vector
from ..emission.kernel_emitter import Handler, KernelEmitter, layout_of
from ..emission.thread_code import Value
from ..memory.shared_memory import pack_words
from ..pipelines.async_copies import matrix_descriptor, stage_address


def emit_async_dot(e: KernelEmitter, op: Any) -> None:
    tiling = warpgroup_tiling_of(op, e.num_warps)
    product = _Product(e, op, tiling)
    if partial_sums(op):
        return _emit_in_parts(e, op, product)
    tiles = [(m, n) for m in range(tiling.m_tiles) for n in range(tiling.n_tiles)]
    pending = _pending(op)
    words = _packed(e, op.result, list(e.registers_as(op.acc, tiling.c)))
    for number, (m_tile, n_tile) in enumerate(tiles):
        own = product.members(m_tile, n_tile)
        group = product.group(m_tile, n_tile, range(tiling.k_tiles))
        place = {"fence": number == 0, "commit": number == len(tiles) - 1}
        words[own] = group.issue(words[own], **place, pending=pending if len(tiles) == 1 else None)
    if len(tiles) > 1 and pending is not None:
        words = list(_wait(e, e.element(op.result), pending, words))
    registers = _unpacked(e, op.result, words)
    _define(e, op, tiling, registers)


def _define(e: KernelEmitter, op: Any, tiling: WarpgroupTiling, registers: list[Value]) -> None:
    e.values[op.result] = [registers[name] for name in given(tiling.c.register_permutation(layout_of(op.result)))]


def _emit_in_parts(e: KernelEmitter, op: Any, product: _Product) -> None:
    """Sums of ``partial_k`` products, each of which is added where its registers are wanted for another one."""
    tiling, (_, most) = product.tiling, given(partial_sums(op))
    sums = list(e.registers_as(op.acc, tiling.c))
    under_way: list[_Part] = []
    for m_tile, n_tile, k_tiles in product.parts():
        added = _add_oldest(e, op, sums, under_way) if len(under_way) == most else []
        group = product.group(m_tile, n_tile, k_tiles)
        part = group.issue(added, first="added" if added else "zero", fence=True, commit=True)
        left = [value for value in group.inputs if value.type == I32]
        under_way.append(_Part(product.members(m_tile, n_tile), part, left))
    while under_way:
        _add_oldest(e, op, sums, under_way)
    _define(e, op, tiling, sums)


@dataclass
class _Part:
    """A sum of part of k under way: the registers of the sum that it is for, its own, and the left operand's in words."""

    members: slice
    values: list[SSAValue]
    left: list[SSAValue]


def _add_oldest(e: KernelEmitter, op: Any, sums: list[Value], under_way: list[_Part]) -> list[SSAValue]:
    """Wait for the oldest part and add it, at once: LLVM would move the additions behind the next products."""
    part = under_way.pop(0)
    sums[part.members] = _wait(
        e, e.element(op.result), len(under_way), sums[part.members], added=part.values, kept=part.left
    )
    return part.values


def emit_async_dot_wait(e: KernelEmitter, op: Any) -> None:
    words = _packed(e, op.result, e.registers(op.source))
    kept = _left_under_way(e, op.source.owner)
    words = list(_wait(e, e.element(op.result), given(_pending(op)), words, kept=kept))
    e.values[op.result] = _unpacked(e, op.result, words)


def _wait(
    e: KernelEmitter,
    element: Element,
    pending: int,
    words: Sequence[Value],
    *,
    added: Sequence[Value] = (),
    kept: Sequence[Value] = (),
) -> list[SSAValue]:
    """The accumulators where at most ``pending`` groups are under way, with ``added`` added to them."""
    type = struct(*[_word_type(element)] * len(words))
    return e.b.unpack(e.b.issue(WgmmaWaitOp, words, added, kept, type=type, pending=pending))


def _left_under_way(e: KernelEmitter, product: Any) -> list[Value]:
    """The registers of a left operand, which the product reads until it is waited for: the wait names them as well."""
    if not isinstance(product, AsyncDotOp) or product.lhs_stage is not None:
        return []
    return _left_words(e, product, warpgroup_tiling_of(product, e.num_warps))


def _left_words(e: KernelEmitter, product: Any, tiling: WarpgroupTiling) -> list[Value]:
    """A left operand in registers, as 32-bit words."""
    return pack_words(e, e.element(product.lhs), e.packed_as(product.lhs, tiling.a))


def _pending(op: Any) -> int | None:
    """How many groups may be under way behind an operation; None where it does not wait."""
    pending = op.attributes.get("pending")
    return None if pending is None else pending.value.data


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
    return [half for word in words for half in _halves(e, element, word)]


def _word_type(element: Element) -> Attribute:
    """The type of a register of accumulators."""
    return I32 if element.bits == 16 else element.type


def _halves(e: KernelEmitter, element: Element, word: Value) -> list[SSAValue]:
    pair = typed(e.b.computed(e.b.bitcast(word, vector(2, element.type))), VectorType)
    return [e.b.element(pair, index) for index in range(2)]


# ---- operands ------------------------------------------------------------------------------------
@dataclass
class _Shared:
    """An operand in a stage: its canonical layout, and the descriptor of the part of this warpgroup."""

    layout: MatrixOperand
    descriptor: SSAValue


class _Group:
    """The products of one tile of accumulators: their inputs, each once, and what each product takes of them."""

    def __init__(self, product: _Product, outputs: int):
        self.product = product
        self.type = struct(*[_word_type(product.element)] * outputs)
        self.inputs: list[SSAValue] = []
        self.left: list[int] = []
        self.right: list[int] = []

    def add(self, left: Sequence[Value], right: Value) -> None:
        """One more product: a descriptor or words, and a descriptor."""
        self.left += [self._number(value) for value in left]
        self.right.append(self._number(right))

    def _number(self, value: Value) -> int:
        given = self.product.e.b.of(value, I32)
        if given not in self.inputs:
            self.inputs.append(given)
        return self.inputs.index(given)

    def issue(self, accumulators: Sequence[Value], **places: bool | int | str | None) -> list[SSAValue]:
        """The sums. ``places``: what stands before and behind the products, and what the first one adds to."""
        operands = {"left": tuple(self.left), "right": tuple(self.right)}
        b, fixed = self.product.e.b, self.product.attributes
        return b.unpack(b.issue(WgmmaGroupOp, accumulators, self.inputs, type=self.type, **fixed, **operands, **places))


class _Product:
    """The instructions of one ``async.dot``."""

    def __init__(self, e: KernelEmitter, op: Any, tiling: WarpgroupTiling):
        self.e, self.op, self.tiling = e, op, tiling
        self.atom = warpgroup_atom_of(op)
        self.element = e.element(op.result)
        groups = log2_exact(tiling.groups_m)
        self.left = self._in_shared("lhs", op.lhs, op.lhs_stage, 1, 6, range(2, 2 + groups)) if op.lhs_stage else None
        columns = log2_exact(tiling.group_n)
        others = range(2 + groups, 2 + groups + log2_exact(tiling.groups_n))
        self.right = self._in_shared("rhs", op.rhs, op.rhs_stage, 0, columns, others)
        self.words = None if self.left else _left_words(e, op, tiling)
        self.per_register = 2 if self.element.bits == 16 else 1
        self.attributes = self._attributes()

    def _attributes(self) -> dict[str, str | int | tuple[int, ...]]:
        """What all groups of this product have in common."""
        operands = self.left, self.right
        return {
            "atom": self.atom.name,
            "columns": self.tiling.columns,
            "signed": tuple(map(int, operand_signs(self.op))),
            "mn_major": tuple(int(operand is not None and not operand.layout.k_major) for operand in operands),
        }

    def _in_shared(self, name: str, buffer: Any, stage: Any, k_dim: int, row_bit: int, warp_bits: range) -> _Shared:
        """``row_bit``: the first bit of the row number that the warps' bits ``warp_bits`` choose."""
        e, b = self.e, self.e.b
        layout = given(matrix_operand(self.op.attributes[f"{name}_placement"].data, k_dim))
        images = [0] * warp_bits.stop
        for bit, offset in zip(warp_bits, layout.row_offsets[row_bit:]):
            images[bit] = offset
        with e.b.in_prologue():
            group = b.linear(e.uniform_warp, images)
        address = b.add(stage_address(e, buffer, e.scalar(stage)), group)
        return _Shared(layout, matrix_descriptor(e, address, layout.wgmma_descriptor))

    # ---- instructions ----------------------------------------------------------------------------
    def parts(self) -> Iterator[tuple[int, int, range]]:
        """(m_tile, n_tile, k_tiles) of each sum of as much of k as the tensor core may add up."""
        tiling = self.tiling
        steps = self.atom.partial_k // self.atom.k
        for start in range(0, tiling.k_tiles, steps):
            for m_tile in range(tiling.m_tiles):
                for n_tile in range(tiling.n_tiles):
                    yield m_tile, n_tile, range(start, min(start + steps, tiling.k_tiles))

    def members(self, m_tile: int, n_tile: int) -> slice:
        """Which registers of the accumulators one tile of them has."""
        held = self.tiling.c_registers(m_tile, n_tile)
        return slice(held.start // self.per_register, held.stop // self.per_register)

    def group(self, m_tile: int, n_tile: int, k_tiles: range) -> _Group:
        """One tile of the accumulators times ``k_tiles`` of k."""
        tiling, own = self.tiling, self.members(m_tile, n_tile)
        group = _Group(self, own.stop - own.start)
        for k_tile in k_tiles:
            left = self._left(m_tile, k_tile)
            group.add(left, self._advanced(self.right, n_tile * tiling.columns, k_tile * tiling.depth))
        return group

    def _left(self, m_tile: int, k_tile: int) -> list[Value]:
        """The left operand of one instruction: a descriptor, or words."""
        if self.left:
            return [self._advanced(self.left, m_tile * self.tiling.m_step, k_tile * self.tiling.depth)]
        members = self.tiling.a_registers(m_tile, k_tile)
        per_word = 32 // self.e.element(self.op.lhs).bits
        return given(self.words)[members.start // per_word : members.stop // per_word]

    def _advanced(self, operand: _Shared, row: int, k: int) -> Value:
        return self.e.b.add(operand.descriptor, operand.layout.offset(row, k) >> 4, I64)


HANDLERS: dict[str, Handler] = {
    "nv_tileas.async.dot": emit_async_dot,
    "nv_tileas.async.dot_wait": emit_async_dot_wait,
}
