"""Ranges of integers and what is proven of tile indices: each rule on small programs, and soundness against evaluation."""

import pytest

from tileiras_build.ir.casting import as_op
from tileiras_build.ir.dialects.fast_xdsl import walk
from tileiras_build.pipeline.analysis.integer_ranges import BoundsCheck, IntegerRanges
from tileiras_build.pipeline.tile_ir_text_format import parse

HEAD = """!m = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [16, 64], dim_map = [0, 1], steps = [16, 64], sparse = -1, padding = none>
!w = !nv_tileaa.tiled_view<partition, !m, tile = [16, 128], dim_map = [0, 1], steps = [16, 128], sparse = -1, padding = none>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %r: i32, %c: i32, %any: i32):
  %rows = nv_tileas.assume %r {predicate = #cuda_tile.bounded<0, ?>} : i32
  %columns = nv_tileas.assume %c {predicate = #cuda_tile.bounded<0, ?>} : i32
  %mem = nv_tileas.make_memref %p sizes(%rows, %columns) strides(%columns) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !m
  %v = nv_tileas.block_tile %mem : (!m) -> !v
  %w = nv_tileas.block_tile %mem : (!m) -> !w
  %x = nv_tileas.get_program_id {axis = 0 : i32} : i32
  %y = nv_tileas.get_program_id {axis = 1 : i32} : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %63 = arith.constant 63 : i32
  %64 = arith.constant 64 : i32
  %100 = arith.constant 100 : i32
  %minus = arith.constant -1 : i32
  %down, %across = nv_tileas.get_tile_count %v : (!v) -> (i32, i32)
  %d, %wide = nv_tileas.get_tile_count %w : (!w) -> (i32, i32)
"""
LOAD = "  %t, %u = nv_tileas.tiled_load %v coords({}, {}) {{mem_semantic = \"weak\"}} : (!v, i32, i32) -> (tensor<16x64xf32>, !nv_tileaa.mem_token)\n"  # fmt: skip


def module(lines: str):
    [func] = parse((HEAD + lines + "  nv_tileaa.return\n}").encode(), "k.tileas").body.block.ops
    return func


def checks(lines: str, index: str) -> BoundsCheck:
    """What is asked of an index of 64 columns."""
    load = LOAD.format("%y", index)
    func = module(lines.replace("LOAD", load) if "LOAD" in lines else lines + load)
    [load] = [op for op in walk(func) if op.name == "nv_tileas.tiled_load"]
    return IntegerRanges().checks(as_op(load))[1]


LOOP = """  nv_tileas.for {}, {}, {} initial() : (i32, i32, i32) -> () {{
  ^bb1(%i: i32):
LOAD    nv_tileas.continue : () -> ()
  }}
"""


def loop(lower: str, upper: str, step: str = "%one", before: str = "") -> str:
    return before + LOOP.format(lower, upper, step)


@pytest.mark.parametrize("lower, upper, step, before, expected", [
    ("%zero", "%across", "%one", "", BoundsCheck.NONE),
    ("%y", "%across", "%64", "", BoundsCheck.NONE),
    ("%zero", "%wide", "%one", "", BoundsCheck.NONE),  # fewer tiles, for they are larger
    ("%zero", "%n", "%one", "%n = arith.ceildivsi %columns, %64 : i32\n", BoundsCheck.NONE),
    ("%zero", "%n", "%one", "%n = arith.ceildivsi %c, %64 : i32\n", BoundsCheck.NONE),
    ("%zero", "%n", "%one", "%s = arith.addi %columns, %63 : i32\n%n = arith.floordivsi %s, %64 : i32\n", BoundsCheck.NONE),
    ("%zero", "%n", "%one", "%s = arith.minsi %columns, %any : i32\n%n = arith.ceildivsi %s, %64 : i32\n", BoundsCheck.NONE),
    ("%zero", "%n", "%one", "%s, %n = nv_tileas.get_dim_size %mem : (!m) -> (i32, i32)\n", BoundsCheck.ANY),  # elements, not tiles
    ("%zero", "%n", "%one", "%n = arith.ceildivsi %rows, %64 : i32\n", BoundsCheck.PAST_END),
    ("%zero", "%n", "%one", "%n = arith.addi %wide, %one : i32\n", BoundsCheck.PAST_END),
    ("%zero", "%100", "%one", "", BoundsCheck.PAST_END),
    ("%zero", "%any", "%one", "", BoundsCheck.ANY),  # times 64 there are no numbers of 32 bits for it
    ("%minus", "%across", "%one", "", BoundsCheck.ANY),
    ("%any", "%across", "%one", "", BoundsCheck.ANY),
    ("%zero", "%across", "%any", "", BoundsCheck.ANY),  # may wrap around
])  # fmt: skip
def test_loops(lower, upper, step, before, expected):
    assert checks(loop(lower, upper, step, before), "%i") == expected


