"""Facts of integers and pointers: each rule on small programs, and soundness against evaluation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileiras_build.pipeline.analysis.axis_facts import MAX_DIVISIBILITY, power_of_two
from tileiras_build.pipeline.analysis.axis_info import AxisAnalysis
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
        ("%x = arith.floordivsi %e, %two : i32", ((), (), 4)),
        ("%x = arith.ceildivsi %e, %two : i32", ((), (), 4)),
        ("%x = arith.floordivsi %two, %e : i32", ((), (), 1)),
        ("%x = arith.floordivsi %r, %t : tensor<16xi32>", ((1,), (2,), 1)),
        ("%x = arith.divsi %r, %t : tensor<16xi32>", ((1,), (1,), 1)),
        ("%x = arith.remui %r, %b : tensor<16xi32>", ((8,), (1,), 8)),
        ("%x = arith.remsi %r, %b : tensor<16xi32>", ((1,), (1,), 1)),
        ("%x = arith.shrsi %r, %t : tensor<16xi32>", ((1,), (4,), 1)),
        ("%x = arith.shli %e, %two : i32", ((), (), 32)),
        ("%x = arith.xori %r, %b : tensor<16xi32>", ((8,), (1,), 8)),
        ("%x = arith.minsi %r, %b : tensor<16xi32>", ((1,), (1,), 1)),
        ("%x = nv_tileas.addptr %p, %e : (!nv_tileaa.ptr<f32>, i32) -> !nv_tileaa.ptr<f32>", ((), (), 1)),
    ],
)
def test_rules(line, expected):
    assert facts(line) == expected


@pytest.mark.parametrize("distance", [-1, 30, 1 << 40])
@pytest.mark.parametrize("shift", ["shli", "shrsi", "shrui"])
def test_a_shift_by_too_few_or_too_many_bits_tells_nothing(shift, distance):
    line = (
        f"%d = arith.constant {distance} : i64\n  %w = arith.extsi %e : (i32) -> i64\n  %x = arith.{shift} %w, %d : i64"
    )
    assert facts(line) == ((), (), 1)


def test_broadcast_is_constant_along_what_it_repeats():
    line = "%w = nv_tileas.view %r : (tensor<16xi32>) -> tensor<16x1xi32>\n"
    line += "  %x = nv_tileas.broadcast %w : (tensor<16x1xi32>) -> tensor<16x8xi32>"
    assert facts(line) == ((16, 1), (1, 8), MAX_DIVISIBILITY)


FLOOR_REMAINDER = """%m = nv_tileas.assume %n {predicate = #cuda_tile.div_by<8>} : i32
  %p0 = nv_tileas.assume %m {predicate = #cuda_tile.bounded<LEAST, ?>} : i32
  %d = nv_tileas.splat %p0 : (i32) -> tensor<16xi32>
  %zero = arith.constant 0 : i32
  %z = nv_tileas.splat %zero : (i32) -> tensor<16xi32>
  %q = arith.remsi %r, %d : tensor<16xi32>
  %c0 = arith.cmpi %q, %z {predicate = "slt"} : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
  %c1 = arith.cmpi %d, %z {predicate = "slt"} : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
  %c2 = arith.xori %c0, %c1 : tensor<16xi1>
  %c3 = arith.cmpi %q, %z {predicate = "PREDICATE"} : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
  %c4 = arith.andi %c2, %c3 : tensor<16xi1>
  %s = arith.addi %q, %d : tensor<16xi32>
  %x = arith.select %c4, %s, %q : (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>"""


@pytest.mark.parametrize(("least", "predicate", "group"), [("0", "ne", 8), ("?", "ne", 1), ("0", "eq", 1)])
def test_a_remainder_by_a_positive_number_counts_up_within_its_divisor(least, predicate, group):
    """One that rounds down; by a negative number it counts up to zero."""
    line = FLOOR_REMAINDER.replace("LEAST", least).replace("PREDICATE", predicate)
    assert facts(line)[0] == (group,)


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


LOOP = """  %four = arith.constant 4 : i32
  %o = nv_tileas.for %e, %n, %four initial(%r) : (i32, i32, i32, tensor<16xi32>) -> tensor<16xi32> {
  ^bb1(%j: i32, %c: tensor<16xi32>):
    %x = arith.addi OPERANDS : tensor<16xi32>
    nv_tileas.continue %x : tensor<16xi32>
  }
  nv_tileaa.return
}"""


@pytest.mark.parametrize(("operands", "run"), [("%c, %b", 16), ("%c, %r", 1), ("%b, %t", 1)])
def test_what_a_loop_adds_one_number_to_counts_up_as_before_it(operands, run):
    [func] = parse((HEAD + LOOP.replace("OPERANDS", operands)).encode()).body.block.ops
    loop = next(op for op in func.walk() if op.name == "nv_tileas.for")
    info = AxisAnalysis()(loop.regions[0].blocks[0].args[1])
    assert (info.contiguity, info.divisibility) == ((run,), 8 if run > 1 else 1)


@pytest.mark.parametrize(
    ("value", "power"), [(1, 1), (12, 4), (0, MAX_DIVISIBILITY), (-8, 8), (1 << 40, MAX_DIVISIBILITY)]
)
def test_power_of_two(value, power):
    assert power_of_two(value) == power


# ---- soundness -----------------------------------------------------------------------------------------------------
STEPS = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "minsi": np.minimum,
    "maxsi": np.maximum,
}
BY_TWO = {
    "floordivsi": lambda value, _: value // 2,
    "divsi": lambda value, _: np.trunc(value / 2).astype(int),
    "ceildivsi": lambda value, _: -(-value // 2),
    "divui": lambda value, _: (value & 0xFFFFFFFF) // 2,
    "remsi": lambda value, _: np.fmod(value, 2),
    "remui": lambda value, _: (value & 0xFFFFFFFF) % 2,
    "shli": lambda value, _: value << 2,
    "shrsi": lambda value, _: value >> 2,
    "shrui": lambda value, _: (value & 0xFFFFFFFF) >> 2,
}
STEPS_BY_TWO = STEPS | BY_TWO


@st.composite
def steps(draw, values, two):
    """An operation and its operands: of divisions and shifts the second one is the tile of twos."""
    name = draw(st.sampled_from(sorted(STEPS_BY_TWO)))
    return name, draw(st.sampled_from(values)), two if name in BY_TWO else draw(st.sampled_from(values))


@st.composite
def expressions(draw):
    """(lines, value by name): a chain of operations on ranges and splats, evaluated."""
    values = {"%r": np.arange(16), "%b": np.full(16, 8 * draw(st.integers(-5, 5))), "%t": np.full(16, 2)}
    lines = []
    for number in range(draw(st.integers(1, 5))):
        name, a, b = draw(steps(sorted(values), "%t"))
        lines.append(f"  %x{number} = arith.{name} {a}, {b} : tensor<16xi32>")
        values[f"%x{number}"] = STEPS_BY_TWO[name](values[a], values[b]).astype(np.int32).astype(int)
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
    start = {"%rows": rows, "%columns": columns, "%base": 8 * draw(st.integers(-5, 5)), "%double": 2}
    start["%unknown"] = draw(st.integers(-7, 7))
    values = {name: np.broadcast_to(value, (16, 16)) for name, value in start.items()}
    lines = []
    for number in range(draw(st.integers(1, 5))):
        name, a, b = draw(steps(sorted(values), "%double"))
        lines.append(f"  %x{number} = arith.{name} {a}, {b} : tensor<16x16xi32>")
        values[f"%x{number}"] = STEPS_BY_TWO[name](values[a], values[b]).astype(np.int32).astype(int)
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
