"""Special registers, barriers and warp operations of ``nvvm``."""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr, i32
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from ..llvm_ext import ConstantRangeAttr
from .attrs import ReduxKindAttr, ShflKindAttr

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
    """Combine a value over the lanes of a mask; with ``nan``, NaN propagates."""

    name = "nvvm.redux.sync"
    val = operand_def()
    mask_and_clamp = operand_def(i32)
    kind = prop_def(ReduxKindAttr)
    nan = opt_prop_def(UnitAttr)
    res = result_def()
    assembly_format = "$kind (`nan` $nan^)? $val `,` $mask_and_clamp attr-dict `:` type($val) `->` type($res)"
