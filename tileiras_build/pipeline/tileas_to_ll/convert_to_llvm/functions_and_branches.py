"""Functions, calls and branches."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import cf, func, llvm
from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.ir import Attribute, Block, SSAValue

from ....ir.casting import parent_block, unwrap
from ....ir.dialects.fast_xdsl import create
from ....ir.dialects.llvm_ext import call_properties, make_function
from ...common.llvm_type_constructors import struct
from ..convert_nvgpu_and_gpu_to_nvvm.rewriter import Emitter
from ..type_converter import LLVMTypeConverter
from .lowering_registry import lowering

KERNEL = ("nvvm.kernel", "gpu.kernel")


def _joined(types: Sequence[Attribute]) -> Attribute:
    """The result type of an LLVM function: void, one value, or a struct of values."""
    return llvm.LLVMVoidType() if not types else types[0] if len(types) == 1 else struct(*types)


@lowering(func.FuncOp)
def lower_function(emit: Emitter, op: func.FuncOp) -> None:
    """``llvm.func``; its block arguments are converted with those of all blocks."""
    kernel = any(name in op.attributes for name in KERNEL)
    converter = LLVMTypeConverter(index_width=emit.job.index_width, bare_pointers=kernel)
    inputs = [converter.argument(type) for type in op.function_type.inputs.data]
    result = _joined([converter.convert(type) for type in op.function_type.outputs.data])
    body = op.detach_region(op.body)
    made = make_function(op.sym_name.data, llvm.LLVMFunctionType(inputs, result), body)
    made.properties |= {"arg_attrs": op.arg_attrs} if op.arg_attrs is not None else {}
    made.attributes |= op.attributes | (dict.fromkeys(KERNEL, UnitAttr()) if kernel else {})
    emit.replace_with(made)


@lowering(func.CallOp)
def lower_call(emit: Emitter, op: func.CallOp) -> None:
    """``llvm.call``; several results are fields of a struct."""
    arguments = [emit.converted(value) for value in op.arguments]
    types = [emit.types.convert(value.type) for value in op.results]
    name = op.callee.string_value()
    results = [_joined(types)] if types else []
    call = create(llvm.CallOp, arguments, results, call_properties(name, len(arguments)))
    emit.insert(call)
    if len(types) > 1:
        return emit.replace(*emit.fields(call.results[0]))
    emit.replace(*call.results)


@lowering(func.ReturnOp)
def lower_return(emit: Emitter, op: func.ReturnOp) -> None:
    """``llvm.return`` of nothing, a value, or a struct of values."""
    values = [emit.converted(value) for value in op.arguments]
    emit.replace_with(llvm.ReturnOp(emit.struct(values) if len(values) > 1 else next(iter(values), None)))


@lowering(cf.BranchOp)
def lower_branch(emit: Emitter, op: cf.BranchOp) -> None:
    """``llvm.br``"""
    emit.replace_with(llvm.BrOp(op.successor, *_converted(op.arguments, emit)))


@lowering(cf.ConditionalBranchOp)
def lower_conditional(emit: Emitter, op: cf.ConditionalBranchOp) -> None:
    """``llvm.cond_br``"""
    taken, other = _converted(op.then_arguments, emit), _converted(op.else_arguments, emit)
    emit.replace_with(llvm.CondBrOp(op.cond, op.then_block, taken, op.else_block, other))


def _converted(values: Sequence[SSAValue], emit: Emitter) -> list[SSAValue]:
    return [emit.converted(value) for value in values]


@lowering(cf.SwitchOp)
def lower_switch(emit: Emitter, op: cf.SwitchOp) -> None:
    """A comparison and a branch for each case, in order."""
    flag, here = emit.converted(op.flag), parent_block(op)
    default = _converted(op.default_operands, emit)
    cases = list(zip(_values(op), op.case_blocks, (_converted(part, emit) for part in op.case_operand), strict=True))
    for value, target, operands in cases:
        equal = emit.insert(llvm.ICmpOp(flag, emit.constant(value, flag.type), _EQUAL))
        further = Block()
        unwrap(here.parent).insert_block_after(further, here)
        op.detach()
        here.add_op(llvm.CondBrOp(equal, target, operands, further, []))
        further.add_op(op)
        here = further
    emit.replace_with(llvm.BrOp(op.default_block, *default))


def _values(op: cf.SwitchOp) -> list[int]:
    return list(op.case_values.get_values()) if op.case_values is not None else []


_EQUAL = IntegerAttr(llvm.ICmpPredicateFlag.EQ.to_int(), 64)
