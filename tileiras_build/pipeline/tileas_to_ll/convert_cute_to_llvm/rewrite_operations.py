"""Rewrite operations by a table of rules, and the types of values that cross blocks and functions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....core.errors import InternalError
from ....ir.dialects import gpu_ext as gpu
from ....ir.dialects.fast_xdsl import erase, set_type
from ....ir.dialects.op_definition import TableOp
from ...job import Job
from ...rewriting.dialect_conversion import RuleTable, converted_signature
from .carried_values import BLOCK_ARGUMENT_OPS, Owned
from .converted_values import ConvertedValue, Converter, is_companion, with_static_info


def rewrite_operations(
    everything: Sequence[Operation], module: ModuleOp, job: Job, table: RuleTable, owned: Owned
) -> None:
    """Replace the operations that have a rule in ``table``; others get LLVM types for values whose types are ``owned``."""
    cv, replaced = Converter(job, module), list[Operation]()
    for op in everything:
        _convert_one(op, cv, table, owned, replaced)
    for op in reversed(replaced):
        erase(op)


def _convert_one(op: Operation, cv: Converter, table: RuleTable, owned: Owned, replaced: list[Operation]) -> None:
    if op.name in table and isinstance(op, TableOp):
        cv.root = op
        _hold_results(op, table[op.name](cv, op), cv)
        replaced.append(op)
        return
    _convert_operands(op, cv, owned)
    _convert_results(op, cv, owned)
    _convert_signature(op, cv, owned)
    for block in (block for region in op.regions for block in region.blocks):
        _convert_arguments(block, cv, owned)


def _hold_results(op: Operation, values: Sequence[ConvertedValue], cv: Converter) -> None:
    if len(values) != len(op.results):
        raise cv.invalid("cute-results", f"has {len(op.results)} results, but its rewrite returns {len(values)}")
    for result, value in zip(op.results, values):
        if is_companion(result.type):
            cv.held[result] = with_static_info(value, result.type, cv)
            continue
        plain = _as_plain_value(value, result.type, cv)
        plain.name_hint = plain.name_hint or result.name_hint
        result.replace_all_uses_with(plain)


def _as_plain_value(value: ConvertedValue, type: Attribute, cv: Converter) -> SSAValue:
    """A result with a type of another dialect."""
    found = cv.constant(value, type) if isinstance(value, int) else value
    if not isinstance(found, SSAValue) or found.type != type:
        raise cv.invalid("cute-type", f"has a result of type {type}, but its rewrite returns another")
    return found


# ---- across blocks and functions ---------------------------------------------------------------------
def _convert_operands(op: Operation, cv: Converter, owned: Owned) -> None:
    for index, value in enumerate(op.operands):
        if owned(value.type):
            cv.root = op
            if not isinstance(op, BLOCK_ARGUMENT_OPS):
                raise cv.unsupported("cute-user", f"uses a value of type {value.type}")
            op.operands[index] = cv.packed(value)


def _convert_results(op: Operation, cv: Converter, owned: Owned) -> None:
    for result in op.results:
        if owned(result.type):
            _retype(result, cv, op.next_op)


def _convert_arguments(block: Block, cv: Converter, owned: Owned) -> None:
    for argument in block.args:
        if owned(argument.type):
            _retype(argument, cv, block.first_op)


def _retype(value: SSAValue, cv: Converter, before: Operation | None) -> None:
    """Set the LLVM type of a value; for companion operations, insert the unpacking after it."""
    if before is None:
        raise InternalError("cute-block-end", f"no operation follows a value of type {value.type}")
    old = value.type
    set_type(value, cv.types.convert(old))
    cv.root, cv.before[value] = before, old
    cv.held[value] = cv.unpacked(value, old)


def _convert_signature(op: Operation, cv: Converter, owned: Owned) -> None:
    """Convert the type of a function, in whichever property it is stored."""
    if isinstance(op, (func.FuncOp, gpu.GPUFuncOp, llvm.FuncOp)):
        convert = lambda type: cv.types.convert(type) if owned(type) else type
        op.properties["function_type"] = converted_signature(op.properties["function_type"], convert)
