"""Matrix products: mma.sync on fragments, or fused multiply-adds on any layout.

``atom`` of the operation names the row of ``targets.py``; ``tiling`` is (warps_m, warps_n, warps_batch). Operands shorter
than the atom are held repeated (rows and columns: the copies compute copies) or masked to zero (along k).
"""

from __future__ import annotations

from typing import Any

from ...errors import InternalError
from ...layouts import LinearLayout, MmaTiling, SharedLayout, shared_access, unpack
from ...targets import MmaAtom
from ..analysis.dot_atoms import atom_named, operand_signs, tiling_of
from ..shared.element_types import Element, element_of
from .builder import Value
from .kernel_emitter import Handler, KernelEmitter, layout_of, taken
from .shared_memory import load_shared, pack_scales, pack_word, store_registers

VECTOR_BYTES = 16
FP4_BITS, FP4_PADDING = 4, 2


def emit_dot(e: KernelEmitter, op: Any) -> None:
    if "atom" in op.attributes:
        return _emit_mma(e, op)
    _emit_multiply_add(e, op)


# ---- mma.sync ------------------------------------------------------------------------------------
def _emit_mma(e: KernelEmitter, op: Any) -> None:
    atom = atom_named(e.target, op.attributes["atom"].data)
    tiling = tiling_of(op, atom)
    a_words = _operand_words(e, op.lhs, tiling.a, atom.a_value, tiling, 0)
    b_words = _operand_words(e, op.rhs, tiling.b, atom.b_value, tiling, 1)
    accumulators = _accumulators(e, op, tiling, atom)
    intrinsic = _intrinsic(op, atom)
    scales = None if op.lhs_scale is None else _Scales(e, op, atom, tiling)
    for tile, (a, b, c) in zip(tiling.tiles(), tiling.atoms()):
        operands = [f"{atom.a_value} {word}" for word in a_words(a)]
        operands += [f"{atom.b_value} {word}" for word in b_words(b)]
        values = _c_values(e, atom, [accumulators[register] for register in c])
        operands += [f"{atom.c_value} {value}" for value in values]
        operands += [] if scales is None else scales.operands(*tile)
        type = "{" + ", ".join([atom.c_value] * atom.c_registers) + "}"
        result = e.b.call(type, f"@{intrinsic}", ", ".join(operands))
        for register, value in zip(c, _c_scalars(e, atom, e.b.unpack(type, result, atom.c_registers))):
            accumulators[register] = value
    _set_result(e, op, tiling, accumulators)


class _Scales:
    """The scales of a product's operands in the registers of their threads."""

    def __init__(self, e: KernelEmitter, op: Any, atom: MmaAtom, tiling: MmaTiling):
        self.e, self.atom = e, atom
        self.sides = [
            (value, tiling.scales(operand, atom.scale_block))
            for value, operand in ((op.lhs_scale, "A"), (op.rhs_scale, "B"))
        ]
        self.held = [
            e.packed_as(value, _restricted(scales.layout, tuple(value.type.get_shape())))
            for value, scales in self.sides
        ]

    def operands(self, batch: int, k_tile: int, m_tile: int, n_tile: int) -> list[str]:
        """The word, the byte in it and the thread that has it, for A and for B."""
        first = k_tile * self.atom.k // self.atom.scale_block
        result = []
        for (value, scales), registers, tile in zip(self.sides, self.held, (m_tile, n_tile)):
            members, byte, thread = scales.registers(tile, first, batch)
            word = pack_scales(self.e, element_of(value.type), [registers[register] for register in members])
            result += [f"i32 {word}", f"i16 {byte}", f"i16 {thread}"]
        return result


def _intrinsic(op: Any, atom: MmaAtom) -> str:
    return atom.intrinsic_name(*operand_signs(op))


