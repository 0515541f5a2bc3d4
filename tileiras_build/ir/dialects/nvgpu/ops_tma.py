"""TMA operations of ``nvgpu``: copies of boxes by a tensor map, and the map itself."""

from __future__ import annotations

from xdsl.dialects.builtin import FixedBitwidthType, IndexType, MemRefType, UnitAttr, i1, i16, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..checked_cast import type_as
from .attrs import DescriptorScopeAttr
from .ops_barrier import BarrierOperation
from .types import CLUSTER, SHARED, TensorMapDescriptorType, address_space

MAX_BOX = 256  # elements of a box along a dimension (CUDA driver API, cuTensorMapEncodeTiled)
MAX_SWIZZLED_BYTES = 128  # of a box along its last dimension: the widest row of a swizzle
MAX_RANK = 5  # PTX ISA 9.0, section 5.5.3: tensors of cp.async.bulk.tensor have 1 to 5 dimensions


def check_box(name: str, descriptor: TensorMapDescriptorType, buffer: MemRefType, coordinates: int) -> None:
    """Raise unless a copy has one coordinate per dimension of its map, and a buffer in shared memory."""
    rank = len(descriptor.tensor.get_shape())
    if not 1 <= coordinates <= MAX_RANK:
        raise VerifyException(f"'{name}' op needs 1 to {MAX_RANK} coordinates, got {coordinates}")
    if coordinates != rank:
        raise VerifyException(f"'{name}' op needs {rank} coordinates for {descriptor}, got {coordinates}")
    if address_space(buffer.memory_space) not in (SHARED, CLUSTER):
        raise VerifyException(f"'{name}' op buffer must be in shared memory, but got '{buffer}'")
    check_map(name, descriptor)
    if (buffer.get_shape(), buffer.element_type) != (descriptor.tensor.get_shape(), descriptor.tensor.element_type):
        raise VerifyException(
            f"'{name}' op buffer '{buffer}' must have shape and elements of the map's {descriptor.tensor}"
        )


def check_map(name: str, descriptor: TensorMapDescriptorType) -> None:
    """Raise unless a tensor map has boxes in shared memory."""
    tensor, shape = descriptor.tensor, descriptor.tensor.get_shape()
    if address_space(tensor.memory_space) not in (SHARED, CLUSTER):
        raise VerifyException(f"'{name}' op tensor map must be of a box in shared memory, but got '{tensor}'")
    if not tensor.has_static_shape() or any(not 0 < size <= MAX_BOX for size in shape):
        raise VerifyException(f"'{name}' op tensor map must have dimensions of 1 to {MAX_BOX}, but got '{tensor}'")
    bits = tensor.element_type.bitwidth if isinstance(tensor.element_type, FixedBitwidthType) else 0
    if len(shape) > 1 and descriptor.swizzle.data != "none" and bits * shape[-1] > 8 * MAX_SWIZZLED_BYTES:
        bytes_of_row = bits * shape[-1] // 8
        message = f"at most {MAX_SWIZZLED_BYTES} bytes in its last dimension, but has {bytes_of_row} bytes"
        raise VerifyException(f"'{name}' op tensor map with a swizzle must have {message}")


@irdl_op_definition
class TmaAsyncLoadOp(BarrierOperation):
    """Copy a box from global to shared memory; the barrier counts the bytes.

    ``pair``: the barrier may be that of the other CTA of a pair; the buffer then is in the cluster's shared memory.
    """

    name = "nvgpu.tma.async.load"
    dst = operand_def(MemRefType)
    barriers = operand_def()
    tensorMapDescriptor = operand_def(TensorMapDescriptorType)
    coordinates = var_operand_def(IndexType())
    mbarId = operand_def(IndexType())
    multicastMask = opt_operand_def(i16)
    l2CacheHint = opt_operand_def(i64)
    predicate = opt_operand_def(i1)
    pair = opt_prop_def(UnitAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$tensorMapDescriptor `[` $coordinates `]` `,` $barriers `[` $mbarId `]` `to` $dst"
        " (`multicast_mask` `=` $multicastMask^)? (`l2_cache_hint` `=` $l2CacheHint^)?"
        " (`,` `predicate` `=` $predicate^)? attr-dict"
        " `:` type($tensorMapDescriptor) `,` type($barriers) `->` type($dst)"
    )

    def verify_(self) -> None:
        super().verify_()
        _check_box_of(self, self.dst)


