"""Warpgroup products (wgmma): descriptors, the product itself, its accumulator."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    FloatTF32Type,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from ....dialects.narrowing import type_of
from ....dialects.nvgpu import attrs
from ....dialects.nvgpu import ops_matrix as nvgpu
from ....dialects.nvvm import ops_matrix as target
from ....dialects.nvvm import ops_thread
from ....dialects.nvvm.attrs import (
    MmaLayoutAttr,
    ShapeAttr,
    WgmmaScaleInAttr,
    WgmmaScaleOutAttr,
    WgmmaTypeAttr,
)
from ....dialects.nvvm.rows import bits_of
from ..type_converter import accumulator_registers
from .conversion import Emitter, rewrite
from .converted_types import convert_type, element_bytes, static_strides

# Bit positions of the descriptor (PTX ISA 9.0, section 9.7.15.5.1, "Matrix-descriptor layout"). Addresses and offsets
# are in units of 16 bytes. The recovered documents place the fields elsewhere; the ISA is what the hardware reads.
ADDRESS_BITS = 14
UNIT_SHIFT = 4
LEADING_SHIFT, STRIDE_SHIFT, BASE_OFFSET_SHIFT, SWIZZLE_SHIFT = 16, 32, 49, 62
SWIZZLE_CODE = {0: 0, 128: 1, 64: 2, 32: 3}
ROWS_PER_ATOM = 8  # rows of a swizzle atom
# The base offset is (start of the pattern >> 7) & 7: which row of 128 bytes of an atom the pattern begins in.
SWIZZLE_ROW, PATTERN_BYTES = 128, 1024


@rewrite(nvgpu.WarpgroupGenerateDescriptorOp)
def convert_generate_descriptor(op: nvgpu.WarpgroupGenerateDescriptorOp, emit: Emitter) -> None:
    """The fields but the address are one constant."""
    bits = descriptor_bits(op, emit)
    emit.replace(packed_descriptor(emit, emit.place(op.tensor), bits))


def packed_descriptor(emit: Emitter, pointer: SSAValue, bits: int) -> SSAValue:
    """The field of the address, and the others. In a cluster addresses have the CTA's rank above the field's bits."""
    address = emit.add(llvm.PtrToIntOp(pointer, i64))
    window = emit.constant(((1 << ADDRESS_BITS) - 1) << UNIT_SHIFT, i64)
    units = emit.add(llvm.LShrOp(emit.add(llvm.AndOp(address, window)), emit.constant(UNIT_SHIFT, i64)))
    return emit.add(llvm.OrOp(emit.constant(bits - (1 << 64) if bits >> 63 else bits, i64), units))


def descriptor_bits(op: nvgpu.WarpgroupGenerateDescriptorOp, emit: Emitter) -> int:
    """The constant part of a descriptor."""
    swizzle = op.swizzle_bytes
    rows = type_of(op.descriptor, attrs.WarpgroupDescriptorType).tensor.get_shape()[0]
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
    return pack_descriptor(leading, stride, base // SWIZZLE_ROW, swizzle)


def _bytes(attribute: IntegerAttr | None, default: int) -> int:
    return default if attribute is None else attribute.value.data


def pack_descriptor(leading: int, stride: int, base_offset: int, swizzle: int, address: int = 0) -> int:
    """A descriptor from offsets and address in bytes, the swizzle's width in bytes (0, 32, 64 or 128)."""
    return (
        (address >> UNIT_SHIFT) & ((1 << ADDRESS_BITS) - 1)
        | (leading >> UNIT_SHIFT) << LEADING_SHIFT
        | (stride >> UNIT_SHIFT) << STRIDE_SHIFT
        | base_offset << BASE_OFFSET_SHIFT
        | SWIZZLE_CODE[swizzle] << SWIZZLE_SHIFT
    )


# The product ----------------------------------------------------------------------------------------------------------

BLOCK_ROWS = 64  # of one wgmma instruction
K_BYTES = 32  # depth of one wgmma instruction, in bytes of an operand's row

INPUT_TYPES: dict[type[Attribute], str] = {
    Float16Type: "f16",
    BFloat16Type: "bf16",
    Float32Type: "tf32",
    FloatTF32Type: "tf32",
    Float8E4M3FNType: "e4m3",
    Float8E5M2Type: "e5m2",
}
OUTPUT_TYPES: dict[type[Attribute], str] = {Float16Type: "f16", Float32Type: "f32", IntegerType: "s32"}


