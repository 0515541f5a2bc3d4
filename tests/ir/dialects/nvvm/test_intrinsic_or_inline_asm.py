"""Operations that only a row of the instruction table defines: their text, their effects."""

import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, UnitAttr, i32, i64
from xdsl.dialects.llvm import UndefOp
from xdsl.traits import Pure

from tileiras_build.ir.dialects.nvvm.intrinsic_or_inline_asm import INSTRUCTION_TABLE, NONE, Assembly, Intrinsic
from tileiras_build.ir.dialects.nvvm.llvm_lowering import MAPPING, instruction_row
from tileiras_build.pipeline.opt import parse_module
from tileiras_build.pipeline.tile_ir_text_format import render

MEMBERS = {"1": 1, "?": 1, "*": 3}  # operands that a full group has


def made(kind, full: bool):
    """One operation: every group of operands full, or only those that must be there."""
    values = UndefOp(i32)
    groups = [[values.res] * (MEMBERS[mark] if full or mark == "1" else 0) for _, mark in kind.operand_groups]
    attributes = {"number": IntegerAttr(3, i64), "word": StringAttr("relaxed"), "flag": UnitAttr()} if full else {}
    return ModuleOp([values, kind.make(groups, [i32] * len(kind.result_groups), attributes)])


@pytest.mark.parametrize("full", [True, False])
def test_operations_print_and_read_back(full):
    for kind in INSTRUCTION_TABLE:
        module = made(kind, full)
        text = render(module)
        again = parse_module(text.decode())
        assert again.is_structurally_equivalent(module) and render(again) == text, kind.name


def test_what_touches_memory_or_all_threads_is_not_pure():
    for kind in INSTRUCTION_TABLE:
        row = instruction_row(made(kind, True).body.block.last_op)
        assert isinstance(row, Intrinsic | Assembly)
        assert kind.has_trait(Pure) == (row.effects == NONE and not row.convergent), kind.name


def test_no_operation_is_in_two_tables():
    assert {op.name for op in INSTRUCTION_TABLE} & {op.name for op in MAPPING} == set()
