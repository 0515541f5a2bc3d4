"""Convert nvvm operations to calls of LLVM intrinsics and inline assembly.

In:    nvvm.*, as convert_nvgpu_and_gpu_to_nvvm leaves them.
Out:   llvm.call_intrinsic and llvm.inline_asm, by the rows of ``dialects/nvvm/mapping.py``; no nvvm operation remains.
Sound: an instruction that touches memory is never marked as free of effects.
"""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerType, ModuleOp, UnitAttr, VectorType, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.nvvm import ops_thread
from ...dialects.nvvm.mapping import row_of
from ...dialects.nvvm.rows import NONE, READ, Argument, Assembly, Intrinsic, result_registers
from ..contracts import EdgePass
from ..job import Job
from .convert_nvgpu_and_gpu_to_nvvm.conversion import Emitter


class ConvertNVVMToLLVM(EdgePass):
    """Convert nvvm operations to LLVM intrinsics and inline assembly."""

    name = "convert-nvvm-to-llvm"
    removes = frozenset(("nvvm.",))

    def run(self, module: ModuleOp, job: Job) -> None:
        """Each operation by its row."""
        for op in [op for op in module.walk() if op.name.startswith("nvvm.")]:
            row = row_of(op)
            (_call if isinstance(row, Intrinsic) else _assemble)(op, row, Emitter(op, job))


def _call(op: Operation, row: Intrinsic, emit: Emitter) -> None:
    arguments = [_parity(op, _argument(value, row, emit), emit) for value in row.values(op)]
    types = list(op.result_types) if op.results else [row.result] if row.result else []
    call = llvm.CallIntrinsicOp(row.intrinsic(op), arguments, types)
    if bound := op.properties.get("range"):
        call.attributes["range"] = bound
    value = emit.add(call)
    emit.replace(*([value] if op.results else []))


def _argument(value: Argument, row: Intrinsic, emit: Emitter) -> SSAValue:
    if isinstance(value, SSAValue):
        return value
    if isinstance(value, int):
        return emit.constant(value, row.constants)
    return emit.constant(value.value.data, value.type)


def _parity(op: Operation, value: SSAValue, emit: Emitter) -> SSAValue:
    """The parity bit of a wait as the instruction takes it, in 32 bits."""
    if isinstance(op, ops_thread.MBarrierTryWaitParitySharedOp) and value.type == i1:
        return emit.add(llvm.ZExtOp(value, i32))
    return value


def _assemble(op: Operation, row: Assembly, emit: Emitter) -> None:
    operands = [entry for value in row.values(op) for entry in _flat(value, emit)]
    types = [_register(type) for type in result_registers(op)]
    result = [] if not op.results else [op.results[0].type if len(types) > 1 else types[0]]
    effects = row.effects not in (NONE, READ)
    assembly = llvm.InlineAsmOp(row.text(op), row.constraints(op), operands, result, has_side_effects=effects)
    if row.convergent:
        # MLIR's operation has no such flag; LLVM must not move a warp-wide instruction into a branch.
        assembly.attributes["convergent"] = UnitAttr()
    value = emit.add(assembly)
    if not op.results:
        emit.replace()
        return
    wanted = op.results[0].type
    emit.replace(value if value.type == wanted else emit.add(llvm.BitcastOp(value, wanted)))


def _flat(value: SSAValue, emit: Emitter) -> list[SSAValue]:
    """The registers of an operand: the fields of a struct, a packed vector as one integer."""
    if isinstance(value.type, llvm.LLVMStructType):
        return [emit.field(value, index) for index in range(len(value.type.types))]
    register = _register(value.type)
    return [value if register == value.type else emit.add(llvm.BitcastOp(value, register))]


def _register(type: Attribute) -> Attribute:
    if isinstance(type, VectorType):
        return IntegerType(type.element_type.bitwidth * type.element_count())
    return type