@pytest.mark.parametrize("lines, index, expected", [
    ("", "%y", BoundsCheck.PAST_END),
    ("", "%x", BoundsCheck.ANY),
    ("", "%zero", BoundsCheck.PAST_END),
    ("", "%minus", BoundsCheck.ANY),
    ("", "%any", BoundsCheck.ANY),
    ("  %q = arith.remui %y, %across : i32\n", "%q", BoundsCheck.NONE),
    ("  %q = arith.remsi %x, %across : i32\n", "%q", BoundsCheck.NONE),
    ("  %q = arith.remsi %any, %across : i32\n", "%q", BoundsCheck.ANY),
    ("  %q = arith.subi %y, %one : i32\n", "%q", BoundsCheck.ANY),
    ("  %q = arith.divsi %x, %100 : i32\n", "%q", BoundsCheck.PAST_END),
    ("  %q = nv_tileas.assume %any {predicate = #cuda_tile.bounded<0, 1000>} : i32\n", "%q", BoundsCheck.PAST_END),
])  # fmt: skip
def test_scalars(lines, index, expected):
    assert checks(lines, index) == expected


OPERATIONS = {
    "addi": lambda a, b: a + b, "subi": lambda a, b: a - b, "muli": lambda a, b: a * b, "minsi": min, "maxsi": max,
    "floordivsi": lambda a, b: a // b, "ceildivsi": lambda a, b: -(-a // b), "divsi": lambda a, b: int(a / b),
    "divui": lambda a, b: a % 2**32 // (b % 2**32), "remsi": lambda a, b: a - b * int(a / b),
    "remui": lambda a, b: a % 2**32 % (b % 2**32), "andi": lambda a, b: a & b,
    "shli": lambda a, b: a << b, "shrsi": lambda a, b: a >> b,
}  # fmt: skip

DIVISIONS, SHIFTS = ("floordivsi", "ceildivsi", "divsi", "divui", "remsi", "remui"), ("shli", "shrsi")


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(
    "bounds", [((0, 9), (1, 5)), ((-7, 9), (1, 5)), ((-7, -2), (-3, 4)), ((2**31 - 5, 2**31 - 1), (1, 4))]
)
def test_ranges_have_all_results(name, bounds):
    lines = ""
    for value, (least, most) in zip("ab", bounds):
        lines += f"  %{value} = nv_tileas.assume %any {{predicate = #cuda_tile.bounded<{least}, {most}>}} : i32\n"
    func = module(lines + f"  %q = arith.{name} %a, %b : i32\n")
    least, most = IntegerRanges()(func.regions[0].blocks[0].last_op.prev_op.results[0])
    for a in range(bounds[0][0], bounds[0][1] + 1):
        for b in range(bounds[1][0], bounds[1][1] + 1):
            if b > 0 or name not in SHIFTS and (b or name not in DIVISIONS):
                found = (OPERATIONS[name](a, b) + 2**31) % 2**32 - 2**31
                assert least <= found <= most, (a, b)


def test_elements_of_tiles():
    """Four bits of words, as unpacked weights are, less those of other words; views keep ranges."""
    lines = """  %es = nv_tileas.splat %any : (i32) -> tensor<4x1xi32>
  %ns = nv_tileas.make_range : tensor<8xi32>
  %ms = arith.constant 15 : i32
  %qs = nv_tileas.splat %ms : (i32) -> tensor<4x8xi32>
  %rs = nv_tileas.view %ns : (tensor<8xi32>) -> tensor<1x8xi32>
  %ss = nv_tileas.broadcast %rs : (tensor<1x8xi32>) -> tensor<4x8xi32>
  %bs = nv_tileas.broadcast %es : (tensor<4x1xi32>) -> tensor<4x8xi32>
  %hs = arith.shrsi %bs, %ss : tensor<4x8xi32>
  %os = arith.andi %hs, %qs : tensor<4x8xi32>
  %ls = arith.subi %os, %ss : tensor<4x8xi32>
"""
    last = module(lines).regions[0].blocks[0].last_op.prev_op
    assert IntegerRanges()(last.results[0]) == (-7, 15)
    assert IntegerRanges()(last.operands[0]) == (0, 15)
