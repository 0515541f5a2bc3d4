"""mbarrier operations of ``nvgpu``: barriers in shared memory that count arrivals and bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IndexType, IntegerType, i1
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    Operand,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from .types import MBarrierGroupType, MBarrierTokenType


def check_barrier(type: Attribute, label: str) -> None:
    """Raise unless ``type`` is a group of mbarriers in shared memory."""
    if not isinstance(type, MBarrierGroupType) or not type.is_shared:
        raise VerifyException(f"{label} must be mbarrier barrier type, but got '{type}'")


class BarrierOperation(IRDLOperation):
    """Base of operations on one barrier of a group."""

    if TYPE_CHECKING:
        barriers: Operand

    def verify_(self) -> None:
        position = list(self.operands).index(self.barriers)
        check_barrier(self.barriers.type, f"'{self.name}' op operand #{position}")


@irdl_op_definition
class MBarrierCreateOp(IRDLOperation):
    """Barriers in shared memory, one object per operation, shared by all threads of the block."""

    name = "nvgpu.mbarrier.create"
    barriers = result_def()
    assembly_format = "attr-dict `->` type($barriers)"

    def verify_(self) -> None:
        check_barrier(self.barriers.type, f"'{self.name}' op result #0")


@irdl_op_definition
class MBarrierInitOp(BarrierOperation):
    """Set the number of arrivals that complete a phase."""

    name = "nvgpu.mbarrier.init"
    barriers = operand_def()
    count = operand_def(IndexType())
    mbarId = operand_def(IndexType())
    predicate = opt_operand_def(i1)
    assembly_format = (
        "$barriers `[` $mbarId `]` `,` $count (`,` `predicate` `=` $predicate^)? attr-dict `:` type($barriers)"
    )


@irdl_op_definition
class MBarrierGetOp(BarrierOperation):
    """The address of a barrier as an integer."""

    name = "nvgpu.mbarrier.get"
    barriers = operand_def()
    mbarId = operand_def(IndexType())
    mbarrierPointer = result_def(IntegerType)
    assembly_format = "$barriers `[` $mbarId `]` attr-dict `:` type($barriers) `->` type($mbarrierPointer)"


@irdl_op_definition
class MBarrierArriveOp(BarrierOperation):
    """Arrive; the token identifies the phase.

    With a predicate there is no token: a thread that does not arrive would have none.
    """

    name = "nvgpu.mbarrier.arrive"
    barriers = operand_def()
    mbarId = operand_def(IndexType())
    predicate = opt_operand_def(i1)
    token = opt_result_def(MBarrierTokenType())
    assembly_format = (
        "$barriers `[` $mbarId `]` (`,` `predicate` `=` $predicate^)? attr-dict"
        " `:` type($barriers) (`->` type($token)^)?"
    )

    def verify_(self) -> None:
        super().verify_()
        if self.predicate is not None and self.token is not None:
            raise VerifyException(f"'{self.name}' op has no token with a predicate")


@irdl_op_definition
class MBarrierArriveNoCompleteOp(BarrierOperation):
    """Arrive ``count`` times without completing the phase."""

    name = "nvgpu.mbarrier.arrive.nocomplete"
    barriers = operand_def()
    mbarId = operand_def(IndexType())
    count = operand_def(IndexType())
    token = result_def(MBarrierTokenType())
    assembly_format = "$barriers `[` $mbarId `]` `,` $count attr-dict `:` type($barriers) `->` type($token)"


@irdl_op_definition
class MBarrierArriveExpectTxOp(BarrierOperation):
    """Arrive and expect ``txcount`` bytes of asynchronous copies."""

    name = "nvgpu.mbarrier.arrive.expect_tx"
    barriers = operand_def()
    txcount = operand_def(IndexType())
    mbarId = operand_def(IndexType())
    predicate = opt_operand_def(i1)
    assembly_format = (
        "$barriers `[` $mbarId `]` `,` $txcount (`,` `predicate` `=` $predicate^)? attr-dict `:` type($barriers)"
    )


@irdl_op_definition
class MBarrierTestWaitOp(BarrierOperation):
    """Whether the phase that the token names is complete."""

    name = "nvgpu.mbarrier.test.wait"
    barriers = operand_def()
    token = operand_def(MBarrierTokenType())
    mbarId = operand_def(IndexType())
    waitComplete = result_def(i1)
    assembly_format = "$barriers `[` $mbarId `]` `,` $token attr-dict `:` type($barriers) `,` type($token)"


@irdl_op_definition
class MBarrierTryWaitParityOp(BarrierOperation):
    """Wait up to ``ticks`` nanoseconds, by default an implementation-defined time, for the phase of a parity.

    Without a result it waits until the phase is complete, as MLIR's operation does; with one (``-> i1``) it tries once
    and returns whether the phase is complete.
    """

    name = "nvgpu.mbarrier.try_wait.parity"
    barriers = operand_def()
    phaseParity = operand_def(i1)
    ticks = opt_operand_def(IndexType())
    mbarId = operand_def(IndexType())
    done = opt_result_def(i1)
    assembly_format = (
        "$barriers `[` $mbarId `]` `,` $phaseParity (`,` $ticks^)? attr-dict `:` type($barriers) (`->` type($done)^)?"
    )
