"""Dots in loops whose counters wrap, or come to the end of their type: copies ahead and partitions follow the same counters."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.emulated_kernels import aligned
from tests.pairwise import alternate
from tileiras_build import compile
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.simulate import emulator

TILE, ROWS = 16, 64

KERNEL = """cuda_tile.module @m {{
entry @k(%pa: tile<ptr<f16>>, %pb: tile<ptr<f16>>, %pc: tile<ptr<f32>>, %depth: tile<i32>, %lo: tile<{T}>, %up: tile<{T}>, %st: tile<{T}>, %from: tile<{T}>) {{
  %t = make_token : token
  %a16 = assume div_by<16>, %pa : tile<ptr<f16>>
  %b16 = assume div_by<16>, %pb : tile<ptr<f16>>
  %c16 = assume div_by<16>, %pc : tile<ptr<f32>>
  %d0 = assume bounded<0, ?>, %depth : tile<i32>
  %d = assume div_by<16>, %d0 : tile<i32>
  %z = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a16, shape = [64, %d], strides = [%d, 1] : tile<i32> -> tensor_view<64x?xf16, strides=[?,1]>
  %vb = make_tensor_view %b16, shape = [%d, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf16, strides=[64,1]>
  %vc = make_tensor_view %c16, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %qa = make_partition_view %va : partition_view<tile=(64x16), padding_value = zero, tensor_view<64x?xf16, strides=[?,1]>>
  %qb = make_partition_view %vb : partition_view<tile=(16x64), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>>
  %qc = make_partition_view %vc : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %none = constant <f32: 0.0> : tile<64x64xf32>
  %total = for {cmp}%i in (%lo to %up, step %st) : tile<{T}> iter_values(%acc = %none) -> (tile<64x64xf32>) {{
    %j = subi %i, %from : tile<{T}>
    {wide}
    %x, %tx = load_view_tko weak %qa[%z, %k] token=%t : partition_view<tile=(64x16), padding_value = zero, tensor_view<64x?xf16, strides=[?,1]>>, tile<i32> -> tile<64x16xf16>, token
    %y, %ty = load_view_tko weak %qb[%k, %z] token=%t : partition_view<tile=(16x64), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>>, tile<i32> -> tile<16x64xf16>, token
    %next = mmaf %x, %y, %acc : tile<64x16xf16>, tile<16x64xf16>, tile<64x64xf32>
    continue %next : tile<64x64xf32>
  }}
  %tc = store_view_tko weak %total, %qc[%z, %z] token=%t : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}}
}}"""
WIDE = {
    "i8": "%k = exti %j unsigned : tile<i8> -> tile<i32>",
    "i16": "%k = exti %j unsigned : tile<i16> -> tile<i32>",
    "i32": "%k = addi %j, %z : tile<i32>",
    "i64": "%k = trunci %j : tile<i64> -> tile<i32>",
}

# Type, signed, lower bound, upper bound, step, and the counter that stands for the first tile.
LOOPS = [
    ("i8", True, 0, 120, 50, -128), ("i8", True, 100, 127, 9, 100), ("i8", True, 3, 10, -1, -128), ("i8", True, 9, 9, 0, 9),
    ("i8", False, 200, 253, 49, 0), ("i8", False, 250, 255, 1, 250), ("i16", True, 32760, 32767, 1, 32760),
    ("i32", True, 2**31 - 6, 2**31 - 1, 1, 2**31 - 6), ("i32", False, 2**32 - 9, 2**32 - 1, 2, 2**32 - 9),
    ("i32", True, -3, 4, 2, -3), ("i32", True, 7, -7, 3, 0), ("i64", True, 2**63 - 4, 2**63 - 1, 1, 2**63 - 4),
]  # fmt: skip


def counted(bits: int, signed: bool, low: int, high: int, step: int) -> list[int]:
    counter, found = low, []
    while counter < high:
        found.append(counter)
        counter = (counter + step) % (1 << bits)
        if signed and counter >> bits - 1:
            counter -= 1 << bits
    return found


@cache
def artifacts(type: str, signed: bool, sm: str, by_one: bool):
    text = KERNEL.format(T=type, cmp="" if signed else "unsigned ", wide=WIDE[type])
    if by_one:
        text = text.replace("%z =", f"%one = constant <{type}: 1> : tile<{type}>\n  %z =", 1).replace(
            "step %st", "step %one"
        )
    return compile(write_module(parse_text(text, "k")), sm, stop_at="ptx")


def check(type, signed, low, high, step, first, sm, by_one=False):
    bits = int(type[1:])
    tiles = [(counter - first) % (1 << bits) for counter in counted(bits, signed, low, high, step)]
    depth = TILE * (max(tiles, default=0) + 1)
    rng = np.random.default_rng(depth)
    a, b = (
        aligned(rng.integers(-2, 3, (ROWS, depth)).astype(np.float16)),
        aligned(rng.integers(-2, 3, (depth, ROWS)).astype(np.float16)),
    )
    c = aligned(np.full((ROWS, ROWS), 9, np.float32))
    memory = emulator.Memory()
    pointers = [int(memory.map_array(array)).to_bytes(8, "little") for array in (a, b, c)]
    bounds = [(number % (1 << bits)).to_bytes(bits // 8, "little") for number in (low, high, step, first)]
    made = artifacts(type, signed, sm, by_one)
    params = [*pointers, depth.to_bytes(4, "little"), *bounds]
    emulator.launch(made, "k", (1, 1, 1), params, memory=memory, check_races=True)
    columns = [tile * TILE + place for tile in tiles for place in range(TILE)]
    want = a[:, columns].astype(np.float64) @ b[columns].astype(np.float64)
    np.testing.assert_array_equal(c, want)


# Every loop on two targets: where threads copy ahead or a partition does, whose counters are two.
SMS = ("sm_80", "sm_90", "sm_100", "sm_120")
RESULTS = [(*loop, sm) for loop, sm in alternate(LOOPS, SMS)]


@pytest.mark.parametrize(("type", "signed", "low", "high", "step", "first", "sm"), RESULTS)
def test_dots_follow_the_counters(type, signed, low, high, step, first, sm):
    check(type, signed, low, high, step, first, sm)


@pytest.mark.parametrize(("type", "signed", "low", "high", "step", "first"), [loop for loop in LOOPS if loop[4] == 1])
def test_copies_ahead_of_a_loop_that_counts_by_one(type, signed, low, high, step, first):
    check(type, signed, low, high, step, first, "sm_80", by_one=True)


@pytest.mark.parametrize("count", range(5))
@pytest.mark.parametrize("signed", [True, False])
def test_copies_ahead_of_a_loop_at_the_begin_of_its_type(signed, count):
    low = -128 if signed else 0
    check("i8", signed, low, low + count, 1, low, "sm_80", by_one=True)
