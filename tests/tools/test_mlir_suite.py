"""tools/mlir_suite.py: units are found, and what differs is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.mlir_suite import INVALID, SUITES, TRANSFORM, check, check_invalid, missing, operations, units

GPU = SUITES[1]
TEXT = f"""
!alias = vector<2xf32>
gpu.module @first {{
  // CHECK-LABEL: func @one
  func.func @one(%x: f32) -> f32 {{
    // CHECK: llvm.call @__nv_expf(%{{{{.*}}}}) : (f32) -> f32
    %r = math.exp %x : f32
    func.return %r : f32
  }}
  // CHECK-LABEL: func @two
  func.func @two(%v: !alias) attributes {{a = "}}"}} {{
    // CHECK: nvvm.barrier0
    // CHECK-NOT: nvvm.redux.sync
    gpu.barrier
    func.return
  }}
}}
module attributes {{{TRANSFORM}}} {{
  transform.named_sequence @x() {{
  }}
}}
// -----
func.func @three() {{
  func.return
}}
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder of tests of which one file has units."""
    for suite in SUITES:
        (tmp_path / suite.path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / suite.path).write_text("")
    (tmp_path / GPU.path).write_text(TEXT)
    return tmp_path


def test_units_are_the_functions_each_with_what_stands_around_it():
    found = list(units(TEXT))
    assert [unit.name for unit in found] == ["one", "two", "three"]
    assert "!alias" in found[1].module and "@first" in found[1].module and "@one" not in found[1].module
    assert "expf" in found[0].comments and "barrier" not in found[0].comments


def test_what_checks_want_is_found_in_its_order():
    one, two, _ = units(TEXT)
    assert operations("nvvm.barrier0 #nvvm.shape<m = 1> llvm.call @f llvm.add") == ["nvvm.barrier0", "llvm.call @f"]
    assert missing(one, "") == ["lacks llvm.call @__nv_expf"]
    assert missing(two, "nvvm.barrier0") == []
    assert missing(two, "nvvm.redux.sync") == ["lacks nvvm.barrier0", "has nvvm.redux.sync"]


def test_the_counts_of_a_file(folder):
    table = check(folder, GPU, None)
    assert table.units == 3 and dict(table.right) == {"operations": 3, "to LLVM": 3} and table.wrong == []


def test_what_is_not_refused_is_named(tmp_path):
    (tmp_path / INVALID).parent.mkdir(parents=True)
    good, bad = "func.func @f() {\n  func.return\n}", "func.func @f() {\n  nvgpu.nothing\n}"
    parts = [f"// expected-error @+1 {{{{no}}}}\n{text}" for text in (good, bad)]
    (tmp_path / INVALID).write_text("\n// -----\n".join(parts))
    table = check_invalid(tmp_path)
    assert table.units == 2 and table.right["refused"] == 1
    assert table.wrong == [f"{INVALID}: module 0: refused: accepted"]