def _input_type(element: Attribute, emit: Emitter) -> str:
    if isinstance(element, IntegerType) and element.width.data == 8:
        return "s8"
    if type(element) not in INPUT_TYPES:
        raise emit.unsupported("wgmma-type", f"cannot multiply elements of type {element}")
    return INPUT_TYPES[type(element)]


def _tensor(descriptor: SSAValue) -> MemRefType:
    return type_of(descriptor, attrs.WarpgroupDescriptorType).tensor


@rewrite(nvgpu.WarpgroupMmaOp)
def convert_mma(op: nvgpu.WarpgroupMmaOp, emit: Emitter) -> None:
    """Fence, products, commit, wait: the order that the hardware needs."""
    a, b = _tensor(op.descriptorA), _tensor(op.descriptorB)
    properties = _mma_properties(op, a, b, emit)
    depth = K_BYTES // element_bytes(a.element_type)
    if a.get_shape()[1] % depth or a.get_shape()[0] % BLOCK_ROWS:
        raise emit.unsupported("wgmma-shape", f"needs rows of 64 and a depth of {depth}, but A is '{a}'")
    emit.insert(target.WgmmaFenceAlignedOp.build())
    blocks = []
    for row, block in enumerate(_blocks(op.matrixC, emit)):
        blocks.append(_product(op, emit, block, properties, row, a.get_shape()[1] // depth))
    emit.insert(target.WgmmaCommitGroupOp.build())
    waiting = op.waitGroup.value.data if op.waitGroup else 0
    emit.insert(target.WgmmaWaitGroupOp.build(properties={"group": IntegerAttr(waiting, i64)}))
    emit.replace(blocks[0] if len(blocks) == 1 else emit.struct(blocks))


def _blocks(matrix: SSAValue, emit: Emitter) -> list[SSAValue]:
    """The registers of an accumulator, a struct for each block of rows."""
    accumulator = emit.converted(matrix)
    count, _, _ = accumulator_registers(type_of(matrix, attrs.WarpgroupAccumulatorType))
    return [accumulator] if count == 1 else [emit.field(accumulator, index) for index in range(count)]


def _product(
    op: nvgpu.WarpgroupMmaOp, emit: Emitter, block: SSAValue, properties: dict[str, Attribute], row: int, steps: int
) -> SSAValue:
    for step in range(steps):
        a = _advance(emit.converted(op.descriptorA), _step_a(op, row, step), emit)
        b = _advance(emit.converted(op.descriptorB), _step_b(op, step), emit)
        operation = target.WgmmaMmaAsyncOp.build(
            operands=[block, a, b], result_types=[block.type], properties=dict(properties)
        )
        block = emit.add(operation)
    return block


def _step_a(op: nvgpu.WarpgroupMmaOp, row: int, step: int) -> int:
    """Bytes from the start of A to a product's part, for rows of one swizzle atom's width."""
    tensor = _tensor(op.descriptorA)
    row_bytes = tensor.get_shape()[1] * element_bytes(tensor.element_type)
    along = K_BYTES // element_bytes(tensor.element_type) * SWIZZLE_ROW if op.transposeA else K_BYTES
    return row * BLOCK_ROWS * min(row_bytes, SWIZZLE_ROW) + step * along


def _step_b(op: nvgpu.WarpgroupMmaOp, step: int) -> int:
    """The same for B: with ``transposeB`` its rows run along n, so a step in k passes whole rows."""
    size = element_bytes(_tensor(op.descriptorB).element_type)
    return step * (K_BYTES // size * SWIZZLE_ROW if op.transposeB else K_BYTES)


def _advance(descriptor: SSAValue, step: int, emit: Emitter) -> SSAValue:
    if not step:
        return descriptor
    return emit.add(llvm.AddOp(descriptor, emit.constant(step >> UNIT_SHIFT, i64)))


def _mma_properties(op: nvgpu.WarpgroupMmaOp, a: MemRefType, b: MemRefType, emit: Emitter) -> dict[str, Attribute]:
    element = type_of(op.matrixC, attrs.WarpgroupAccumulatorType).fragmented.element_type
    columns = b.get_shape()[1]
    if type(element) not in OUTPUT_TYPES:
        raise emit.unsupported("wgmma-type", f"cannot accumulate elements of type {element}")
    if columns % 8 or columns > 256:
        raise emit.unsupported("wgmma-shape", f"needs a multiple of 8 columns up to 256, but B is '{b}'")
    kinds = {"typeA": _input_type(a.element_type, emit), "typeB": _input_type(b.element_type, emit)}
    depth = K_BYTES // element_bytes(a.element_type)
    return {
        "shape": ShapeAttr(*map(IntAttr, (BLOCK_ROWS, columns, depth))),
        "typeD": WgmmaTypeAttr.new([StringAttr(OUTPUT_TYPES[type(element)])]),
        "scaleD": WgmmaScaleOutAttr.new([StringAttr("one")]),
        "scaleA": WgmmaScaleInAttr.new([StringAttr("one")]),
        "scaleB": WgmmaScaleInAttr.new([StringAttr("one")]),
        # The layouts name what is contiguous: k for A by rows and for B by columns.
        "layoutA": MmaLayoutAttr.new([StringAttr("col" if op.transposeA else "row")]),
        "layoutB": MmaLayoutAttr.new([StringAttr("row" if op.transposeB else "col")]),
        **{name: WgmmaTypeAttr.new([StringAttr(kind)]) for name, kind in kinds.items()},
    }


# The accumulator ------------------------------------------------------------------------------------------------------


@rewrite(nvgpu.WarpgroupMmaInitAccumulatorOp)
def convert_init_accumulator(op: nvgpu.WarpgroupMmaInitAccumulatorOp, emit: Emitter) -> None:
    """Zeros in every register."""
    emit.replace(llvm.ZeroOp.build(result_types=[convert_type(op.matrixC.type)]))


@rewrite(nvgpu.WarpgroupMmaStoreOp)
def convert_store(op: nvgpu.WarpgroupMmaStoreOp, emit: Emitter) -> None:
    """Each thread writes its fragment.

    Register r of a thread holds row 16 * warp + lane / 4 (+ 8 for the second pair of four) and column
    8 * (r / 4) + 2 * (lane % 4) + r % 2 (PTX ISA 9.0, section 9.7.15.5.1.1, "Register fragments of D").
    """
    type = type_of(op.dstMemref, MemRefType)
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
    thread = emit.add(read)
    # The warp's number within its warpgroup of 128 threads.
    warp = emit.add(llvm.LShrOp(emit.add(llvm.AndOp(thread, emit.constant(127))), emit.constant(5)))
    lane = emit.add(llvm.AndOp(thread, emit.constant(31)))
    row = emit.add(llvm.MulOp(warp, emit.constant(16)))
    row = emit.add(llvm.AddOp(row, emit.add(llvm.LShrOp(lane, emit.constant(2)))))
    column = emit.add(llvm.MulOp(emit.add(llvm.AndOp(lane, emit.constant(3))), emit.constant(2)))
    return row, column


def _origin(row: SSAValue, column: SSAValue, strides: tuple[int, ...], start: int, emit: Emitter) -> SSAValue:
    down, right = [
        emit.add(llvm.MulOp(emit.add(llvm.ZExtOp(value, i64)), emit.constant(stride, i64)))
        for value, stride in zip((row, column), strides, strict=True)
    ]
    total = emit.add(llvm.AddOp(down, right))
    return emit.add(llvm.AddOp(total, emit.constant(start, i64))) if start else total


def _store_block(
    registers: SSAValue, base: SSAValue, block: int, type: MemRefType, strides: tuple[int, ...], emit: Emitter
) -> None:
    row_stride, column_stride = strides
    per_register = 2 if bits_of(type.element_type) == 16 else 1
    if per_register == 2 and column_stride != 1:
        raise emit.unsupported("store-strides", f"writes pairs, so columns must be contiguous, but got '{type}'")
    for register in range(len(type_of(registers, llvm.LLVMStructType).types)):
        element = register * per_register
        row = block * BLOCK_ROWS + 8 * (element // 2 % 2)
        column = 8 * (element // 4) + element % 2
        offset = row * row_stride + column * column_stride
        place = emit.offset(base, offset, type.element_type) if offset else base
        emit.insert(llvm.StoreOp(emit.field(registers, register), place))
