"""``tileiras-build opt``: passes by name over MLIR text."""

from __future__ import annotations

import pytest

from tileiras_build.cli.commands import find
from tileiras_build.cli.dispatch import main
from tileiras_build.core.errors import InvalidInput
from tileiras_build.pipeline.opt import PASSES, find_pass, registry, run
from tileiras_build.pipeline.stages import STAGES

KERNEL = "gpu.module @m {\n  gpu.func @k() kernel {\n    gpu.barrier\n    gpu.return\n  }\n}\n"


def test_a_file_goes_through_its_passes(tmp_path, capsys):
    path = tmp_path / "k.mlir"
    path.write_text(KERNEL)
    passes = ["--pass", "convert-nvgpu-and-gpu-to-nvvm", "--pass", "reconcile-unrealized-casts"]
    assert main(["opt", str(path), *passes]) == 0
    assert "nvvm.barrier0" in capsys.readouterr().out


def test_without_passes_the_module_is_printed(tmp_path, capsys):
    path = tmp_path / "k.mlir"
    path.write_text(KERNEL)
    assert main(["opt", str(path)]) == 0
    assert "gpu.barrier" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu.module @m {\n  nvgpu.nothing\n}", "3:1: error[parse-failed]"),
        ("gpu.module @m {\n", "error[parse-failed]"),
        ("gpu.module @m { gpu.func @k(%x: f32) -> f32 kernel { gpu.return %x : f32 } }", "error[ir-invalid]"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path, capsys, text, expected):
    path = tmp_path / "k.mlir"
    path.write_text(text)
    assert main(["opt", str(path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(str(path)) and error.count("\n") == 1
    assert expected.split(": ")[-1] in error


def test_an_unknown_pass_names_the_known_ones():
    with pytest.raises(InvalidInput, match="convert-nothing.*use one of .*convert-nvgpu-and-gpu-to-nvvm"):
        run(KERNEL, ["convert-nothing"])


def test_an_unknown_target_is_refused():
    with pytest.raises(InvalidInput, match="sm"):
        run(KERNEL, [], sm="13")


def test_the_target_reaches_the_pass():
    text = (
        "gpu.module @m { gpu.func @k(%v: vector<2xf32>) kernel {\n"
        "%r = nvgpu.mul.packed.f32x2 %v, %v : vector<2xf32>, vector<2xf32> -> vector<2xf32>\ngpu.return } }"
    )
    assert "nvvm.mul.packed.f32x2" in run(text, ["convert-nvgpu-and-gpu-to-nvvm"], sm="100")
    with pytest.raises(Exception, match="packed-target"):
        run(text, ["convert-nvgpu-and-gpu-to-nvvm"], sm="90")


def test_the_registry_has_every_pass_under_its_own_name():
    passes = registry()
    assert {entry.name for stage in STAGES[1:] for entry in stage.passes} <= passes.keys()
    assert all(name == entry.name for name, entry in passes.items())
    assert PASSES.keys() <= passes.keys()
    assert find_pass("reconcile-unrealized-casts").name == "reconcile-unrealized-casts"


def test_text_artifacts_are_read_too():
    text = "builtin.module {\n  %0 = arith.constant dense<1> : tensor<4xi32>\n}\n"
    assert "tensor<4xi32>" in run(text, [])


TARGET_PASS = "nv-tile-ir-convert-target-to-nvvm"
BARE = "builtin.module { gpu.module @m { } }"


def opt(tmp_path, *options: str, text: str = BARE) -> int:
    path = tmp_path / "k.mlir"
    path.write_text(text)
    return main(["opt", str(path), *options])


@pytest.mark.seed("target-and-debug-info", "diag-option")
@pytest.mark.parametrize("value", [[], ["9x"], ["999"], ["sm_90"], ["-1"]])
def test_a_bad_capability_is_refused(tmp_path, capsys, value):
    assert opt(tmp_path, "--pass", TARGET_PASS, "--compute-capability", *value) == 1
    assert "invalid or missing --compute-capability option; use one of 80, " in capsys.readouterr().err


def test_the_capability_is_the_target(tmp_path, capsys):
    text = "builtin.module attributes {nv_tileaa.compute_capability = 80 : i32} { gpu.module @m { } }"
    options = ("--compute-capability", "80", "--opt", "0", "--device-debug", "--pass", TARGET_PASS)
    assert opt(tmp_path, *options, text=text) == 0
    printed = capsys.readouterr().out
    assert 'chip = "sm_80"' in printed and "O = 0" in printed and '"-g"' in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--opt", "4"], "invalid LLVM optimization level"),
        (
            ["--device-debug"],
            "optimized debugging is not supported, change optimization level to 0 or disable full debug",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(tmp_path, capsys, options, message):
    assert opt(tmp_path, *options) == 1
    assert message in capsys.readouterr().err


def test_llvm_ir_is_printed_on_demand(tmp_path, capsys):
    path = tmp_path / "k.mlir"
    path.write_text(KERNEL)
    passes = ["--pass", "convert-nvgpu-and-gpu-to-nvvm"]
    assert main(["opt", str(path), *passes, "--ll"]) == 1
    assert "error[no-target]: no target attribute" in capsys.readouterr().err
    path.write_text(KERNEL.replace("@m {", "@m attributes {nv_tileaa.compute_capability = 90 : i32} {"))
    passes = ["--pass", "nv-tile-ir-convert-target-to-nvvm", *passes]
    assert main(["opt", str(path), *passes, "--ll"]) == 0
    text = capsys.readouterr().out
    assert "define ptx_kernel void @k() #1 {" in text and '"target-cpu"="sm_90a"' in text
    assert "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)" in text
    assert main(["opt", str(path), "--ll"]) == 2
    assert "error[ll-operation]: operation gpu.func is not of the llvm dialect" in capsys.readouterr().err


FRAGMENTS = """gpu.module @m attributes {nv_tileaa.compute_capability = 90 : i32} {
  gpu.func @k(%m: memref<128x128xf16, 3>, %i: index, %p: !llvm.ptr<1>) kernel {
    %a = nvgpu.ldmatrix %m[%i, %i] {numTiles = 4 : i32, transpose = false} : memref<128x128xf16, 3> -> vector<4x2xf16>
    %b = nvgpu.ldmatrix %m[%i, %i] {numTiles = 2 : i32, transpose = false} : memref<128x128xf16, 3> -> vector<2x2xf16>
    %z = arith.constant dense<0.0> : vector<2x2xf16>
    %d = nvgpu.mma.sync (%a, %b, %z) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
    %e = vector.extract %d[0, 0] : f16 from vector<2x2xf16>
    llvm.store %e, %p : f16, !llvm.ptr<1>
    gpu.return
  }
}
"""


@pytest.mark.parametrize("line", [line for line, _ in find("opt").examples], ids=lambda line: line.split()[-1])
def test_the_examples_of_the_help_run(tmp_path, monkeypatch, capsys, line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.mlir").write_text(FRAGMENTS)
    assert main(line.split()) == 0
    out = capsys.readouterr().out
    if "--ll" in line:
        (tmp_path / "k.ll").write_text(out)
        assert main(["lower", "k.ll", "--sm", "90", "--to", "cubin", "-o", "k.cubin"]) == 0
        assert (tmp_path / "k.cubin").stat().st_size > 1000


@pytest.mark.parametrize("width", ["32", "64"])
def test_the_width_of_an_index_is_an_option(tmp_path, capsys, width):
    text = "gpu.module @m { gpu.func @k(%i: index) { %s = arith.addi %i, %i : index\ngpu.return } }"
    assert opt(tmp_path, "--pass", "convert-nvgpu-and-gpu-to-nvvm", "--index-bitwidth", width, "--ll", text=text) == 0
    assert f"define void @k(i{width} %i)" in capsys.readouterr().out
