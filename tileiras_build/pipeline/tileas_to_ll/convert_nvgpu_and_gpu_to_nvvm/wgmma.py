"""Warpgroup MMA (wgmma): descriptors, the MMA, its accumulator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float32Type,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    UnrealizedConversionCastOp,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from ....ir.casting import parent_block
from ....ir.dialects.checked_cast import cast, type_as
from ....ir.dialects.fast_xdsl import operands_of, string_of
from ....ir.dialects.nvgpu import ops_matrix as nvgpu
from ....ir.dialects.nvgpu.types import WarpgroupAccumulatorType, WarpgroupDescriptorType
from ....ir.dialects.nvvm import ops_matrix as target
from ....ir.dialects.nvvm import ops_thread
from ....ir.dialects.nvvm.attrs import MmaLayoutAttr, ShapeAttr, WgmmaScaleInAttr, WgmmaScaleOutAttr, WgmmaTypeAttr
from ....ir.dialects.nvvm.intrinsic_or_inline_asm import bits_of
from ....ir.dialects.nvvm.wgmma import WgmmaGroupOp
from ....ir.layouts.matrix_descriptor import ADDRESS_BITS, ADDRESS_MASK, UNIT_SHIFT, wgmma_descriptor
from ....ir.layouts.wgmma_layout import MAX_COLUMNS
from ....target.mma_atoms import PTX_TYPE, WGMMA_ATOMS, WgmmaAtom
from ..emission.attribute_builders import Plain
from ..type_converter import accumulator_registers
from .llvm_type_helpers import convert_type, static_strides
from .mma_sync_and_ldmatrix import registers as registers_of
from .rewriter import Emitter, rewrite

ROWS_PER_ATOM = 8  # rows of a swizzle atom
# The base offset is (start of the pattern >> 7) & 7: which row of 128 bytes of an atom the pattern begins in.
SWIZZLE_ROW, PATTERN_BYTES = 128, 1024


@rewrite(nvgpu.WarpgroupGenerateDescriptorOp)
def convert_generate_descriptor(emit: Emitter, op: nvgpu.WarpgroupGenerateDescriptorOp) -> None:
    """A descriptor is the address plus one constant for all other fields."""
    bits = descriptor_bits(op, emit)
    emit.replace(packed_descriptor(emit, emit.source(op.tensor, i32) or emit.base_address(op.tensor), bits))


def packed_descriptor(emit: Emitter, pointer: SSAValue, bits: int) -> SSAValue:
    """Combine the address field, from a pointer or 32 bits, with the other fields.

    In a cluster, addresses have the CTA's rank in bits above the field.
    """
    address = pointer if pointer.type == i32 else emit.insert(llvm.PtrToIntOp(pointer, i64))
    type = cast(IntegerType, address.type)
    field = emit.binary("and", address, ADDRESS_MASK, type)
    units = emit.create(llvm.LShrOp, (field, emit.constant(UNIT_SHIFT, type)), type)
    wide = units if type == i64 else emit.create(llvm.ZExtOp, (units,), i64)
    return emit.create(llvm.OrOp, (wide, emit.constant(bits, i64)), i64)


def descriptor_bits(op: nvgpu.WarpgroupGenerateDescriptorOp, emit: Emitter) -> int:
    """The constant part of a descriptor."""
    swizzle = op.swizzle_bytes
    rows = type_as(op.descriptor, WarpgroupDescriptorType).tensor.get_shape()[0]
    leading = _bytes(op.leading_byte_offset, rows * swizzle)
    stride = _bytes(op.matrix_stride, ROWS_PER_ATOM * swizzle)
    base = _bytes(op.swizzle_base, 0)
    if not swizzle and (op.leading_byte_offset is None or op.matrix_stride is None):
        raise emit.unsupported("descriptor-strides", "without swizzle needs leading_byte_offset and matrix_stride")
    for name, value, unit, limit in (
        ("leading_byte_offset", leading, 1 << UNIT_SHIFT, 1 << ADDRESS_BITS + UNIT_SHIFT),
        ("matrix_stride", stride, 1 << UNIT_SHIFT, 1 << ADDRESS_BITS + UNIT_SHIFT),
        ("swizzle_base", base, SWIZZLE_ROW, PATTERN_BYTES),
    ):
        if value % unit or not 0 <= value < limit:
            raise emit.unsupported("descriptor-field", f"{name} {value} is no multiple of {unit} below {limit}")
    return wgmma_descriptor(leading, stride, base // SWIZZLE_ROW, swizzle)


def _bytes(attribute: IntegerAttr | None, default: int) -> int:
    return default if attribute is None else attribute.value.data


# The MMA --------------------------------------------------------------------------------------------------------------

BLOCK_ROWS = 64  # rows of one wgmma instruction
K_BYTES = 32  # k of one wgmma instruction, in bytes of an operand's row

FRAGMENT = 4  # registers of A for one instruction
ATOMS = {(row.a_type, row.b_type, row.accumulator_type): row for row in WGMMA_ATOMS}


@rewrite(nvgpu.WarpgroupMmaOp)
def convert_mma(emit: Emitter, op: nvgpu.WarpgroupMmaOp) -> None:
    """Emit fence, MMAs, commit and wait in the order that the hardware requires.

    The accumulators of MLIR's operations are structs, which LLVM may copy. If they are registers, the sequence is one
    operation.
    """
    atom, registers = _atom(op, emit), _registers(op, emit)
    waiting = op.waitGroup.value.data if op.waitGroup else 0
    pending = None if op.unawaited is not None else waiting
    if registers is not None:
        return emit.replace(_emit_wgmma_group(op, emit, atom, registers, pending))
    if op.unfenced is None:
        emit.insert(target.WgmmaFenceAlignedOp.build())
    blocks = [_emit_wgmma(op, emit, block, row, atom) for row, block in enumerate(_blocks(op.matrixC, emit))]
    if op.uncommitted is None:
        emit.insert(target.WgmmaCommitGroupOp.build())
    if pending is not None:
        emit.insert(target.WgmmaWaitGroupOp.build(properties={"group": IntegerAttr(pending, i64)}))
    emit.replace(blocks[0] if len(blocks) == 1 else emit.struct(blocks))


def _atom(op: nvgpu.WarpgroupMmaOp, emit: Emitter) -> WgmmaAtom:
    """The row for the element types of the operands and of the accumulator."""
    (rows, depth), element = op.matrix_a
    b, c = _tensor(op.descriptorB), type_as(op.matrixC, WarpgroupAccumulatorType).fragmented
    types = _name(element), _name(b.element_type), string_of(c.element_type)
    if (atom := ATOMS.get(types)) is None:
        found = f"has no row for {types[0]} x {types[1]} in {types[2]}"
        raise emit.unsupported("wgmma-type", found, "target/mma_atoms.py: WGMMA_ATOMS")
    if depth % atom.k or rows % BLOCK_ROWS:
        found = f"needs rows of {BLOCK_ROWS} and a depth of {atom.k}, but A has {rows} x {depth} elements"
        raise emit.unsupported("wgmma-shape", found)
    if (columns := b.get_shape()[1]) % 8 or columns > MAX_COLUMNS:
        raise emit.unsupported("wgmma-shape", f"needs a multiple of 8 columns up to 256, but B has {columns}")
    return atom


def _name(element: Attribute) -> str:
    """The name in the rows of atoms: tf32 is represented by f32."""
    return "tf32" if isinstance(element, Float32Type) else string_of(element)


def _tensor(descriptor: SSAValue) -> MemRefType:
    return type_as(descriptor, WarpgroupDescriptorType).tensor


def _inputs(
    op: nvgpu.WarpgroupMmaOp, emit: Emitter, atom: WgmmaAtom, row: int
) -> Iterator[tuple[Sequence[SSAValue], SSAValue]]:
    """The operands of each instruction of a block of rows: a descriptor or registers of A, and a descriptor of B."""
    (_, depth), _ = op.matrix_a
    row_bytes, spread = depth // atom.k * K_BYTES, SWIZZLE_ROW * atom.k // K_BYTES
    start = row * BLOCK_ROWS * min(row_bytes, SWIZZLE_ROW)
    left = _steps(op.stepsA, start, row_bytes, spread if op.transposeA else 1)
    right = _steps(op.stepsB, 0, row_bytes, spread if op.transposeB else 1)
    fragment = _fragment(op.descriptorA, emit) if isinstance(op.descriptorA.type, VectorType) else None
    for step, (from_a, from_b) in enumerate(zip(left, right, strict=True)):
        words = fragment[FRAGMENT * step :][:FRAGMENT] if fragment else (_advance(op.descriptorA, from_a, emit),)
        yield words, _advance(op.descriptorB, from_b, emit)


def _steps(
    stride_override: DenseArrayBase[IntegerType] | None, start: int, row_bytes: int, spread: int
) -> Sequence[int]:
    """Byte offsets in an operand for each instruction.

    By default rows are as wide as a swizzle atom; for operands contiguous along m or n, those of k are ``spread``.
    """
    if stride_override is not None:
        return stride_override.get_values()
    return [start + step * spread for step in range(0, row_bytes, K_BYTES)]


def _advance(descriptor: SSAValue, step: int, emit: Emitter) -> SSAValue:
    """The descriptor of the address ``step`` bytes later, shared by all MMAs of a basic block."""
    key = parent_block(emit.root), (descriptor, step)
    if (known := emit.shared.get(key)) is None:
        start = emit.converted(descriptor)
        moved = emit.binary("add", start, step >> UNIT_SHIFT, i64) if step else start
        known = emit.shared[key] = moved
    return known


def _fragment(matrix: SSAValue, emit: Emitter) -> Sequence[SSAValue]:
    """The registers of a left operand."""
    bridged = _bridged(matrix)
    return registers_of(matrix, emit) if bridged is None else bridged


def _bridged(value: SSAValue) -> Sequence[SSAValue] | None:
    """The registers that were bridged to a value."""
    owner = value.owner
    if not isinstance(owner, UnrealizedConversionCastOp) or len(operands_of(owner)) == 1:
        return None
    return operands_of(owner)


# Registers ------------------------------------------------------------------------------------------------------------


def _registers(op: nvgpu.WarpgroupMmaOp, emit: Emitter) -> Sequence[SSAValue] | None:
    """The accumulators, if they are registers or the instructions need registers; an initial zero has none."""
    bridged = _bridged(op.matrixC)
    if bridged is None and op.replaces is None and not isinstance(op.descriptorA.type, VectorType):
        return None
    if (rows := op.matrix_a[0][0]) != BLOCK_ROWS:
        raise emit.unsupported("wgmma-shape", f"takes the registers of {BLOCK_ROWS} rows, not of {rows}")
    if bridged is not None:
        return bridged
    struct = emit.converted(op.matrixC)
    return () if isinstance(struct.owner, llvm.ZeroOp) else emit.fields(struct)


def _emit_wgmma_group(
    op: nvgpu.WarpgroupMmaOp, emit: Emitter, atom: WgmmaAtom, registers: Sequence[SSAValue], pending: int | None
) -> SSAValue:
    operand_indices: dict[SSAValue, int] = {}  # each distinct input is one operand
    left: list[int] = []
    right: list[int] = []
    for words, descriptor in _inputs(op, emit, atom, 0):
        left += [operand_indices.setdefault(value, len(operand_indices)) for value in words]
        right.append(operand_indices.setdefault(descriptor, len(operand_indices)))
    fixed: dict[str, Plain] = {
        "atom": atom.name,
        "columns": _tensor(op.descriptorB).get_shape()[1],
        "signed": (int(op.unsignedA is None), int(op.unsignedB is None)),
        "mn_major": (int(op.transposeA is not None), int(op.transposeB is not None)),
        "left": tuple(left),
        "right": tuple(right),
        "first": "zero" if not registers else "added" if op.replaces is not None else None,
        "fence": op.unfenced is None,
        "commit": op.uncommitted is None,
        "pending": pending,
    }
    return emit.issue(WgmmaGroupOp, registers, [*operand_indices], type=convert_type(op.matrixC.type), **fixed)


# Structs --------------------------------------------------------------------------------------------------------------


def _blocks(matrix: SSAValue, emit: Emitter) -> list[SSAValue]:
    """The registers of an accumulator, a struct for each block of rows."""
    accumulator = emit.converted(matrix)
    count, _, _ = accumulator_registers(type_as(matrix, WarpgroupAccumulatorType))
    return [accumulator] if count == 1 else [emit.field(accumulator, index) for index in range(count)]


def _emit_wgmma(op: nvgpu.WarpgroupMmaOp, emit: Emitter, block: SSAValue, row: int, atom: WgmmaAtom) -> SSAValue:
    properties = _properties(op, atom)
    for (a,), b in _inputs(op, emit, atom, row):
        operation = target.WgmmaMmaAsyncOp.build(
            operands=[block, a, b], result_types=[block.type], properties=dict(properties)
        )
        block = emit.insert(operation)
    return block


def _properties(op: nvgpu.WarpgroupMmaOp, atom: WgmmaAtom) -> dict[str, Attribute]:
    integers = ["u8" if unsigned else "s8" for unsigned in (op.unsignedA, op.unsignedB)]
    names = atom.a_type, atom.b_type, atom.accumulator_type
    kinds = [PTX_TYPE.get(name, integer) for name, integer in zip(names, (*integers, ""))]
    columns = _tensor(op.descriptorB).get_shape()[1]
    return {
        "shape": ShapeAttr(*map(IntAttr, (BLOCK_ROWS, columns, atom.k))),
        "scaleD": WgmmaScaleOutAttr.new([StringAttr("one")]),
        "scaleA": WgmmaScaleInAttr.new([StringAttr("one")]),
        "scaleB": WgmmaScaleInAttr.new([StringAttr("one")]),
        # The layout names the contiguous dimension: k for row-major A and column-major B.
        "layoutA": MmaLayoutAttr.new([StringAttr("col" if op.transposeA else "row")]),
        "layoutB": MmaLayoutAttr.new([StringAttr("row" if op.transposeB else "col")]),
        **{f"type{letter}": WgmmaTypeAttr.new([StringAttr(kind)]) for letter, kind in zip("ABD", kinds)},
    }


# The accumulator ------------------------------------------------------------------------------------------------------


@rewrite(nvgpu.WarpgroupMmaInitAccumulatorOp)
def convert_init_accumulator(emit: Emitter, op: nvgpu.WarpgroupMmaInitAccumulatorOp) -> None:
    """Zero every register."""
    emit.replace(llvm.ZeroOp.build(result_types=[convert_type(op.matrixC.type)]))


@rewrite(nvgpu.WarpgroupMmaStoreOp)
def convert_store(emit: Emitter, op: nvgpu.WarpgroupMmaStoreOp) -> None:
    """Each thread writes its fragment.

    Register r of a thread holds row 16 * warp + lane / 4 (+ 8 for the second pair of four) and column
    8 * (r / 4) + 2 * (lane % 4) + r % 2 (PTX ISA 9.0, section 9.7.15.5.1.1, "Register fragments of D").
    """
    type = type_as(op.dstMemref, MemRefType)
    known = static_strides(type)
    if known is None:
        raise emit.unsupported("store-strides", f"needs static strides, but got '{type}'")
    row, column = _thread_origin(emit)
    strides, start = known
    base = emit.offset(emit.aligned(op.dstMemref), _origin(row, column, strides, start, emit), type.element_type)
    for block, registers in enumerate(_blocks(op.matrixD, emit)):
        _store_block(registers, base, block, type, strides, emit)
    emit.replace()


def _thread_origin(emit: Emitter) -> tuple[SSAValue, SSAValue]:
    read = ops_thread.READS["tid.x"].build(result_types=[i32], properties={})
    thread = emit.insert(read)
    # The warp's index within its warpgroup of 128 threads.
    warp = emit.binary("lshr", emit.binary("and", thread, 127), 5)
    lane = emit.binary("and", thread, 31)
    row = emit.binary("add", emit.binary("mul", warp, 16), emit.binary("lshr", lane, 2))
    return row, emit.binary("mul", emit.binary("and", lane, 3), 2)


def _origin(row: SSAValue, column: SSAValue, strides: tuple[int, ...], start: int, emit: Emitter) -> SSAValue:
    down, right = [
        emit.binary("mul", emit.insert(llvm.ZExtOp(value, i64)), stride, i64)
        for value, stride in zip((row, column), strides, strict=True)
    ]
    total = emit.binary("add", down, right, i64)
    return emit.binary("add", total, start, i64) if start else total


def _store_block(
    registers: SSAValue, base: SSAValue, block: int, type: MemRefType, strides: tuple[int, ...], emit: Emitter
) -> None:
    row_stride, column_stride = strides
    per_register = 2 if bits_of(type.element_type) == 16 else 1
    if per_register == 2 and column_stride != 1:
        raise emit.unsupported("store-strides", f"writes pairs, so columns must be contiguous, but got '{type}'")
    for register in range(len(type_as(registers, llvm.LLVMStructType).types)):
        element = register * per_register
        row = block * BLOCK_ROWS + 8 * (element // 2 % 2)
        column = 8 * (element // 4) + element % 2
        offset = row * row_stride + column * column_stride
        place = emit.offset(base, offset, type.element_type) if offset else base
        emit.insert(llvm.StoreOp(emit.field(registers, register), place))
