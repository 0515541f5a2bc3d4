"""mma.sync on fragments.

``mma`` of the operation names the row of ``target/mma_atoms.py``; ``warps`` is (warps_m, warps_n, warps_batch). Operands
shorter than the atom are held repeated (rows and columns: the copies compute copies) or masked to zero (along k).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from ....core.errors import InternalError
from ....ir.casting import tile_type, typed
from ....ir.dialects.cute import layout_of
from ....ir.dialects.cute_nvgpu.atom_mnemonics import mma_of
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import LinearLayout, MmaTiling
from ....target.mma_atoms import MmaAtom
from ...common.llvm_element_types import Element, element_of
from ...common.llvm_type_constructors import DOUBLE, FLOAT, HALF, I16, I32, vector
from ...tileas_to_ll.emission.element_constants import zero_element
from ...tileas_to_ll.emission.function_builder import Value
from ...tileas_to_ll.emission.instruction_builder import InstructionBuilder
from ...tileas_to_ll.emission.kernel_emitter import Handler, KernelEmitter
from ...tileas_to_ll.emission.register_values import RegisterValue, materialize
from ...tileas_to_ll.emission.value_map import ValueMap
from ...tileas_to_ll.memory.shared_memory import pack_register, pack_scales
from ..dots import operand_signs
from .family import FAMILY
from .tiling import sliced_to_shape, tiling_of

FP4_BITS, FP4_PADDING = 4, 2
HALF_TYPES = vector(2, HALF)
# The values of an atom's operands, as target/mma_atoms.py spells them.
VALUE_TYPES: dict[str, Attribute] = {"i32": I32, "float": FLOAT, "double": DOUBLE, "<2 x half>": HALF_TYPES}


def emit_dot(e: KernelEmitter, op: TableOp) -> None:
    atom = FAMILY.row_of(op)
    tiling = tiling_of(op, atom)
    a_words = _operand_registers(e, op.lhs, tiling.a, VALUE_TYPES[atom.a_value], tiling, 0)
    b_words = _operand_registers(e, op.rhs, tiling.b, VALUE_TYPES[atom.b_value], tiling, 1)
    accumulators = _accumulators(e.values, op, tiling)
    scales = None if op.lhs_scale is None else _Scales(e, op, atom, tiling)
    is_packed, types = VALUE_TYPES[atom.c_value] == HALF_TYPES, [VALUE_TYPES[atom.c_value]] * atom.c_registers
    mma_op, kind = mma_of(atom, *operand_signs(op))
    overflow = "wrapped" if atom.a_type == "i8" else None
    for tile, (a, b, c) in zip(tiling.tiles(), tiling.atoms()):
        operands = [a_words(a), b_words(b), _c_values(e.b, is_packed, [accumulators[register] for register in c])]
        if scales is not None:
            operands.append(scales.operands(*tile))
        result = e.b.issue_several(mma_op, *operands, types=types, atom=kind, overflow=overflow)
        for register, value in zip(c, _c_scalars(e.b, is_packed, result)):
            accumulators[register] = value
    _set_result(e.values, op, tiling, accumulators)


class _Scales:
    """The scales of an MMA's operands, in the registers of the threads that supply them."""

    def __init__(self, e: KernelEmitter, op: TableOp, atom: MmaAtom, tiling: MmaTiling):
        self.e, self.atom = e, atom
        self.sides = [
            (value, tiling.scales(operand, atom.scale_block))
            for value, operand in ((op.lhs_scale, "A"), (op.rhs_scale, "B"))
        ]
        self.held = [
            e.values.packed_as(value, sliced_to_shape(scales.layout, tuple(value.type.get_shape())))
            for value, scales in self.sides
        ]

    def operands(self, batch: int, k_tile: int, m_tile: int, n_tile: int) -> list[Value]:
        """The word, the byte in it and the thread that has it, for A and for B."""
        first = k_tile * self.atom.k // self.atom.scale_block
        constant = self.e.b.constant
        result: list[Value] = []
        for (value, scales), registers, tile in zip(self.sides, self.held, (m_tile, n_tile)):
            members, byte, thread = scales.registers(tile, first, batch)
            word = pack_scales(self.e.b, element_of(value.type), [registers[register] for register in members])
            result += [word, constant(byte, I16), constant(thread, I16)]
        return result


