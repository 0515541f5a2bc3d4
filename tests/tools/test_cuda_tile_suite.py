"""tools/cuda_tile_suite.py on a small suite of the same form: what it counts, and what it writes otherwise."""

import pytest

from tileiras_build.ir.bytecode.text_parser import parse_text
from tools.cuda_tile_suite import ENTRY, respelled, run, units

GOOD = """// RUN: cuda-tile-opt %s | FileCheck %s
cuda_tile.module @a {
  // CHECK: entry @f
  testing$func @f(%v: !cuda_tile.partition_view<tile=(4), tensor_view<?xf32, strides=[1]>>, // a, comment
                  %t: !cuda_tile.token, %p: !cuda_tile.ptr<i8>, %n: !cuda_tile.tile<2x2xptr<i8>>) -> !cuda_tile.token {
    %i = constant <i32: 0> : tile<i32>
    // CHECK: %{{.+}}, %[[T:.+]] = load_view_tko weak %{{.+}}[%{{.+}}] token = %{{.+}} : partition_view<tile=(4), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<4xf32>, token
    %x, %u = load_view_tko weak %v[%i] token = %t : partition_view<tile=(4), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<4xf32>, token
    // CHECK: %{{.*}} = pow %{{.*}}, %{{.*}} : tile<4xf32>
    %y = pow %x, %x : tile<4xf32>
    // CHECK: %{{.*}} = negf %{{.*}} : tile<8xf32>
    // CHECK: return %[[T]] : token
    return %u : token
  }
}
cuda_tile.module @b {
  entry @g(%t: !cuda_tile.token) {
  }
}
// -----
cuda_tile.module @c {
  entry @h() {
    %0 = make_token : tile<i32>
  }
}
"""
BAD = """// RUN: cuda-tile-opt %s -verify-diagnostics -split-input-file
%x = "make"() : () -> !cuda_tile.tile<i4>
// expected-error @below{{one}}
// expected-note @below{{two}}
%0 = cuda_tile.negf %x : tile<f32>
// -----
%0 = cuda_tile.constant <i8: true> : tile<i8> // expected-error {{here}}
// -----
// expected-error @+2 {{there}}
entry @k() {
  %0 = constant <i8: 256> : tile<i8>
}
// -----
// expected-error @above {{there}}
%0 = constant <i8: 256> : tile<i8>
// -----
// expected-error @below {{accepted}}
%0 = constant <i8: 255> : tile<i8>
// -----
// expected-error @below {{type of return operand does not match function result type}}
testing$func @k() -> token {}
"""
OLD = """// RUN: not cuda-tile-translate -mlir-to-cudatilebc -bytecode-version=13.2 %s
global constant @g <i32: 1> : tile<1xi32>
"""


@pytest.fixture
def suite(tmp_path):
    for name, text in {"good": GOOD, "bad": BAD, "old": OLD}.items():
        path = tmp_path / "test" / f"{name}.mlir"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "test" / "invalid").mkdir()
    (tmp_path / "test" / "invalid" / "empty.tileirbc").write_bytes(b"")
    return tmp_path


def test_what_is_counted(suite):
    report = run(suite)
    assert report.counts == {
        "files of bytecode: as expected": 1,
        "good: as expected": 2,
        "good: functions in them": 2,
        "good: of them to the letter": 0,
        "good: different": 1,
        "CHECK lines of operations: found": 2,
        "CHECK lines of operations: different": 1,
        "bad: refused": 4,
        "bad: refused, on another line": 1,
        "bad: different": 1,
        "out of reach: results of a testing$func, which an entry has not": 1,
    }
    assert [line.partition(" ")[0] for line in report.lines] == [
        "bad.mlir:13:",
        "bad.mlir:16:",
        "good.mlir:11:",
        "good.mlir:20:",
    ]


def test_no_line_moves(suite):
    for unit in units(suite):
        old, new = unit.text.split("\n"), respelled(respelled(unit.text), ENTRY).split("\n")
        assert len(new) - len(old) == (2 if "entry @unit()" in new[0] else 0)
        moved = [line for line, other in zip(old, new) if "load_view_tko weak" in line and line != other]
        assert not moved


def test_what_an_entry_cannot_have_is_made():
    types = ("tile<2x4xi4>", "tile<f8E8M0FNU>", "tile<4xptr<f32>>", "tensor_view<f32>", "tensor_view<4x?xi8, strides=[?,1]>", "token",
             "strided_view<tile=(4), traversal_strides=[2], tensor_view<16xf32, strides=[1]>>",
             "gather_scatter_view<tile=(4x4), tensor_view<16x16xf32, strides=[16,1]>, sparse_dim=0>")  # fmt: skip
    parameters = ", ".join(f"%p{number}: !cuda_tile.{type}" for number, type in enumerate(types))
    module = parse_text(respelled(f"testing$func @k({parameters}) {{\n}}\n"))
    made = {str(result.type).replace("!cuda_tile.", "") for op in module.walk() for result in op.results}
    assert set(types) - {"tile<f8E8M0FNU>"} <= made