def _restricted(layout: LinearLayout, shape: tuple[int, ...]) -> LinearLayout:
    """The layout of the tile itself within the padded one: bits beyond its extent repeat."""
    for dim, size in enumerate(shape):
        if layout.shape[dim] != size:
            layout = layout.resize(dim, size)
    return layout


def _operand_words(e: KernelEmitter, value: Any, layout: LinearLayout, type: str, tiling: MmaTiling, k_from_end: int):
    """A function from the registers of an atom's operand to its words, each of LLVM ``type``."""
    shape = tuple(value.type.get_shape())
    element = element_of(value.type)
    k_dim = len(shape) - 1 if k_from_end == 0 else len(shape) - 2
    if layout.shape[k_dim] != shape[k_dim]:
        registers = _masked(e, value, layout, shape, k_dim, element)
    else:
        registers = e.packed_as(value, _restricted(layout, shape))
    per_word = max(1, 32 // element.bits)

    def words(members: range) -> list[Value]:
        if element.bits >= 32:
            return [_typed_scalar(e, element, taken(e.b, registers[register]), type) for register in members]
        groups = [members[i : i + per_word] for i in range(0, len(members), per_word)]
        packed = [pack_word(e, element, [registers[r] for r in group]) for group in groups]
        return [_typed_word(e, word, type) for word in _narrowed(e, element, packed, tiling)]

    return words


def _narrowed(e: KernelEmitter, element: Element, words: list[Value], tiling: MmaTiling) -> list[Value]:
    """fp4 as instructions read it: two to a byte, or in the middle of one (PTX ISA 9.0, section 9.7.14.5.12).

    Two words of four neighbors along k become one with the elements of the second between those of the first: A and B
    have them in the same order, and all have one scale.
    """
    if element.per_byte == 1:
        return words
    if tiling.atom.element_bits == 8:
        return [e.b.shift(word, FP4_PADDING) for word in words]
    return [e.b.or_(low, e.b.shift(high, FP4_BITS)) for low, high in zip(words[::2], words[1::2])]


def _typed_scalar(e: KernelEmitter, element: Element, value: Value, type: str) -> Value:
    return value if element.register == type else e.b.pure(f"bitcast {element.register} {value} to {type}")


def _typed_word(e: KernelEmitter, word: Value, type: str) -> Value:
    return word if type == "i32" else e.b.pure(f"bitcast i32 {word} to {type}")


def _masked(e, value, layout, shape, k_dim, element) -> list[Value]:
    """Registers of the padded operand: zero where the position along k is past the tile."""
    registers = e.registers_as(value, _restricted(layout, shape))
    unit = 1
    for size in layout.shape[k_dim + 1 :]:
        unit *= size
    beyond = (layout.shape[k_dim] - shape[k_dim]) * unit
    thread_mask = sum(1 << bit for bit, image in enumerate((*layout.lanes, *layout.warps)) if image & beyond)
    inside = None
    if thread_mask:
        with e.in_prologue():
            inside = e.b.compare("eq", e.b.and_(e.thread, thread_mask), 0)
    result = []
    for register, offset in enumerate(layout.register_offsets):
        if offset & beyond:
            result.append(element.zero)
        elif inside is None:
            result.append(registers[register])
        else:
            type = element.register
            result.append(e.b.pure(f"select i1 {inside}, {type} {registers[register]}, {type} {element.zero}"))
    return result


def _accumulators(e: KernelEmitter, op: Any, tiling: MmaTiling, atom: MmaAtom) -> list[Value]:
    wanted = _restricted(tiling.c, tuple(op.acc.type.get_shape()))
    return list(e.registers_as(op.acc, wanted))


def _c_values(e: KernelEmitter, atom: MmaAtom, scalars: list[Value]) -> list[Value]:
    """The accumulator operands: pairs of halves for f16 accumulation."""
    if not atom.c_value.startswith("<2"):
        return scalars
    pairs = [scalars[i : i + 2] for i in range(0, len(scalars), 2)]
    half = e.b
    result = []
    for low, high in pairs:
        one = half.pure(f"insertelement <2 x half> undef, half {low}, i32 0")
        result.append(half.pure(f"insertelement <2 x half> {one}, half {high}, i32 1"))
    return result


def _c_scalars(e: KernelEmitter, atom: MmaAtom, values: list[str]) -> list[Value]:
    if not atom.c_value.startswith("<2"):
        return values
    return [e.b.pure(f"extractelement <2 x half> {value}, i32 {i}") for value in values for i in range(2)]


def _set_result(e: KernelEmitter, op: Any, tiling: MmaTiling, accumulators: list[Value]) -> None:
    held = _restricted(tiling.c, tuple(op.result.type.get_shape()))
    names = held.register_permutation(layout_of(op.result))
    if names is None:
        raise InternalError("dot-layout", "the result of a matrix product does not have its atom's layout")
    e.values[op.result] = [accumulators[name] for name in names]


# ---- fused multiply-adds -------------------------------------------------------------------------
def _emit_multiply_add(e: KernelEmitter, op: Any) -> None:
    """Both operands lie in shared memory; each thread walks along k for the elements of the result that it holds."""
    layout = layout_of(op.result)
    scratch = op.attributes["scratch_offset"].value.data
    left, right = e.element(op.lhs), e.element(op.rhs)
    placed = [_place(e, op.lhs, scratch)]
    placed.append(_place(e, op.rhs, scratch + -(-placed[0].size_bytes // 128) * 128))
    if "sync_before" in op.attributes:
        e.barrier()
    starts = (scratch, scratch + -(-placed[0].size_bytes // 128) * 128)
    for value, placement, start in zip((op.lhs, op.rhs), placed, starts):
        store_registers(e, shared_access(layout_of(value), placement), e.element(value), e.packed(value), start)
    e.barrier()
    multiply = MULTIPLY_ADD[e.element(op.result).register](e, op, left, right)
    readers = [_Reader(e, op.lhs, layout, starts[0], True), _Reader(e, op.rhs, layout, starts[1], False)]
    registers = list(e.registers_as(op.acc, layout))
    e.values[op.result] = _walk_along_k(e, op, readers, multiply, registers)


# Steps along k that are written out in the loop's body: enough to hide a load behind the products of another.
UNROLLED = 4


def _walk_along_k(
    e: KernelEmitter, op: Any, readers: list[_Reader], multiply: Any, registers: list[Value]
) -> list[Value]:
    """A loop over k with the accumulators as phis; short products are written out."""
    length, type = op.lhs.type.get_shape()[-1], e.element(op.result).register
    if length <= UNROLLED:
        return _steps(readers, multiply, registers, 0, length)
    b = e.b
    entry, body, after = b.block, b.label(), b.label()
    b.branch(body)
    b.start(body)
    names = [b.name() for _ in range(len(registers) + 1)]
    lines = [b.reserve() for _ in names]
    with b.scope():
        results = _steps(readers, multiply, names[1:], names[0], UNROLLED)
        following = b.value(f"add i32 {names[0]}, {UNROLLED}")
        more = b.compare("slt", following, length)
        b.branch_if(more, body, after)
    rows = zip(lines, names, ["i32", *[type] * len(registers)], [0, *registers], [following, *results])
    for line, name, kind, first, following in rows:
        b.fill(line, f"{name} = phi {kind} [ {first}, %{entry} ], [ {following}, %{body} ]")
    b.start(after)
    return results


def _steps(readers: list[_Reader], multiply: Any, registers: list[Value], k: Value, count: int) -> list[Value]:
    """``count`` positions along k from ``k`` on."""
    for reader in readers:
        reader.move_to(k)
    for step in range(count):
        known: dict[tuple, Value] = {}
        following = []
        for register, accumulator in enumerate(registers):
            key = (*(reader.element(register, step) for reader in readers), accumulator)
            if key not in known:
                known[key] = multiply(*key)
            following.append(known[key])
        registers = following
    return registers


def _place(e: KernelEmitter, value: Any, scratch: int) -> SharedLayout:
    shape = tuple(value.type.get_shape())
    return SharedLayout.plain(shape, tuple(range(len(shape) - 1, -1, -1)), e.element(value).bits)


class _Reader:
    """Loads the element of an operand in shared memory that a register of the result needs at position k."""

    def __init__(self, e: KernelEmitter, value: Any, layout: LinearLayout, start: int, is_left: bool):
        self.e, self.value_element, self.start = e, e.element(value), start
        shape = tuple(value.type.get_shape())
        rank = len(shape)
        bytes = self.value_element.bytes
        units = [bytes * _unit(shape, dim) for dim in range(rank)]
        self.k_unit = units[-1] if is_left else units[-2]
        # Result dimensions: batch…, m, n. The left operand has no n, the right one no m.
        self.units = [*units[:-2], units[-2], 0] if is_left else [*units[:-2], 0, units[-1]]
        self.offsets = [self._offset(unpack(image, layout.shape)) for image in layout.register_offsets]
        lanes = tuple(self._offset(unpack(image, layout.shape)) for image in layout.lanes)
        warps = tuple(self._offset(unpack(image, layout.shape)) for image in layout.warps)
        with e.in_prologue():
            self.thread = e.b.add(e.linear(lanes, warps), e.shared_base)
        # The right operand's rows are read in vectors where a thread holds neighbors.
        self.vector = 1 if is_left else min(layout.contiguous(), VECTOR_BYTES // bytes)
        self.known: dict[int, list[Value]] = {}

    def _offset(self, coordinates: tuple[int, ...]) -> int:
        return sum(coordinate * unit for coordinate, unit in zip(coordinates, self.units))

    def move_to(self, k: Value) -> None:
        """Read from position ``k`` on."""
        self.base = self.e.b.add(self.thread, self.e.b.mul(k, self.k_unit))
        self.known.clear()

    def element(self, register: int, step: int) -> Value:
        """The element for a register, ``step`` positions after ``k``."""
        first = register - register % self.vector
        place = self.start + self.offsets[first] + step * self.k_unit
        if place not in self.known:
            self.known[place] = load_shared(self.e, self.value_element, self.vector, self.base, place)
        return self.known[place][register - first]


def _unit(shape: tuple[int, ...], dim: int) -> int:
    unit = 1
    for size in shape[dim + 1 :]:
        unit *= size
    return unit


def _float_multiply(suffix: str, type: str):
    def rule(e: KernelEmitter, op: Any, left: Element, right: Element):
        from .float_conversions import convert_float

        target = {"float": "f32", "double": "f64", "half": "f16"}[type]
        widen = [convert_float(e, element.name, target, "nearest_even") for element in (left, right)]
        return lambda a, c, acc: e.b.value(
            f"call {type} @llvm.fma.{suffix}({type} {widen[0](a)}, {type} {widen[1](c)}, {type} {acc})"
        )

    return rule


def _integer_multiply(e: KernelEmitter, op: Any, left: Element, right: Element):
    extend = ["sext" if op.attributes[key].data == "signed" else "zext" for key in ("signedness_lhs", "signedness_rhs")]

    def multiply(a: Value, c: Value, acc: Value) -> Value:
        x = e.b.pure(f"{extend[0]} {left.register} {a} to i32")
        y = e.b.pure(f"{extend[1]} {right.register} {c} to i32")
        return e.b.value(f"add i32 {acc}, {e.b.pure(f'mul i32 {x}, {y}')}")

    return multiply


MULTIPLY_ADD = {
    "float": _float_multiply("f32", "float"),
    "double": _float_multiply("f64", "double"),
    "half": _float_multiply("f16", "half"),
    "i32": _integer_multiply,
}

HANDLERS: dict[str, Handler] = {"nv_tileas.dot": emit_dot}
