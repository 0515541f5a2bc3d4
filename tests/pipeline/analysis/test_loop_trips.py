"""How often loops run: known, at most as often as the program shows, or assumed."""

import pytest

from tileiras_build.ir.casting import as_op
from tileiras_build.ir.dialects.fast_xdsl import walk
from tileiras_build.pipeline.analysis import loop_trips as loop_trips_module
from tileiras_build.pipeline.analysis.loop_trips import loop_trips, most_trips
from tileiras_build.pipeline.tile_ir_text_format import parse

HEAD = """nv_tileaa.func @k {
^bb0(%start: i32, %end: i32, %n: i32, %p: i1):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %100 = arith.constant 100 : i32
  %256 = arith.constant 256 : i32
  %64 = arith.constant 64 : i32
  %63 = arith.constant 63 : i32
  %behind = arith.addi %start, %256 : i32
  %stop = arith.minsi %behind, %end : i32
  %before = arith.subi %start, %100 : i32
  %first = arith.maxsi %before, %zero : i32
  %next = arith.addi %start, %64 : i32
  %length = arith.subi %stop, %start : i32
  %more = arith.addi %length, %63 : i32
  %parts = arith.floordivsi %more, %64 : i32
  %either = arith.select %p, %100, %parts : (i1, i32, i32) -> i32
  %down = arith.floordivsi %first, %64 : i32
  %up = arith.ceildivsi %next, %64 : i32
  %last = arith.floordivsi %next, %64 : i32
"""
LOOP = """  nv_tileaa.for {}, {}, {} : (i32, i32, i32) -> () {{
  ^bb1(%i: i32):
    nv_tileaa.continue
  }}
  nv_tileaa.return
}}"""


def loop(*bounds: str):
    text = HEAD + LOOP.format(*bounds)
    [found] = [as_op(op) for op in walk(parse(text.encode(), "k.tileaa")) if op.name == "nv_tileaa.for"]
    return found


@pytest.mark.parametrize(
    ("bounds", "most"),
    [
        (("%zero", "%100", "%64"), 2),  # constants
        (("%start", "%stop", "%one"), 256),  # a part of a sequence
        (("%start", "%stop", "%64"), 4),
        (("%zero", "%length", "%64"), 4),
        (("%zero", "%parts", "%one"), 4),  # (256 + 63) // 64
        (("%zero", "%either", "%one"), 100),
        (("%first", "%next", "%one"), 164),  # a window: from 100 before the start to 64 behind it
        (("%down", "%last", "%one"), 3),  # the quotients of two numbers that are 164 apart
        (("%down", "%up", "%one"), 4),
        (("%zero", "%n", "%one"), None),
        (("%start", "%end", "%one"), None),
        (("%zero", "%stop", "%one"), None),
        (("%n", "%stop", "%one"), None),
        (("%start", "%stop", "%n"), None),  # no known step
    ],
)
def test_most_trips(bounds, most):
    assert most_trips(loop(*bounds)) == most


def test_trips_are_the_known_ones_or_assumed():
    assert loop_trips(loop("%zero", "%100", "%64")) == 2
    assert loop_trips(loop("%zero", "%n", "%one")) == 1  # nothing is loaded


def test_a_chain_of_additions_is_followed_once(monkeypatch):
    """Each addition asks how far both operands are above the value below, and above zero."""
    seen = []
    rule = loop_trips_module.RULES["addi"]
    monkeypatch.setitem(loop_trips_module.RULES, "addi", lambda *rest: seen.append(rest) or rule(*rest))
    chain = [f"  %s{step + 1} = arith.addi %s{step}, %s{step} : i32\n" for step in range(10)]
    text = HEAD + "  %s0 = arith.addi %start, %end : i32\n" + "".join(chain) + LOOP.format("%n", "%s10", "%one")
    [found] = [as_op(op) for op in walk(parse(text.encode(), "k.tileaa")) if op.name == "nv_tileaa.for"]
    assert most_trips(found) is None
    assert len(seen) == 11 + 10  # above %n, and the operands of all but the last one above zero
