"""Traits of tile operations: all rows have them, no two conflict, and an operation without them is an error."""

from types import SimpleNamespace

import pytest
from xdsl.dialects import arith as xdsl_arith
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.dialects.test import TestOp

from tests.meta.import_graph import module_files
from tileiras_build.core.errors import InternalError
from tileiras_build.ir.dialects import arith, op_traits
from tileiras_build.ir.dialects.nv_tileaa.ops import OPERATIONS
from tileiras_build.ir.dialects.nv_tileas.ops import COUNTERPARTS, NOT_CONVERTED, SCHEDULED
from tileiras_build.ir.dialects.op_traits import (
    OP_TRAITS,
    LayoutTrait,
    MemoryEffect,
    OpTraits,
    RegionKind,
    ValueForwarding,
    register_traits,
    traits_of,
)
from tileiras_build.pipeline.analysis.axis_info import RULES as AXIS_RULES
from tileiras_build.pipeline.analysis.sharding_propagation import RULES as SPLIT_RULES
from tileiras_build.pipeline.tilebc_to_tileaa import arithmetic, memory, shapes

ROWS = (*OPERATIONS, *COUNTERPARTS.values(), *SCHEDULED, *arith.OPERATIONS)


def test_every_row_has_traits():
    assert [row.name for row in ROWS if traits_of(row.create()) is not OP_TRAITS[row.name]] == []


def test_results_of_the_first_lowering_have_traits():
    """Operations of other dialects among it."""
    made = {target for module in (arithmetic, memory, shapes) for target in module.SAME_OPERANDS.values()}
    made |= {*arithmetic.DIVISIONS.values(), *arithmetic.MIN_MAX.values()}
    made |= {target for pair in arithmetic.BY_SIGNEDNESS.values() for target in pair}
    assert [target.name for target in made if target.name not in OP_TRAITS] == []


@pytest.mark.parametrize("rules", [AXIS_RULES, SPLIT_RULES], ids=["axis_info", "sharding_propagation"])
def test_tables_of_rules_name_operations_that_exist(rules):
    assert [name for name in rules if name not in OP_TRAITS] == []


@pytest.mark.parametrize("source", [op for op in OPERATIONS if op.name not in NOT_CONVERTED], ids=lambda op: op.name)
def test_counterparts_have_the_same_traits(source):
    assert OP_TRAITS[COUNTERPARTS[source.name].name] == OP_TRAITS[source.name]


def test_an_op_without_traits_is_an_error():
    op = TestOp()
    for ask in (traits_of, op_traits.is_loop, op_traits.is_rematerializable, op_traits.is_access):
        with pytest.raises(InternalError, match="test.op has no traits") as raised:
            ask(op)
        assert raised.value.id == "operation-traits"


def test_two_rows_of_a_name_have_the_same_traits():
    register_traits({"arith.addi": OP_TRAITS["arith.addi"]})
    with pytest.raises(InternalError, match="arith.addi has two rows"):
        register_traits({"arith.addi": OpTraits(LayoutTrait.CUSTOM)})


OF_ROWS = (
    "is_counted_loop is_loop is_if is_structured_control_flow is_combiner_region is_agent_switch is_continue is_break"
    " is_loop_exit is_yield is_region_end is_access is_atomic_rmw is_store is_fence"
)


@pytest.mark.parametrize("ask", OF_ROWS.split())
def test_queries_of_table_ops(ask):
    """What such a question is true of is taken for a TableOp by its type."""
    asked = [name for name in OP_TRAITS if getattr(op_traits, ask)(SimpleNamespace(name=name))]
    assert asked and set(asked) <= {row.name for row in (*OPERATIONS, *COUNTERPARTS.values(), *SCHEDULED)}


def test_traits_belong_to_the_name():
    """xDSL's class for an operation of a row has that row's facts."""
    value = xdsl_arith.ConstantOp(IntegerAttr(1, i32)).result
    assert op_traits.is_rematerializable(xdsl_arith.AddiOp(value, value))


def names(ask) -> set[str]:
    """The operations of nv_tileas, and those that stay nv_tileaa's, for which a question holds."""
    rows = [*COUNTERPARTS.values(), *SCHEDULED, *(op for op in OPERATIONS if op.name in NOT_CONVERTED)]
    return {row.name.partition(".")[2] for row in rows if ask(row.create())}


QUESTIONS = {
    op_traits.is_function: "func",
    op_traits.is_counted_loop: "for",
    op_traits.is_loop: "for loop",
    op_traits.is_structured_control_flow: "for loop if",
    op_traits.is_combiner_region: "reduce scan",
    op_traits.is_agent_switch: "agent_switch",
    op_traits.is_loop_exit: "continue break",
    op_traits.is_region_end: "continue break yield",
    op_traits.is_view_like: "view permute",
    op_traits.is_value_forwarding: "view permute fp_to_fp convert_layout",
    op_traits.preserves_value: "assume",
    op_traits.preserves_zero: "splat view broadcast permute convert_layout",
    op_traits.is_access: "load store tiled_load tiled_store atomic_rmw atomic_cas tiled_atomic_rmw multimem_load_reduce"
    " multimem_reduce multimem_store",
    op_traits.is_atomic_rmw: "atomic_rmw atomic_cas tiled_atomic_rmw multimem_reduce",
    op_traits.is_store: "store tiled_store multimem_store",
    op_traits.is_fence: "fence_alias",
    op_traits.writes_memory: "store tiled_store atomic_rmw atomic_cas tiled_atomic_rmw async.tiled_tma_store fence_alias"
    " multimem_reduce multimem_store barrier",
    op_traits.has_side_effects: "store tiled_store atomic_rmw atomic_cas tiled_atomic_rmw async.tiled_tma_store fence_alias"
    " multimem_reduce multimem_store barrier print",
    op_traits.is_token_ordered: "load store tiled_load tiled_store atomic_rmw atomic_cas tiled_atomic_rmw async.tiled_tma_store"
    " multimem_load_reduce multimem_reduce multimem_store fence_alias",
    op_traits.waits_for_grid: "grid_dependency",
    op_traits.is_rematerializable: "addptr assume int_to_ptr bitcast splat make_range view broadcast permute",
}


@pytest.mark.parametrize(("ask", "holds"), QUESTIONS.items(), ids=lambda value: value if isinstance(value, str) else "")
def test_query(ask, holds):
    assert names(ask) == set(holds.split())


def test_columns_without_a_query():
    """Copies are in no order of tokens; entries end with their return."""
    assert (
        OP_TRAITS["nv_tileas.async.tiled_tma_load"].effect
        == OP_TRAITS["nv_tileas.async_tiled_load"].effect
        == MemoryEffect.COPY
    )
    assert OP_TRAITS["nv_tileaa.return"].region_kind is RegionKind.RETURN
    assert OP_TRAITS["arith.extsi"].forwarding == OP_TRAITS["arith.extui"].forwarding == ValueForwarding.EXTENSION


FOLDERS = ("tileiras_build.pipeline.tileaa_to_tileas.", "tileiras_build.pipeline.analysis.")
SPELLED = ('.name == "nv_tileas.for"', '.name == "nv_tileas.loop"', '.name == "nv_tileaa.func"', ".name in LOOPS")


def test_passes_query_traits_of_loops():
    texts = {module: path.read_text() for module, path in module_files().items() if module.startswith(FOLDERS)}
    assert len(texts) > 50
    assert [(module, spelling) for module, text in texts.items() for spelling in SPELLED if spelling in text] == []