@irdl_op_definition
class TmaAsyncStoreOp(IRDLOperation):
    """Copy a box from shared to global memory."""

    name = "nvgpu.tma.async.store"
    src = operand_def(MemRefType)
    tensorMapDescriptor = operand_def(TensorMapDescriptorType)
    coordinates = var_operand_def(IndexType())
    l2CacheHint = opt_operand_def(i64)
    predicate = opt_operand_def(i1)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$src `to` $tensorMapDescriptor `[` $coordinates `]` (`l2_cache_hint` `=` $l2CacheHint^)?"
        " (`,` `predicate` `=` $predicate^)? attr-dict `:` type($src) `->` type($tensorMapDescriptor)"
    )

    def verify_(self) -> None:
        _check_box_of(self, self.src)


@irdl_op_definition
class TmaCreateDescriptorOp(IRDLOperation):
    """The fields of a tensor map, on the stack, as arguments of an encoder; read-only."""

    name = "nvgpu.tma.create.descriptor"
    tensor = operand_def()
    boxDimensions = var_operand_def(IndexType())
    tensorMap = result_def(TensorMapDescriptorType)
    traits = traits_def(Pure())
    assembly_format = "$tensor `box` `[` $boxDimensions `]` attr-dict `:` type($tensor) `->` type($tensorMap)"

    def verify_(self) -> None:
        if not 1 <= len(self.boxDimensions) <= MAX_RANK:
            raise VerifyException(f"a box has 1 to {MAX_RANK} dimensions, got {len(self.boxDimensions)}")
        check_map(self.name, self.tensorMap.type)


@irdl_op_definition
class TmaPrefetchDescriptorOp(IRDLOperation):
    """Prefetch a tensor map."""

    name = "nvgpu.tma.prefetch.descriptor"
    tensorMapDescriptor = operand_def(TensorMapDescriptorType)
    predicate = opt_operand_def(i1)
    assembly_format = "$tensorMapDescriptor (`,` `predicate` `=` $predicate^)? attr-dict `:` type($tensorMapDescriptor)"


@irdl_op_definition
class TmaFenceDescriptorOp(IRDLOperation):
    """Make a tensor map that the host changed visible to the copies after it."""

    name = "nvgpu.tma.fence.descriptor"
    tensorMapDescriptor = operand_def(TensorMapDescriptorType)
    assembly_format = "$tensorMapDescriptor attr-dict `:` type($tensorMapDescriptor)"


@irdl_op_definition
class TmaRebindDescriptorOp(IRDLOperation):
    """Point a tensor map at another tensor, on the device: address, all sizes, all strides but the innermost one.

    ``strides`` are in bytes; ``scope`` defaults to cta, in a kernel launched in clusters to gpu.
    The map is a descriptor in global memory, or a pointer to one in global or shared memory.
    """

    name = "nvgpu.tma.rebind.descriptor"
    tensorMapDescriptor = operand_def()
    address = operand_def()
    dims = var_operand_def(IndexType())
    strides = var_operand_def(IndexType())
    scope = opt_prop_def(DescriptorScopeAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$tensorMapDescriptor `,` $address `dims` `[` $dims `]` `strides` `[` $strides `]` attr-dict"
        " `:` type($tensorMapDescriptor) `,` type($address)"
    )

    def verify_(self) -> None:
        if not 1 <= len(self.dims) <= MAX_RANK:
            raise VerifyException(f"a tensor map has 1 to {MAX_RANK} dimensions, got {len(self.dims)}")
        if len(self.strides) != len(self.dims) - 1:
            raise VerifyException(f"expected {len(self.dims) - 1} strides, got {len(self.strides)}")
        if isinstance(self.tensorMapDescriptor.owner, TmaCreateDescriptorOp):
            raise VerifyException(f"'{self.name}' op changes maps in memory, not the fields for an encoder")


def _check_box_of(op: TmaAsyncLoadOp | TmaAsyncStoreOp, buffer: SSAValue) -> None:
    descriptor = type_as(op.tensorMapDescriptor, TensorMapDescriptorType)
    check_box(op.name, descriptor, type_as(buffer, MemRefType), len(op.coordinates))
