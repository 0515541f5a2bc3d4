"""Barriers of the block, device assertions and printf."""

from __future__ import annotations

from xdsl.dialects import cf, llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    IndexType,
    IntegerType,
    StringAttr,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....core.errors import Location
from ....ir.casting import parent_block, unwrap
from ....ir.dialects import gpu_ext as gpu
from ....ir.dialects.checked_cast import cast
from ....ir.dialects.cuda_tile.location import source_location
from ....ir.dialects.fast_xdsl import create
from ....ir.dialects.nvvm.ops_thread import Barrier0Op
from ...rewriting.dialect_conversion import location_of
from ..debug.debug_info import CARRIED_LOCATION
from .llvm_type_helpers import POINTER, struct_of
from .rewriter import Emitter, rewrite

ASSERT_TYPE = llvm.LLVMFunctionType([POINTER, POINTER, i32, POINTER, i64])
PRINTF_TYPE = llvm.LLVMFunctionType([POINTER, POINTER], i32)
UNKNOWN = "(unknown)"
CHARACTER_BYTES = 1  # of the strings that __assertfail prints


@rewrite(gpu.BarrierOp)
def convert_barrier(emit: Emitter, op: gpu.BarrierOp) -> None:
    """The aligned barrier 0: whole warps arrive, so no control flow is needed."""
    emit.replace_with(create(Barrier0Op))


@rewrite(cf.AssertOp)
def convert_assert(emit: Emitter, op: cf.AssertOp) -> None:
    """Branch on the predicate; the failing edge calls ``__assertfail`` and then continues."""
    if op.parent_op() is not emit.function:
        raise emit.unsupported("assert-region", "is in a region of one block", "convert scf to cf first")
    texts = _texts(op, emit)
    if not all(map(_has_bytes, texts)):
        raise emit.illegal("its message, file or function is no Unicode text, of which a string could be made")
    emit.declare("__assertfail", ASSERT_TYPE)
    before, fail = parent_block(op), Block()
    rest = before.split_before(op)
    unwrap(before.parent).insert_block_after(fail, before)
    before.add_op(llvm.CondBrOp(op.arg, rest, [], fail, []))
    _fill_failure(op, emit, fail, rest, texts)
    op.detach()
    op.erase()


def _has_bytes(text: str) -> bool:
    try:
        return bool(text.encode()) or not text
    except UnicodeEncodeError:
        return False


def _source_location(op: cf.AssertOp) -> Location | None:
    return location_of(op) or source_location(op)


def _texts(op: cf.AssertOp, emit: Emitter) -> tuple[str, str, str]:
    """The message, the file and the function."""
    location, function = _source_location(op), emit.function
    file = UNKNOWN if location is None or location.file is None else location.file
    return op.msg.data, file, _name(function) if function else UNKNOWN


def _fill_failure(op: cf.AssertOp, emit: Emitter, fail: Block, rest: Block, texts: tuple[str, str, str]) -> None:
    location = _source_location(op)
    fail.add_op(jump := llvm.BrOp(rest))
    jump.attributes |= {name: op.attributes[name] for name in CARRIED_LOCATION if name in op.attributes}
    inside = emit.at(jump)
    stems = (".assert_msg", ".assert_file", ".assert_func")
    message, file, name = [inside.device_string(stem, text) for stem, text in zip(stems, texts, strict=True)]
    line = inside.constant(location.line if location else 0)
    inside.insert(llvm.CallOp("__assertfail", message, file, line, name, inside.constant(CHARACTER_BYTES, i64)))


def _name(function: Operation) -> str:
    return cast(StringAttr, function.properties["sym_name"]).data


@rewrite(gpu.PrintfOp)
def convert_printf(emit: Emitter, op: gpu.PrintfOp) -> None:
    """``vprintf(format, buffer)``: the arguments, promoted as in C, in a struct on the stack that prints share."""
    emit.declare("vprintf", PRINTF_TYPE)
    format = emit.device_string(".printf_format", op.format.data)
    arguments = [_promoted(value, emit) for value in op.args]
    if not arguments:
        buffer = emit.insert(llvm.ZeroOp.build(result_types=[POINTER]))
    else:
        buffer = _pack(arguments, emit)
    emit.insert(llvm.CallOp("vprintf", format, buffer, return_type=i32))
    emit.replace()


def _promoted(value: SSAValue, emit: Emitter) -> SSAValue:
    if isinstance(value.type, BFloat16Type | Float16Type | Float32Type):
        return emit.insert(llvm.FPExtOp(value, f64))
    converted = emit.integer(value, i64) if isinstance(value.type, IndexType) else emit.converted(value)
    type = converted.type
    if isinstance(type, IntegerType) and type.width.data < 32:
        # bool is unsigned in C, other narrow integers are signed by default.
        return emit.insert((llvm.ZExtOp if type.width.data == 1 else llvm.SExtOp)(converted, i32))
    if not _fits(type):
        raise emit.unsupported("printf-type", f"cannot print a value of type {value.type}")
    return converted


def _fits(type: Attribute) -> bool:
    if isinstance(type, IntegerType):
        return type.width.data in (32, 64)
    return type == f64 or isinstance(type, llvm.LLVMPointerType)


def _pack(arguments: list[SSAValue], emit: Emitter) -> SSAValue:
    type = struct_of([argument.type for argument in arguments])
    buffer = emit.stack(type, 8)
    for position, argument in enumerate(arguments):
        emit.insert(llvm.StoreOp(argument, emit.insert(llvm.GEPOp(buffer, [0, position], type))))
    return buffer
