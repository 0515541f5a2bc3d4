"""Matrix operations of ``nvgpu``: warpgroup and warp MMAs, and loads of their fragments."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    VectorType,
    i16,
    i32,
    i64,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    base,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..checked_cast import cast, type_as
from .attrs import SwizzleAttr
from .mma_shape_checks import check_mma_shapes, check_warpgroup_types
from .types import (
    SHARED,
    SWIZZLE_BYTES,
    TensorMapDescriptorType,
    WarpgroupAccumulatorType,
    WarpgroupDescriptorType,
    address_space,
)


@irdl_op_definition
class WarpgroupGenerateDescriptorOp(IRDLOperation):
    """The 64-bit descriptor of a matrix in shared memory.

    The swizzle is that of the tensor map, or ``swizzle_mode``. The other fields are derived from it, or are given in
    bytes by ``leading_byte_offset``, ``matrix_stride`` and ``swizzle_base``, the start of the swizzle pattern.
    """

    name = "nvgpu.warpgroup.generate.descriptor"
    tensor = operand_def(base(MemRefType) | base(LLVMPointerType))
    tensorMap = opt_operand_def(TensorMapDescriptorType)
    leading_byte_offset = opt_prop_def(IntegerAttr)
    matrix_stride = opt_prop_def(IntegerAttr)
    swizzle_base = opt_prop_def(IntegerAttr)
    swizzle_mode = opt_prop_def(SwizzleAttr)
    descriptor = result_def(WarpgroupDescriptorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$tensor (`,` $tensorMap^)? attr-dict `:` type($tensor) (`,` type($tensorMap)^)? `->` type($descriptor)"
    )

    def verify_(self) -> None:
        if (self.tensorMap is None) == (self.swizzle_mode is None):
            raise VerifyException(f"'{self.name}' op needs a swizzle: a tensor map or swizzle_mode")

    @property
    def swizzle_bytes(self) -> int:
        """The width of the swizzle's rows, 0 without one."""
        if self.tensorMap is None:
            return cast(SwizzleAttr, self.swizzle_mode).data
        return SWIZZLE_BYTES[type_as(self.tensorMap, TensorMapDescriptorType).swizzle.data]


@irdl_op_definition
class WarpgroupMmaOp(IRDLOperation):
    """D = A x B + C by the four warps of a warpgroup; ``waitGroup`` groups may stay in flight.

    A is a descriptor, or a thread's fragment, one row per register, with the registers of a k step adjacent. ``stepsA``
    and ``stepsB`` are byte offsets in an operand for each instruction; without them, rows are contiguous. ``replaces``:
    C provides registers, but is not added. ``unfenced``, ``uncommitted``, ``unawaited``: another operation performs
    that part of the sequence of fence, MMAs, commit and wait.
    """

    name = "nvgpu.warpgroup.mma"
    descriptorA = operand_def(base(WarpgroupDescriptorType) | base(VectorType))
    descriptorB = operand_def(WarpgroupDescriptorType)
    matrixC = operand_def(WarpgroupAccumulatorType)
    waitGroup = opt_prop_def(IntegerAttr)
    transposeA = opt_prop_def(UnitAttr)
    transposeB = opt_prop_def(UnitAttr)
    unsignedA = opt_prop_def(UnitAttr)
    unsignedB = opt_prop_def(UnitAttr)
    stepsA = opt_prop_def(DenseArrayBase.constr(i64))
    stepsB = opt_prop_def(DenseArrayBase.constr(i64))
    replaces = opt_prop_def(UnitAttr)
    unfenced = opt_prop_def(UnitAttr)
    uncommitted = opt_prop_def(UnitAttr)
    unawaited = opt_prop_def(UnitAttr)
    matrixD = result_def(WarpgroupAccumulatorType)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$descriptorA `,` $descriptorB `,` $matrixC attr-dict"
        " `:` type($descriptorA) `,` type($descriptorB) `,` type($matrixC) `->` type($matrixD)"
    )

    @property
    def matrix_b(self) -> Attribute:
        """The type of the elements of B."""
        return type_as(self.descriptorB, WarpgroupDescriptorType).tensor.element_type

    @property
    def matrix_a(self) -> tuple[Sequence[int], Attribute]:
        """The shape of A, and the type of its elements."""
        if isinstance(self.descriptorA.type, VectorType):
            registers, elements = type_as(self.descriptorA, VectorType).get_shape()
            return (64, registers * elements * 2), self.descriptorA.type.element_type
        tensor = type_as(self.descriptorA, WarpgroupDescriptorType).tensor
        return tensor.get_shape(), tensor.element_type

    def verify_(self) -> None:
        a, _ = self.matrix_a
        b = type_as(self.descriptorB, WarpgroupDescriptorType).tensor.get_shape()
        c = type_as(self.matrixC, WarpgroupAccumulatorType).fragmented.get_shape()
        if self.matrixD.type != self.matrixC.type:
            raise VerifyException("'nvgpu.warpgroup.mma' op result must have the type of matrix C")
        if (len(a), len(b), len(c)) != (2, 2, 2):
            raise VerifyException("'nvgpu.warpgroup.mma' op matrices A, B, C and D must be two-dimensional")
        if a[1] != b[0] or (a[0], b[1]) != tuple(c):
            raise VerifyException(f"'nvgpu.warpgroup.mma' op cannot multiply {a} by {b} into {c}")
        check_warpgroup_types(self)


