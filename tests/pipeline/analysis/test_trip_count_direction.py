"""Along which axis of the grid loops get longer or shorter."""

import pytest

from tileiras_build.pipeline.analysis.trip_count_direction import trip_count_directions
from tileiras_build.pipeline.tile_ir_text_format import parse

HEAD = """nv_tileaa.func @k {
^bb0(%length: i32, %p: !nv_tileaa.ptr<i32>):
  %x = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %y = nv_tileaa.get_program_id {axis = 1 : i32} : i32
  %programs = nv_tileaa.get_num_programs {axis = 0 : i32} : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %rows = arith.constant 128 : i32
  %down = arith.constant -128 : i32
  %start = arith.muli %x, %rows : i32
  %end = arith.addi %start, %rows : i32
  %tiles = arith.ceildivsi %end, %rows : i32
"""
LOOP = """  nv_tileaa.for {}, {}, {} : (i32, i32, i32) -> () {{
  ^bb1(%i{}: i32):
    nv_tileaa.continue
  }}
"""


def directions(lines, *loops):
    text = "".join(LOOP.format(*bounds, number) for number, bounds in enumerate(loops))
    [func] = parse((HEAD + lines + text + "  nv_tileaa.return\n}").encode(), "k.tileaa").body.block.ops
    return dict(trip_count_directions(func))


@pytest.mark.parametrize(
    ("lines", "end", "expected"),
    [
        ("", "%tiles", {0: 1}),  # causal attention
        ("  %a = arith.minsi %tiles, %length : i32\n", "%a", {0: 1}),
        ("  %a = arith.muli %x, %down : i32\n  %b = arith.addi %a, %length : i32\n", "%b", {0: -1}),
        ("  %a = arith.subi %length, %start : i32\n", "%a", {0: -1}),
        ("  %a = arith.subi %end, %start : i32\n", "%a", {0: 0}),  # the same for all, which the rules do not see
        ("  %a = arith.remsi %x, %length : i32\n", "%a", {0: 0}),
        ("  %a = arith.addi %tiles, %y : i32\n", "%a", {0: 1, 1: 1}),
        ("", "%length", {}),
    ],
)
def test_ends(lines, end, expected):
    assert directions(lines, ("%zero", end, "%one")) == expected


def test_starts():
    assert directions("", ("%tiles", "%length", "%one")) == {0: -1}


def test_loops_together():
    """One loop begins where the other ends: attention that masks its last tiles only."""
    assert directions("", ("%zero", "%start", "%rows"), ("%start", "%end", "%rows")) == {0: 1}
    assert directions("", ("%zero", "%start", "%rows"), ("%start", "%length", "%rows")) == {}


def test_loops_that_end_no_later_than_another_begins():
    """As front ends write it: [0, min(n, m)) and [max(0, m), n), with m a select."""
    lines = """  %seen = arith.minsi %tiles, %length : i32
  %less = arith.cmpi %x, %seen {predicate = "slt"} : (i32, i32) -> i1
  %wide = arith.extui %less : (i1) -> i32
  %is = arith.cmpi %wide, %zero {predicate = "ne"} : (i32, i32) -> i1
  %first = arith.select %is, %x, %seen : (i1, i32, i32) -> i32
  %second = arith.maxsi %zero, %x : i32
"""
    assert directions(lines, ("%zero", "%first", "%one"), ("%second", "%seen", "%one")) == {0: 1}


def test_a_choice_by_something_else():
    lines = """  %is = arith.cmpi %x, %one {predicate = "slt"} : (i32, i32) -> i1
  %end2 = arith.select %is, %length, %zero : (i1, i32, i32) -> i32
"""
    assert directions(lines, ("%zero", "%end2", "%one")) == {0: 0}


def test_loops_over_tile_programs():
    assert directions("", ("%x", "%length", "%programs")) == {}


def test_arithmetic_that_shares_operands_is_followed_once():
    doubled = "".join(
        f"  %d{i} = arith.addi {f'%d{i - 1}' if i else '%x'}, {f'%d{i - 1}' if i else '%x'} : i32\n" for i in range(50)
    )
    assert directions(doubled, ("%zero", "%d49", "%one")) == {0: 1}


def test_deep_arithmetic_is_unknown():
    deep = "".join(f"  %d{i} = arith.addi {f'%d{i - 1}' if i else '%x'}, %length : i32\n" for i in range(3000))
    assert not any(directions(deep, ("%zero", "%d2999", "%one")).values())
