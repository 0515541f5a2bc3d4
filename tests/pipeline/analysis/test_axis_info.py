"""Facts of integers and pointers: each rule on small programs, and soundness against evaluation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileiras_build.pipeline.analysis.axis_info import MAX_DIVISIBILITY, AxisAnalysis, power_of_two
from tileiras_build.pipeline.tile_ir_text_format import parse

HEAD = """nv_tileaa.func @k {
^bb0(%i: i32, %n: i32, %p: !nv_tileaa.ptr<f32>):
  %r = nv_tileas.make_range : tensor<16xi32>
  %e = nv_tileas.assume %i {predicate = #cuda_tile.div_by<8>} : i32
  %b = nv_tileas.splat %e : (i32) -> tensor<16xi32>
  %two = arith.constant 2 : i32
  %t = nv_tileas.splat %two : (i32) -> tensor<16xi32>
"""


def facts(line: str):
    """(contiguity, constancy, divisibility) of the value that the last line makes."""
    module = parse((HEAD + line + "\n  nv_tileaa.return\n}").encode(), "k.tileas")
    [func] = module.body.block.ops
    op = func.regions[0].blocks[0].last_op.prev_op
    info = AxisAnalysis()(op.results[0])
    return info.contiguity, info.constancy, info.divisibility


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%x = arith.constant 24 : i32", ((), (), 8)),
        ("%x = arith.constant 0 : i32", ((), (), MAX_DIVISIBILITY)),
        ("%x = nv_tileas.assume %i {predicate = #cuda_tile.div_by<12>} : i32", ((), (), 4)),
        ("%x = nv_tileas.make_range : tensor<32xi32>", ((32,), (1,), MAX_DIVISIBILITY)),
        ("%x = nv_tileas.splat %e : (i32) -> tensor<4x8xi32>", ((1, 1), (4, 8), 8)),
        ("%x = arith.addi %b, %r : tensor<16xi32>", ((16,), (1,), 8)),
        ("%x = arith.subi %r, %b : tensor<16xi32>", ((16,), (1,), 8)),
        ("%x = arith.subi %b, %r : tensor<16xi32>", ((1,), (1,), 1)),
        ("%x = arith.muli %r, %t : tensor<16xi32>", ((1,), (1,), 2)),
        ("%x = arith.muli %e, %two : i32", ((), (), 16)),
        ("%x = nv_tileas.view %r : (tensor<16xi32>) -> tensor<16x1xi32>", ((16, 1), (1, 1), MAX_DIVISIBILITY)),
        ("%x = nv_tileas.addptr %p, %e : (!nv_tileaa.ptr<f32>, i32) -> !nv_tileaa.ptr<f32>", ((), (), 1)),
    ],
)
def test_rules(line, expected):
    assert facts(line) == expected


def test_broadcast_is_constant_along_what_it_repeats():
    line = "%w = nv_tileas.view %r : (tensor<16xi32>) -> tensor<16x1xi32>\n"
    line += "  %x = nv_tileas.broadcast %w : (tensor<16x1xi32>) -> tensor<16x8xi32>"
    assert facts(line) == ((16, 1), (1, 8), MAX_DIVISIBILITY)


@pytest.mark.parametrize(("divisor", "group"), [(8, 8), (4, 4), (1, 1)])
def test_a_bound_masks_groups_that_divide_it(divisor, group):
    line = f"%l = nv_tileas.assume %n {{predicate = #cuda_tile.div_by<{divisor}>}} : i32\n"
    line += "  %s = nv_tileas.splat %l : (i32) -> tensor<16xi32>\n  %a = arith.addi %b, %r : tensor<16xi32>\n"
    line += '  %x = arith.cmpi %a, %s {predicate = "slt"} : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>'
    assert facts(line)[1] == (group,)


def test_loop_index_is_divisible_by_what_divides_start_and_step():
    text = (
        HEAD
        + """  %four = arith.constant 4 : i32
  nv_tileas.for %e, %n, %four : (i32, i32, i32) -> () {
  ^bb1(%j: i32):
    nv_tileas.continue
  }
  nv_tileaa.return
}"""
    )
    [func] = parse(text.encode()).body.block.ops
    loop = next(op for op in func.walk() if op.name == "nv_tileas.for")
    assert AxisAnalysis()(loop.regions[0].blocks[0].args[0]).divisibility == 4


@pytest.mark.parametrize(
    ("value", "power"), [(1, 1), (12, 4), (0, MAX_DIVISIBILITY), (-8, 8), (1 << 40, MAX_DIVISIBILITY)]
)
def test_power_of_two(value, power):
    assert power_of_two(value) == power


# ---- soundness -----------------------------------------------------------------------------------------------------
STEPS = {"addi": np.add, "subi": np.subtract, "muli": np.multiply}


@st.composite
def expressions(draw):
    """(lines, value by name): a chain of operations on ranges and splats, evaluated."""
    values = {"%r": np.arange(16), "%b": np.full(16, 8 * draw(st.integers(0, 5))), "%t": np.full(16, 2)}
    lines = []
    for number in range(draw(st.integers(1, 5))):
        name, (a, b) = draw(st.sampled_from(sorted(STEPS))), draw(st.tuples(*[st.sampled_from(sorted(values))] * 2))
        lines.append(f"  %x{number} = arith.{name} {a}, {b} : tensor<16xi32>")
        values[f"%x{number}"] = STEPS[name](values[a], values[b])
    return "\n".join(lines), values[f"%x{len(lines) - 1}"]


def assert_facts(values, contiguity, constancy, divisibility):
    """What the facts say of every group of a tile."""
    for dim in range(values.ndim):
        line = np.moveaxis(values, dim, -1)
        runs = line.reshape(-1, contiguity[dim])
        assert (runs == runs[:, :1] + np.arange(contiguity[dim])).all()
        groups = line.reshape(-1, constancy[dim])
        assert (groups == groups[:, :1]).all()
    starts = values[tuple(slice(None, None, run) for run in contiguity)]
    assert (starts % divisibility == 0).all()


@settings(max_examples=40)
@given(expressions())
def test_facts_hold_of_the_values(expression):
    lines, values = expression
    assert_facts(values, *facts(lines))


TILE = """  %rv = nv_tileas.view %r : (tensor<16xi32>) -> tensor<16x1xi32>
  %rows = nv_tileas.broadcast %rv : (tensor<16x1xi32>) -> tensor<16x16xi32>
  %cv = nv_tileas.view %r : (tensor<16xi32>) -> tensor<1x16xi32>
  %columns = nv_tileas.broadcast %cv : (tensor<1x16xi32>) -> tensor<16x16xi32>
  %base = nv_tileas.splat %e : (i32) -> tensor<16x16xi32>
  %double = nv_tileas.splat %two : (i32) -> tensor<16x16xi32>
  %unknown = nv_tileas.splat %n : (i32) -> tensor<16x16xi32>
"""


@st.composite
def tile_expressions(draw):
    """The same in two dimensions, with a factor about which nothing is known."""
    rows, columns = np.indices((16, 16))
    start = {"%rows": rows, "%columns": columns, "%base": 8 * draw(st.integers(0, 5)), "%double": 2}
    start["%unknown"] = draw(st.integers(0, 7))
    values = {name: np.broadcast_to(value, (16, 16)) for name, value in start.items()}
    lines = []
    for number in range(draw(st.integers(1, 5))):
        name, (a, b) = draw(st.sampled_from(sorted(STEPS))), draw(st.tuples(*[st.sampled_from(sorted(values))] * 2))
        lines.append(f"  %x{number} = arith.{name} {a}, {b} : tensor<16x16xi32>")
        values[f"%x{number}"] = STEPS[name](values[a], values[b])
    return TILE + "\n".join(lines), values[f"%x{len(lines) - 1}"]


@settings(max_examples=40)
@given(tile_expressions())
def test_facts_hold_of_tiles(expression):
    lines, values = expression
    assert_facts(values, *facts(lines))


PREDICATES = {"slt": np.less, "sle": np.less_equal, "sgt": np.greater, "sge": np.greater_equal, "eq": np.equal}


@settings(max_examples=40)
@given(tile_expressions(), st.sampled_from(sorted(PREDICATES)), st.booleans())
def test_masks_are_equal_within_their_groups(expression, predicate, swapped):
    lines, values = expression
    last = lines.splitlines()[-1].split()[0]
    operands = ("%base", last) if swapped else (last, "%base")
    types = "tensor<16x16xi32>"
    lines += f'\n  %m = arith.cmpi {", ".join(operands)} {{predicate = "{predicate}"}} : ({types}, {types}) -> tensor<16x16xi1>'
    _, constancy, _ = facts(lines)
    for bound in range(0, 48, 8):
        pair = (np.full((16, 16), bound), values) if swapped else (values, np.full((16, 16), bound))
        mask = PREDICATES[predicate](*pair)
        for dim in range(2):
            groups = np.moveaxis(mask, dim, -1).reshape(-1, constancy[dim])
            assert (groups == groups[:, :1]).all()
