"""Hints that nobody can use are kept in files, ignored by the compiler, and remarked on."""

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.driver import lower
from tileiras_build.ir.bytecode import disassemble, read_module
from tileiras_build.ir.bytecode.text_parser import assemble, parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.ir.dialects.cuda_tile.check_optimization_hints import HINTS, is_usable
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.reports.optimization_remarks import collect
from tileiras_build.target.targets import TARGETS

ENTRY = "entry @k(%arg0: tile<ptr<f32>>) optimization_hints=<{}> {{\n  return\n}}\n"
# Hints, and what is remarked on them; "" where they can be used.
REMARKS = {
    'sm_100 = {num_cta_in_cga = "a"}': 'sm_100.num_cta_in_cga = "a" is ignored: it is a power of two from 1 to 16',
    "sm_100 = {num_cta_in_cga = 7}": "sm_100.num_cta_in_cga = 7 is ignored",
    "sm_100 = {num_worker_warps_per_cta = 9}": "it is a power of two from 1 to 32",
    'default = {occupancy = "a"}': "it is a number from 1 to 32",
    "sm_100 = {occupancy = 64}": "sm_100.occupancy = 64 is ignored",
    "sm_100 = {occupancy = -99999999999}": "sm_100.occupancy = -99999999999 is ignored",
    "sm_100 = {occupancy = true}": "sm_100.occupancy = True is ignored",
    "sm_100 = {occupancy = 2.500000e+00 : f32}": "sm_100.occupancy = 2.500000e+00 : f32 is ignored",
    "sm_100 = {occupancy = [1 : i32]}": "sm_100.occupancy = [1 : i32] is ignored",
    "sm_100 = {latency = 3}": "entry has no such hint",
    "sm_100 = {other = 3}": "the hint sm_100.other is ignored: entry has no such hint",
    "sm_100a = {occupancy = 2}": "the hints of 'sm_100a' are ignored: there is no such target",
    '"a b" = {"c d" = "e\\22\\0A"}': "the hints of 'a b' are ignored",
    "sm_100 = {num_cta_in_cga = 1, num_worker_warps_per_cta = 8, occupancy = 2}": "",
    "default = {occupancy = 32}, sm_120 = {num_cta_in_cga = 16}": "",
}


@pytest.mark.parametrize(("hints", "remark_part"), REMARKS.items())
def test_unusable_hints_are_remarked_on_and_kept(hints, remark_part):
    remarks: list[str] = []
    data = assemble(ENTRY.format(hints), "k.mlir", None, remarks.append)
    assert disassemble(data) == ENTRY.format(hints)
    assert write_module(read_module(data)) == data
    assert [remark_part in remark for remark in remarks] == ([True] if remark_part else [])
    assert all(remark.startswith("k.mlir:1:1: remark[hint-ignored]: ") for remark in remarks)


@pytest.mark.parametrize(
    "hints", [hints for hints in REMARKS if "sm_100 =" in hints or "default" in hints or '"' in hints]
)
def test_unusable_hints_do_not_reach_the_compiler(hints):
    artifacts = lower(assemble(ENTRY.format(hints)), "tilebc", "tileas", Job(TARGETS["sm_100"]))
    remarks = [
        remark for remark in collect(parse(artifacts[".tileas"]), TARGETS["sm_100"]) if remark.name == "RemarkHint"
    ]
    expected = bool(REMARKS[hints]) and "no such" not in REMARKS[hints] and "'a b'" not in REMARKS[hints]
    assert len(remarks) == expected


LOAD = """entry @k(%p: tile<ptr<f32>>) {{
  %c = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(16), tensor_view<64xf32, strides=[1]>>
  %x, %t = load_view_tko weak %w[%c] optimization_hints = <sm_90 = {{{}}}> : partition_view<tile=(16), tensor_view<64xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token
  %u = store_view_tko weak %x, %w[%c] token = %t : tile<16xf32>, partition_view<tile=(16), tensor_view<64xf32, strides=[1]>>, tile<i32> -> token
}}
"""


@pytest.mark.parametrize("hint", ['latency = "a"', "latency = 11", "allow_tma = 1", 'allow_tma = "x"', "occupancy = 1"])
def test_unusable_hints_of_a_load(hint):
    remarks: list[str] = []
    data = assemble(LOAD.format(hint), "k.mlir", None, remarks.append)
    assert len(remarks) == 1 and remarks[0].startswith("k.mlir:5:12: remark[hint-ignored]: the hint sm_90.")
    plain = assemble(LOAD.format(""), "k.mlir")
    ll = [lower(one, "tilebc", "ll", Job(TARGETS["sm_90"]))[".ll"] for one in (data, plain)]
    assert ll[0] == ll[1]


def test_what_takes_which_values():
    assert [value for value in range(-1, 40) if is_usable("num_cta_in_cga", value)] == [1, 2, 4, 8, 16]
    assert [value for value in range(-1, 40) if is_usable("latency", value)] == list(range(1, 11))
    assert is_usable("allow_tma", False) and not is_usable("allow_tma", 0) and not is_usable("occupancy", True)
    assert HINTS["num_worker_warps_per_cta"].values() == "a power of two from 1 to 32"


def test_a_hint_does_not_stand_twice():
    with pytest.raises(InvalidInput, match="1:52: .*a hint occurs twice"):
        parse_text(ENTRY.format("sm_90 = {occupancy = 1, occupancy = 2}"), "k.mlir")
