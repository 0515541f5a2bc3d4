"""Rows that a loop compares again in each iteration are exchanged once: the emulator's results equal the interpreter's."""

import re

import pytest

from tileiras_build import driver
from tileiras_build.ir.bytecode.reader import read_module
from tileiras_build.ir.bytecode.text_parser import assemble
from tileiras_build.pipeline.tileaa_to_tileas.layout_assignment import hoist_conversions
from tileiras_build.simulate.interpreter.compare_with_compiled import ExpectedMemory, run_in_emulator
from tileiras_build.simulate.interpreter.derive_inputs import derive_inputs

# out = names * (a[names] @ b), where rows whose names are not below 40 are zeros.
KERNEL = """
entry @k(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %names: tile<ptr<i32>>, %out: tile<ptr<f32>>) {
  %token = make_token : token
  %pa = assume div_by<16>, %a : tile<ptr<f16>>
  %pb = assume div_by<16>, %b : tile<ptr<f16>>
  %pn = assume div_by<16>, %names : tile<ptr<i32>>
  %po = assume div_by<16>, %out : tile<ptr<f32>>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %steps = constant <i32: 6> : tile<i32>
  %width = constant <i32: 32> : tile<i32>
  %pitch = constant <i32: 192> : tile<64x1xi32>
  %zeros = constant <i32: 0> : tile<64xi32>
  %limits = constant <i32: 40> : tile<64xi32>
  %last = constant <i32: 39> : tile<64xi32>
  %init = constant <f32: 0.000000e+00> : tile<64x64xf32>
  %pad = constant <f16: 0.000000e+00> : tile<64x32xf16>
  %vb = make_tensor_view %pb, shape = [192, 64], strides = [64, 1] : tensor_view<192x64xf16, strides=[64,1]>
  %vn = make_tensor_view %pn, shape = [64], strides = [1] : tensor_view<64xi32, strides=[1]>
  %vo = make_tensor_view %po, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %tb = make_partition_view %vb : partition_view<tile=(32x64), tensor_view<192x64xf16, strides=[64,1]>>
  %tn = make_partition_view %vn : partition_view<tile=(64), tensor_view<64xi32, strides=[1]>>
  %to = make_partition_view %vo : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %rows, %t0 = load_view_tko weak %tn[%zero] token = %token : partition_view<tile=(64), tensor_view<64xi32, strides=[1]>>, tile<i32> -> tile<64xi32>, token
  %is_row = cmpi less_than %rows, %limits, unsigned : tile<64xi32> -> tile<64xi1>
  %known = select %is_row, %rows, %zeros : tile<64xi1>, tile<64xi32>
  %column = reshape %known : tile<64xi32> -> tile<64x1xi32>
  %starts = muli %column, %pitch : tile<64x1xi32>
  %all_starts = broadcast %starts : tile<64x1xi32> -> tile<64x32xi32>
  %iota = iota : tile<32xi32>
  %p1 = reshape %pa : tile<ptr<f16>> -> tile<1x1xptr<f16>>
  %bases = broadcast %p1 : tile<1x1xptr<f16>> -> tile<64x32xptr<f16>>
  %acc = for %i in (%zero to %steps, step %one) : tile<i32> iter_values(%before = %init) -> (tile<64x64xf32>) {
    %first = muli %i, %width : tile<i32>
    %f1 = reshape %first : tile<i32> -> tile<1xi32>
    %f32 = broadcast %f1 : tile<1xi32> -> tile<32xi32>
    %inner = addi %f32, %iota : tile<32xi32>
    %row = reshape %inner : tile<32xi32> -> tile<1x32xi32>
    %all_inner = broadcast %row : tile<1x32xi32> -> tile<64x32xi32>
    %offsets = addi %all_starts, %all_inner : tile<64x32xi32>
    %places = offset %bases, %offsets : tile<64x32xptr<f16>>, tile<64x32xi32> -> tile<64x32xptr<f16>>
    %again = cmpi less_than_or_equal %rows, %last, unsigned : tile<64xi32> -> tile<64xi1>
    %m1 = reshape %again : tile<64xi1> -> tile<64x1xi1>
    %mask = broadcast %m1 : tile<64x1xi1> -> tile<64x32xi1>
    %x, %t1 = load_ptr_tko weak %places, %mask, %pad token=%token : tile<64x32xptr<f16>>, tile<64x32xi1>, tile<64x32xf16> -> tile<64x32xf16>, token
    %y, %t2 = load_view_tko weak %tb[%i, %zero] token = %token : partition_view<tile=(32x64), tensor_view<192x64xf16, strides=[64,1]>>, tile<i32> -> tile<32x64xf16>, token
    %next = mmaf %x, %y, %before : tile<64x32xf16>, tile<32x64xf16>, tile<64x64xf32>
    continue %next : tile<64x64xf32>
  }
  %scale = itof %rows signed : tile<64xi32> -> tile<64xf32>
  %s1 = reshape %scale : tile<64xf32> -> tile<64x1xf32>
  %scales = broadcast %s1 : tile<64x1xf32> -> tile<64x64xf32>
  %scaled = mulf %acc, %scales : tile<64x64xf32>
  %t3 = store_view_tko weak %scaled, %to[%zero, %zero] token = %token : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}
"""


def exchanges(tileas: str) -> tuple[bool, bool]:
    """Whether row masks are exchanged before the loop of the dot, and in it."""
    before, _, loop = tileas.rpartition("nv_tileas.for")
    parts = before, loop.partition("nv_tileas.continue")[0]
    return tuple(re.search("convert_layout .*-> !tile_64x?1?xi1_v1", part) is not None for part in parts)


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100"])
def test_rows_are_exchanged_before_the_loop(sm, monkeypatch):
    monkeypatch.setenv("TILEIRAS_EMULATOR_RACES", "1")
    data = assemble(KERNEL)
    artifacts = driver.compile(data, sm, stop_at="ptx")
    assert exchanges(artifacts.tileas) == (True, False)
    module = read_module(data)
    inputs = derive_inputs(module, "k", grid=(1, 1, 1))
    assert not ExpectedMemory(module, "k", inputs).compare(run_in_emulator(artifacts, "k", inputs))


@pytest.mark.parametrize(("sm", "is_hoisted"), [("sm_80", False), ("sm_100", True)])
def test_accumulators_in_registers_leave_none_for_masks(sm, is_hoisted, monkeypatch):
    monkeypatch.setattr(hoist_conversions, "MOST_ACCUMULATORS", 31)  # a thread has 32 of 64 x 64
    assert exchanges(driver.compile(assemble(KERNEL), sm, stop_at="tileas").tileas)[1] != is_hoisted
