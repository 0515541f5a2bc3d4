"""Asynchronous copies of ``nvvm``: cp.async of sm_80, and TMA.

The operands of tensor copies are those of the instruction, in order; absent options have no operand, and the unit
attributes ``multicastEnable`` and ``cacheHintEnable`` mark the options that are present.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i1, i16, i32, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from .attrs import LoadCacheModifierAttr, LoadModeAttr
from .ops_mbarrier import SHARED_POINTER

SIZES = (4, 8, 16)  # of one cp.async (PTX ISA 9.0, section 9.7.9.25.3.1)


@irdl_op_definition
class CpAsyncSharedGlobalOp(IRDLOperation):
    """Copy 4, 8 or 16 bytes from global to shared memory; bytes past ``cpSize`` become zero."""

    name = "nvvm.cp.async.shared.global"
    dst = operand_def(LLVMPointerType)
    src = operand_def(LLVMPointerType)
    cpSize = opt_operand_def(i32)
    size = prop_def(IntegerAttr.constr(type=i32))
    modifier = prop_def(LoadCacheModifierAttr)
    assembly_format = "$dst `,` $src `,` $size `,` `cache` `=` $modifier (`,` $cpSize^)? attr-dict `:` type(operands)"

    def verify_(self) -> None:
        size, modifier = self.size.value.data, self.modifier.keyword.data
        if size not in SIZES:
            raise VerifyException(f"'{self.name}' op expected byte size to be either 4, 8 or 16, got {size}")
        if modifier not in ("ca", "cg"):
            raise VerifyException(f"'{self.name}' op only ca and cg cache modifiers are supported, got {modifier}")
        if modifier == "cg" and size != 16:
            raise VerifyException(f"'{self.name}' op cg cache modifier is only support for 16 bytes copy.")


@irdl_op_definition
class CpAsyncCommitGroupOp(IRDLOperation):
    """cp.async.commit_group"""

    name = "nvvm.cp.async.commit.group"
    assembly_format = "attr-dict"


@irdl_op_definition
class CpAsyncWaitGroupOp(IRDLOperation):
    """cp.async.wait_group"""

    name = "nvvm.cp.async.wait.group"
    n = prop_def(IntegerAttr.constr(type=i32))
    assembly_format = "$n attr-dict"


@irdl_op_definition
class TensorLoadOp(IRDLOperation):
    """cp.async.bulk.tensor from global to shared memory. Operands: dst, map, coordinates, barrier, [mask], [hint].

    ``pair``: the barrier may be that of the other CTA of a pair.
    """

    name = "nvvm.cp.async.bulk.tensor.shared.cluster.global"
    dstMem = operand_def(LLVMPointerType)
    tmaDescriptor = operand_def(LLVMPointerType)
    coordinates = var_operand_def(i32)
    # The barrier is always in shared memory, so MLIR's form omits its type.
    mbar = operand_def(SHARED_POINTER)
    multicastMask = opt_operand_def(i16)
    l2CacheHint = opt_operand_def(i64)
    predicate = opt_operand_def(i1)
    multicastEnable = opt_prop_def(UnitAttr)
    pair = opt_prop_def(UnitAttr)
    cacheHintEnable = opt_prop_def(UnitAttr)
    mode = opt_prop_def(LoadModeAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$dstMem `,` $tmaDescriptor `,` $mbar `,` `box` `[` $coordinates `]`"
        " (`multicast_mask` `=` $multicastMask^)? (`l2_cache_hint` `=` $l2CacheHint^)?"
        " (`predicate` `=` $predicate^)? attr-dict `:` type($dstMem) `,` type($tmaDescriptor)"
    )

    def verify_(self) -> None:
        check_options(self, ("multicastMask", "multicastEnable"), ("l2CacheHint", "cacheHintEnable"))
        check_rank(self)


@irdl_op_definition
class TensorStoreOp(IRDLOperation):
    """cp.async.bulk.tensor from shared to global memory. Operands: map, coordinates, source, [hint]."""

    name = "nvvm.cp.async.bulk.tensor.global.shared.cta"
    tmaDescriptor = operand_def(LLVMPointerType)
    coordinates = var_operand_def(i32)
    srcMem = operand_def(LLVMPointerType)
    l2CacheHint = opt_operand_def(i64)
    predicate = opt_operand_def(i1)
    cacheHintEnable = opt_prop_def(UnitAttr)
    mode = opt_prop_def(LoadModeAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$tmaDescriptor `,` $srcMem `,` `box` `[` $coordinates `]` (`l2_cache_hint` `=` $l2CacheHint^)?"
        " (`,` `predicate` `=` $predicate^)? attr-dict `:` type($tmaDescriptor) `,` type($srcMem)"
    )

    def verify_(self) -> None:
        check_options(self, ("l2CacheHint", "cacheHintEnable"))
        check_rank(self)


def check_options(operation: IRDLOperation, *pairs: tuple[str, str]) -> None:
    """Raise unless each enabling attribute is set exactly if its operand is present."""
    for operand, enable in pairs:
        if (getattr(operation, operand) is None) != (getattr(operation, enable) is None):
            raise VerifyException(f"'{operation.name}' op needs {enable} exactly if it has {operand}")


def check_rank(operation: TensorLoadOp | TensorStoreOp) -> None:
    """Raise unless the copy has 1 to 5 coordinates."""
    if not 1 <= len(operation.coordinates) <= 5:
        raise VerifyException(f"'{operation.name}' op expected 1 to 5 coordinates, got {len(operation.coordinates)}")
