"""Tiles of their own in each iteration: what is found to be so is so, and what persistent kernels write is found."""

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1, i32
from xdsl.dialects.test import TestOp

from tests.emulated_kernels import scheduled_case
from tileiras_build.ir.dialects.nv_tileas.ops import COUNTERPARTS, CtaRankOp
from tileiras_build.pipeline.analysis.disjoint_stores import iterations_store_disjoint_tiles

NumProgramsOp, TileCountOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("get_num_programs", "get_tile_count"))
KERNELS = Path(__file__).parents[1] / "tileaa_to_tileas" / "tma_stored_tiles.py"
DIVISORS = (-3, -1, 1, 2, 4)
INTEGERS = range(-13, 14)
OPS = {
    "floordivsi": (arith.FloorDivSIOp, lambda x, y: x // y if y else None),
    "ceildivsi": (arith.CeilDivSIOp, lambda x, y: -(-x // y) if y else None),
    "divsi": (arith.DivSIOp, lambda x, y: int(x / y) if y else None),
    "remsi": (arith.RemSIOp, lambda x, y: x - y * int(x / y) if y else None),
    "addi": (arith.AddiOp, lambda x, y: x + y),
    "subi": (arith.SubiOp, lambda x, y: x - y),
    "muli": (arith.MuliOp, lambda x, y: x * y),
}


@st.composite
def trees(draw, depth=3):
    """An expression of the induction variable, what is the same in all iterations, and constants."""
    kind = draw(
        st.sampled_from(["induction", "same", "constant", *["op"] * 4, "select"] if depth else ["induction", "same"])
    )
    if kind == "constant":
        return kind, draw(st.integers(-2, 2))
    if kind == "select":
        return kind, draw(trees(depth - 1)), draw(trees(depth - 1))
    if kind == "op":
        return (
            draw(st.sampled_from(list(OPS))),
            draw(trees(depth - 1)),
            draw(st.one_of(st.just(("same",)), trees(depth - 1))),
        )
    return (kind,)


@cache
def scheduled(name):
    return scheduled_case(KERNELS, name, "sm_90")


class Coordinates:
    """The store of a persistent kernel, whose coordinates are made anew."""

    def __init__(self, name="persistent"):
        module = scheduled(name).clone()
        [self.store] = [op for op in module.walk() if op.name == "nv_tileas.async.tiled_tma_store"]
        self.loop = self.store.parent_op()
        self.divisor = NumProgramsOp.make([], [i32], axis=0).result
        self.loop.parent.insert_op_before(self.divisor.owner, self.loop)
        self.made = {}

    def value(self, tree):
        """Equal expressions are one value, as common subexpressions are eliminated."""
        if tree == ("induction",):
            return self.loop.regions[0].blocks[0].args[0]
        if tree == ("same",):
            return self.divisor
        if tree not in self.made:
            op = self._op(tree)
            self.store.parent.insert_op_before(op, self.store)
            self.made[tree] = op.results[0]
        return self.made[tree]

    def _op(self, tree):
        if tree[0] == "constant":
            return arith.ConstantOp(IntegerAttr(tree[1], i32))
        if tree[0] == "select":
            condition = TestOp(result_types=[i1])
            self.store.parent.insert_op_before(condition, self.store)
            return arith.SelectOp(condition.results[0], *map(self.value, tree[1:]))
        return OPS[tree[0]][0](*map(self.value, tree[1:]))

    def are_distinct(self, *coords):
        places = [list(self.store.operands).index(coord) for coord in self.store.coords]
        for place, coord in zip(places, coords, strict=True):
            self.store.operands[place] = self.value(coord)
        return iterations_store_disjoint_tiles(self.store)


def values_of(tree, number, divisor):
    """All that an expression may be, whatever its conditions are; None where something divides by zero."""
    if tree[0] in ("induction", "same"):
        return {number if tree[0] == "induction" else divisor}
    if tree[0] == "constant":
        return {tree[1]}
    parts = [values_of(part, number, divisor) for part in tree[1:]]
    if tree[0] == "select":
        return set().union(*parts)
    return {OPS[tree[0]][1](x, y) for x in parts[0] for y in parts[1] if None not in (x, y)}


@settings(max_examples=60)
@given(trees(), trees())
def test_what_is_found_distinct_is(first, second):
    if not Coordinates().are_distinct(first, second):
        return
    for divisor in DIVISORS:
        written = set()
        for number in INTEGERS:
            tiles = {(x, y) for x in values_of(first, number, divisor) for y in values_of(second, number, divisor)}
            if any(None in tile for tile in tiles):
                break
            assert not written & tiles
            written |= tiles


INDUCTION, SAME = ("induction",), ("same",)
ROW, REMAINDER = ("floordivsi", INDUCTION, SAME), ("remsi", INDUCTION, SAME)
COLUMN = ("select", ("addi", REMAINDER, SAME), REMAINDER)
MOVED = ("addi", ("muli", ROW, ("constant", 2)), SAME)


@pytest.mark.parametrize(
    ("first", "second", "distinct"),
    [
        (INDUCTION, SAME, True),
        (("subi", SAME, INDUCTION), SAME, True),
        (ROW, COLUMN, True),
        (COLUMN, MOVED, True),
        (("ceildivsi", INDUCTION, SAME), REMAINDER, True),
        (("divsi", INDUCTION, SAME), COLUMN, False),
        (ROW, ROW, False),
        (ROW, SAME, False),
        (REMAINDER, COLUMN, False),
        (("muli", INDUCTION, SAME), SAME, False),
        (("muli", INDUCTION, ("constant", 0)), SAME, False),
        (("subi", INDUCTION, INDUCTION), SAME, False),
        (ROW, ("remsi", INDUCTION, ("constant", 2)), False),
    ],
)
def test_forms_of_coordinates(first, second, distinct):
    assert Coordinates().are_distinct(first, second) == distinct


@pytest.mark.parametrize(("factor", "distinct"), [(1, True), (2, False), (0, False)])
def test_a_bound_is_the_number_of_whole_tiles(factor, distinct):
    """The last place of a tile that is bound: past the end, or, with another factor, one of those in bounds or one that wraps around."""
    made = Coordinates()
    view = made.store.view
    counts = TileCountOp.make([view], [i32, i32])
    bound = arith.MinUIOp(made.value(INDUCTION), counts.results[0])
    number = arith.ConstantOp(IntegerAttr(factor, i32))
    scaled = arith.MuliOp(bound, number)
    rank = CtaRankOp.make([], [i32])
    placed = arith.AddiOp(scaled, rank.results[0])
    made.store.parent.insert_ops_before([counts, bound, number, scaled, rank, placed], made.store)
    made.made |= {("place",): placed.result}
    assert made.are_distinct(("place",), SAME) == distinct