def _operand_registers(
    e: KernelEmitter, value: SSAValue, layout: LinearLayout, type: Attribute, tiling: MmaTiling, k_from_end: int
) -> Callable[[range], list[Value]]:
    """A function from the registers of an atom's operand to its words, each of ``type``."""
    shape = tuple(tile_type(value).get_shape())
    element = element_of(value.type)
    k_dim = len(shape) - 1 if k_from_end == 0 else len(shape) - 2
    registers: Sequence[RegisterValue]
    if layout.shape[k_dim] != shape[k_dim]:
        registers = _masked(e, value, layout, shape, k_dim, element)
    else:
        registers = e.values.packed_as(value, sliced_to_shape(layout, shape))
    per_word = max(1, 32 // element.bits)

    def words(members: range) -> list[Value]:
        if element.bits >= 32:
            return [e.b.bitcast(materialize(e.b, registers[register]), type, element.type) for register in members]
        groups = [members[i : i + per_word] for i in range(0, len(members), per_word)]
        packed = [pack_register(e.b, element, [registers[r] for r in group]) for group in groups]
        return [e.b.bitcast(word, type) for word in _narrowed(e.b, element, packed, tiling)]

    return words


def _narrowed(b: InstructionBuilder, element: Element, words: list[Value], tiling: MmaTiling) -> list[Value]:
    """fp4 as instructions read it: two to a byte, or in the middle of one (PTX ISA 9.0, section 9.7.14.5.12).

    Two words of four neighbors along k become one with the elements of the second between those of the first: A and B
    have them in the same order, and all have one scale.
    """
    if element.per_byte == 1:
        return words
    if tiling.atom.element_bits == 8:
        return [b.shift(word, FP4_PADDING) for word in words]
    return [b.or_(low, b.shift(high, FP4_BITS)) for low, high in zip(words[::2], words[1::2])]


def _masked(
    e: KernelEmitter, value: SSAValue, layout: LinearLayout, shape: tuple[int, ...], k_dim: int, element: Element
) -> list[Value]:
    """Registers of the padded operand: zero where the position along k is past the tile."""
    registers = e.values.registers_as(value, sliced_to_shape(layout, shape))
    unit = 1
    for size in layout.shape[k_dim + 1 :]:
        unit *= size
    beyond = (layout.shape[k_dim] - shape[k_dim]) * unit
    thread_mask = sum(1 << bit for bit, image in enumerate((*layout.lanes, *layout.warps)) if image & beyond)
    inside = None
    if thread_mask:
        with e.b.at_function_start():
            inside = e.b.compare("eq", e.b.and_(e.threads.thread, thread_mask), 0)
    result = []
    for register, offset in enumerate(layout.register_offsets):
        if offset & beyond:
            result.append(zero_element(e.b, element))
        elif inside is None:
            result.append(registers[register])
        else:
            result.append(e.b.select(inside, registers[register], zero_element(e.b, element), element.type))
    return result


def _accumulators(values: ValueMap, op: TableOp, tiling: MmaTiling) -> list[Value]:
    wanted = sliced_to_shape(tiling.c, tuple(op.acc.type.get_shape()))
    return list(values.registers_as(op.acc, wanted))


def _c_values(b: InstructionBuilder, is_packed: bool, scalars: list[Value]) -> list[Value]:
    """The accumulator operands: pairs of halves for f16 accumulation."""
    if not is_packed:
        return scalars
    return [b.vector(scalars[first : first + 2], HALF_TYPES) for first in range(0, len(scalars), 2)]


def _c_scalars(b: InstructionBuilder, is_packed: bool, values: Sequence[SSAValue]) -> Sequence[Value]:
    if not is_packed:
        return values
    return [b.element(typed(value, VectorType), i) for value in values for i in range(2)]


def _set_result(values: ValueMap, op: TableOp, tiling: MmaTiling, accumulators: list[Value]) -> None:
    held = sliced_to_shape(tiling.c, tuple(op.result.type.get_shape()))
    names = held.register_permutation(layout_of(op.result))
    if names is None:
        raise InternalError("dot-layout", "the result of a dot does not have its atom's layout")
    values[op.result] = [accumulators[name] for name in names]


HANDLERS: dict[str, Handler] = {"nv_tileas.dot": emit_dot}
