"""mbarriers in shared memory (``nvvm.mbarrier``)."""

from __future__ import annotations

from xdsl.dialects.builtin import IntAttr, i1, i32, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

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