@irdl_op_definition
class WarpgroupMmaStoreOp(IRDLOperation):
    """Write an accumulator to memory, each thread its fragment."""

    name = "nvgpu.warpgroup.mma.store"
    matrixD = operand_def(WarpgroupAccumulatorType)
    dstMemref = operand_def(MemRefType)
    assembly_format = "$matrixD `,` $dstMemref attr-dict `:` type($matrixD) `to` type($dstMemref)"

    def verify_(self) -> None:
        source = type_as(self.matrixD, WarpgroupAccumulatorType).fragmented
        target = type_as(self.dstMemref, MemRefType)
        if source.get_shape() != target.get_shape() or source.element_type != target.element_type:
            raise VerifyException(f"'nvgpu.warpgroup.mma.store' op cannot store {source} to {target}")


@irdl_op_definition
class WarpgroupMmaInitAccumulatorOp(IRDLOperation):
    """An accumulator of zeros."""

    name = "nvgpu.warpgroup.mma.init.accumulator"
    matrixC = result_def(WarpgroupAccumulatorType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `->` type($matrixC)"


@irdl_op_definition
class MmaSyncOp(IRDLOperation):
    """D = A x B + C by one warp; each operand is a thread's fragment, one row per register."""

    name = "nvgpu.mma.sync"
    matrixA = operand_def(VectorType)
    matrixB = operand_def(VectorType)
    matrixC = operand_def(VectorType)
    mmaShape = prop_def(ArrayAttr)
    tf32Enabled = opt_prop_def(UnitAttr)
    res = result_def(VectorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "`(` $matrixA `,` $matrixB `,` $matrixC `)` attr-dict"
        " `:` `(` type($matrixA) `,` type($matrixB) `,` type($matrixC) `)` `->` type($res)"
    )

    def verify_(self) -> None:
        check_mma_shapes(self, sparse_k=1)


@irdl_op_definition
class MmaSparseSyncOp(IRDLOperation):
    """D = A x B + C with two of four elements of A stored; the metadata selects them."""

    name = "nvgpu.mma.sp.sync"
    matrixA = operand_def(VectorType)
    matrixB = operand_def(VectorType)
    matrixC = operand_def(VectorType)
    sparseMetadata = operand_def(VectorType(i16, [2]))
    mmaShape = prop_def(ArrayAttr)
    sparsitySelector = opt_prop_def(IntegerAttr)
    tf32Enabled = opt_prop_def(UnitAttr)
    res = result_def(VectorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    # MLIR omits the metadata's type: it is always the same.
    assembly_format = (
        "`(` $matrixA `,` $matrixB `,` $matrixC `)` `metadata` `(` $sparseMetadata `)` attr-dict"
        " `:` `(` type($matrixA) `,` type($matrixB) `,` type($matrixC) `)` `->` type($res)"
    )

    def verify_(self) -> None:
        if self.sparsitySelector is not None and self.sparsitySelector.value.data not in (0, 1):
            raise VerifyException(f"'{self.name}' op sparsity selector should be 0 or 1")
        check_mma_shapes(self, sparse_k=2)


@irdl_op_definition
class LdMatrixOp(IRDLOperation):
    """Load 1, 2 or 4 matrices of 8 rows of 16 bytes from shared memory, distributed over the warp."""

    name = "nvgpu.ldmatrix"
    srcMemref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    transpose = prop_def(BoolAttr)
    numTiles = prop_def(IntegerAttr)
    res = result_def(VectorType)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$srcMemref `[` $indices `]` attr-dict `:` type($srcMemref) `->` type($res)"

    def verify_(self) -> None:
        tiles, shape = self.numTiles.value.data, self.res.type.get_shape()
        source = type_as(self.srcMemref, MemRefType)
        if address_space(source.memory_space) != SHARED:
            raise VerifyException(f"'{self.name}' op source must be in shared memory, but got '{source}'")
        if len(self.indices) != len(source.shape):
            raise VerifyException(f"'{self.name}' op expected {len(source.shape)} indices, got {len(self.indices)}")
        # Single registers are i32 for every element type.
        if self.res.type != VectorType(i32, [tiles]) and (
            len(shape) != 2 or source.element_type != self.res.type.element_type
        ):
            wanted = f"2 dimensions of '{source.element_type}', or be {tiles} words"
            raise VerifyException(f"'{self.name}' op result must have {wanted}, but got '{self.res.type}'")
        if tiles not in (1, 2, 4):
            raise VerifyException(f"'nvgpu.ldmatrix' op loads 1, 2 or 4 matrices, got {tiles}")
        if shape[0] != tiles:
            raise VerifyException(f"'nvgpu.ldmatrix' op result must have {tiles} rows, but got '{self.res.type}'")
        bits = self.res.type.element_type.bitwidth * (shape[1] if len(shape) == 2 else 1)
        if len(shape) > 2 or bits != i32.bitwidth:
            raise VerifyException(f"'nvgpu.ldmatrix' op rows must have 32 bits, but got '{self.res.type}'")
        if self.transpose.value.data and self.res.type.element_type.bitwidth != 16 and len(shape) == 2:
            raise VerifyException("'nvgpu.ldmatrix' op transposes 16-bit elements only")
