"""Special registers, barriers, warp operations and fences of ``nvvm``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntAttr, UnitAttr, i1, i32, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..llvm_ext import ConstantRangeAttr
from .attrs import Keyword, MemScopeAttr, ReduxKindAttr, ShflKindAttr, parse_elided

_VECTOR_REGISTERS = (
    "tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster.ctaid", "cluster.nctaid",
)  # fmt: skip
REGISTERS = (*(f"{name}.{axis}" for name in _VECTOR_REGISTERS for axis in "xyz"), "laneid", "warpsize")
_PREFIX = "nvvm.read.ptx.sreg."


class ReadRegister(IRDLOperation):
    """Read a special register; ``range`` bounds it."""


def _read(register: str) -> type[ReadRegister]:
    class_name = "Read" + "".join(word.capitalize() for word in register.split(".")) + "Op"
    body = {
        "__doc__": f"Read %{register}.",
        "__module__": __name__,
        "name": _PREFIX + register,
        "range": opt_prop_def(ConstantRangeAttr),
        "res": result_def(i32),
        "traits": traits_def(Pure()),
        "assembly_format": "(`range` $range^)? attr-dict `:` type($res)",
    }
    return irdl_op_definition(type(class_name, (ReadRegister,), body))


READS: dict[str, type[ReadRegister]] = {register: _read(register) for register in REGISTERS}


@irdl_op_definition
class Barrier0Op(IRDLOperation):
    """Barrier 0 of the block, all threads, aligned: all threads of each warp arrive together."""

    name = "nvvm.barrier0"
    assembly_format = "attr-dict"


@irdl_op_definition
class ShflSyncOp(IRDLOperation):
    """Exchange a 32-bit value between the lanes of ``thread_mask``."""

    name = "nvvm.shfl.sync"
    thread_mask = operand_def(i32)
    val = operand_def()
    offset = operand_def(i32)
    mask_and_clamp = operand_def(i32)
    kind = prop_def(ShflKindAttr)
    return_value_and_is_valid = opt_prop_def(UnitAttr)
    res = result_def()
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$kind $thread_mask `,` $val `,` $offset `,` $mask_and_clamp attr-dict `:` type($val) `->` type($res)"
    )


@irdl_op_definition
class ReduxSyncOp(IRDLOperation):
    """Combine a value over the lanes of a mask; with ``nan`` a NaN wins."""

    name = "nvvm.redux.sync"
    val = operand_def()
    mask_and_clamp = operand_def(i32)
    kind = prop_def(ReduxKindAttr)
    nan = opt_prop_def(UnitAttr)
    res = result_def()
    assembly_format = "$kind (`nan` $nan^)? $val `,` $mask_and_clamp attr-dict `:` type($val) `->` type($res)"


SHARED_POINTER = LLVMPointerType(IntAttr(3))


def _is_shared(operation: IRDLOperation, position: int, type: Attribute) -> None:
    if type != SHARED_POINTER:
        raise VerifyException(f"'{operation.name}' op operand #{position} must be !llvm.ptr<3>, but got '{type}'")


class MBarrierOperation(IRDLOperation):
    """Base of the ``.shared`` mbarrier operations: the address is a pointer to shared memory."""

    def verify_(self) -> None:
        _is_shared(self, 0, self.operands[0].type)


@irdl_op_definition
class MBarrierInitSharedOp(MBarrierOperation):
    """mbarrier.init"""

    name = "nvvm.mbarrier.init.shared"
    addr = operand_def(LLVMPointerType)
    count = operand_def(i32)
    predicate = opt_operand_def(i1)
    assembly_format = "$addr `,` $count (`,` `predicate` `=` $predicate^)? attr-dict `:` type($addr) `,` type($count)"


@irdl_op_definition
class MBarrierInvalSharedOp(MBarrierOperation):
    """mbarrier.inval"""

    name = "nvvm.mbarrier.inval.shared"
    addr = operand_def(LLVMPointerType)
    assembly_format = "$addr attr-dict `:` type($addr)"


@irdl_op_definition
class MBarrierArriveSharedOp(MBarrierOperation):
    """mbarrier.arrive"""

    name = "nvvm.mbarrier.arrive.shared"
    addr = operand_def(LLVMPointerType)
    res = result_def(i64)
    assembly_format = "$addr attr-dict `:` type($addr) `->` type($res)"


@irdl_op_definition
class MBarrierArriveNoCompleteSharedOp(MBarrierOperation):
    """mbarrier.arrive.noComplete"""

    name = "nvvm.mbarrier.arrive.nocomplete.shared"
    addr = operand_def(LLVMPointerType)
    count = operand_def(i32)
    res = result_def(i64)
    assembly_format = "$addr `,` $count attr-dict `:` type($addr) `,` type($count) `->` type($res)"


@irdl_op_definition
class MBarrierArriveExpectTxSharedOp(MBarrierOperation):
    """mbarrier.arrive.expect_tx"""

    name = "nvvm.mbarrier.arrive.expect_tx.shared"
    addr = operand_def(LLVMPointerType)
    txcount = operand_def(i32)
    predicate = opt_operand_def(i1)
    assembly_format = (
        "$addr `,` $txcount (`,` `predicate` `=` $predicate^)? attr-dict `:` type($addr) `,` type($txcount)"
    )


@irdl_op_definition
class MBarrierTestWaitSharedOp(MBarrierOperation):
    """mbarrier.test_wait by token"""

    name = "nvvm.mbarrier.test.wait.shared"
    addr = operand_def(LLVMPointerType)
    state = operand_def(i64)
    res = result_def(i1)
    assembly_format = "$addr `,` $state attr-dict `:` type($addr) `,` type($state) `->` type($res)"


@irdl_op_definition
class MBarrierTryWaitParitySharedOp(MBarrierOperation):
    """mbarrier.try_wait.parity: a loop until the phase is complete, or with a result one attempt.

    An attempt takes up to ``ticks`` nanoseconds, by default a time of the GPU's choice.
    """

    name = "nvvm.mbarrier.try_wait.parity.shared"
    addr = operand_def(LLVMPointerType)
    phase = operand_def()
    ticks = opt_operand_def(i32)
    res = opt_result_def(i1)
    assembly_format = (
        "$addr `,` $phase (`,` $ticks^)? attr-dict"
        " `:` type($addr) `,` type($phase) (`,` type($ticks)^)? (`->` type($res)^)?"
    )

    def verify_(self) -> None:
        super().verify_()
        if self.phase.type not in (i1, i32):
            raise VerifyException(f"'{self.name}' op phase must be i1 or i32, but got '{self.phase.type}'")


class _Scoped(IRDLOperation):
    """An operation whose text begins with a memory scope, in full or from its ``<`` on."""

    if TYPE_CHECKING:
        scope: Keyword

    @classmethod
    def parse(cls, parser: Parser):
        scope = parse_elided(parser, MemScopeAttr)
        has_operands = bool(cls.get_irdl_definition().operands)
        read = parser.parse_unresolved_operand
        names = parser.parse_comma_separated_list(parser.Delimiter.NONE, read) if has_operands else []
        attributes = parser.parse_optional_attr_dict()
        types = [LLVMPointerType(), i32][: len(names)]
        operands = parser.resolve_operands(names, types, parser.pos)
        return cls.create(operands=operands, properties={"scope": scope}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.scope)
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class FenceProxyAcquireOp(_Scoped):
    """Make generic writes to a tensor map visible to the copies after it."""

    name = "nvvm.fence.proxy.acquire"
    addr = operand_def(LLVMPointerType())
    size = operand_def(i32)
    scope = prop_def(MemScopeAttr)


@irdl_op_definition
class FenceProxyReleaseOp(_Scoped):
    """Order the generic writes to a tensor map before what follows."""

    name = "nvvm.fence.proxy.release"
    scope = prop_def(MemScopeAttr)


@irdl_op_definition
class PrefetchTensorMapOp(IRDLOperation):
    """prefetch.tensormap"""

    name = "nvvm.prefetch.tensormap"
    tmaDescriptor = operand_def(LLVMPointerType)
    predicate = opt_operand_def(i1)
    assembly_format = "$tmaDescriptor (`,` `predicate` `=` $predicate^)? attr-dict `:` type($tmaDescriptor)"
