"""Every diagnostic that the documents quote, as a command says it: verbatim, in one sentence with an id."""

from pathlib import Path

import llvmlite.binding as llvm
import pytest

from tileiras_build.cli.dispatch import main
from tileiras_build.pipeline.ll_to_ptx.target_machine import target_machine
from tools.conformance_seeds import read_rows

KERNEL = "define ptx_kernel void @k(ptr addrspace(1) %p) {\n  ret void\n}\n"
SINE = """define ptx_kernel void @k(ptr addrspace(1) %p) {
  %x = load float, ptr addrspace(1) %p
  %y = call float @__nv_sinf(float %x)
  store float %y, ptr addrspace(1) %p
  ret void
}
declare float @__nv_sinf(float)
!tileiras.libdevice = !{!0}
!0 = !{!"LIBRARY"}
"""
PTX, OPT = ("lower", "m.ll", "--to", "ptx", "--in-process", "--sm", "90"), ("opt", "m.mlir", "--pass")
NVVM = (*OPT, "convert-nvgpu-and-gpu-to-nvvm")
RETURNS = """builtin.module { "nv_tileaa.func"() ({ ^bb0(%x: i32): "nv_tileaa.return"(%x) : (i32) -> () })
  {sym_name = "k", num_warps = 4 : i32} : () -> () }"""
BARRIER = """gpu.module @m { gpu.func @k(%b: !nvgpu.mbarrier.group<memorySpace = 1 : i64>, %i: index) kernel {
  nvgpu.mbarrier.init %b[%i], %i : !nvgpu.mbarrier.group<memorySpace = 1 : i64>
  gpu.return
} }"""
LEFT = 'gpu.module @m { gpu.func @k(%x: i32) kernel {\n  "gpu.set_default_device"(%x) : (i32) -> ()\n  gpu.return\n} }'
VECTOR = """gpu.module @m { gpu.func @k(%x: vector<[4]xf32>) kernel {
  %y = math.sin %x : vector<[4]xf32>
  gpu.return
} }"""
UNTARGETED = "gpu.module @m { llvm.func @k() attributes {nvvm.kernel} { llvm.return } }"
DEBUG = """gpu.module @m { gpu.func @k(%a: TYPE) kernel {
  debuginfo.value %a, VARIABLE, #llvm.di_expression KIND: !debuginfo.value<TYPE> loc("k.py":3:5)
  gpu.return loc("k.py":4:1)
} loc("k.py":2:1) }"""
VARIABLE = '#debuginfo.variable<name = "a">'
DEBUGGED = (*OPT, "convert-debuginfo-to-llvm", "--opt", "0", "--device-debug")


def debug(type: str = "f32", variable: str = VARIABLE, kind: str = "") -> str:
    return DEBUG.replace("TYPE", type).replace("VARIABLE", variable).replace("KIND", kind)


# (row of a diagnostic, the message, the input's text, the command)
SAID = [
    ("diag-blob-path", "blobLinkedLib: bitcode path does not exist or is not a file", SINE.replace("LIBRARY", "none.bc"), PTX),
    ("diag-blob-parse", "blobLinkedLib: failed to parse embedded bitcode", SINE.replace("LIBRARY", "base64:AAAA"), PTX),
    ("diag-triple", "failed to look up NVPTX target for requested triple", f'target triple = "x86_64-linux"\n{KERNEL}', PTX),
    ("diag-level", "invalid LLVM optimization level", KERNEL, (*PTX, "--opt", "fast")),
    ("diag-kernel-return", "Kernel functions do not support return with operands", RETURNS, (*OPT, "convert-nv-tile-func-to-llvm")),
    ("diag-mbarrier", " must be mbarrier barrier type, but got ", BARRIER, NVVM),
    ("diag-leftover", "failed to legalize operation 'gpu.set_default_device' that was explicitly marked illegal", LEFT, NVVM),
    ("diag-vector-math", "on 'vector<[4]xf32>' reaches libdevice, whose functions are scalar", VECTOR, NVVM),
    ("diag-capability", "failed to get compute capability.", UNTARGETED, (*OPT, "nv-tile-ir-convert-target-to-nvvm")),
    ("error-missing-target", "nv_tileaa.target_spec", UNTARGETED, (*OPT, "nv-tile-ir-convert-target-to-nvvm")),
    ("diag-option", "invalid or missing --compute-capability option", KERNEL, PTX[:-2]),
    ("diag-no-target", "no target attribute", UNTARGETED, ("opt", "m.mlir", "--ll")),
    ("error-unknown-operation", "`llvm.intr.dbg.label` but it isn't known", debug(kind='{kind = "label"} '), DEBUGGED),
    ("error-unsupported-type", "unsupported debug value type i7", debug("i7"), DEBUGGED),
    ("error-unresolved-metadata", "unresolved debug metadata: variable @gone", debug(variable="@gone"), DEBUGGED),
]  # fmt: skip
# Said of no input, for LLVM has a machine for each of our targets: of an LLVM that has none.
WITHOUT_MACHINE = "diag-machine"


@pytest.mark.seed("nvptx-bring-up", "diag-blob-path", "diag-blob-parse", "diag-triple", "diag-level")
@pytest.mark.seed("lowering-overview", "diag-kernel-return")
@pytest.mark.seed("nvgpu-gpu-to-nvvm", "diag-mbarrier", "diag-leftover", "diag-vector-math")
@pytest.mark.seed("target-and-debug-info", "diag-capability", "diag-option", "diag-no-target")
@pytest.mark.seed("target-and-debug-info", "error-missing-target", "error-unknown-operation")
@pytest.mark.seed("target-and-debug-info", "error-unsupported-type", "error-unresolved-metadata")
@pytest.mark.parametrize(("row", "text", "source", "command"), SAID, ids=[row for row, *_ in SAID])
def test_a_command_says_it(row, text, source, command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path(command[1]).write_text(source)
    assert main(list(command)) != 0
    said = capsys.readouterr().err
    assert text in said and "error[" in said and "Traceback" not in said


@pytest.mark.seed("nvptx-bring-up", "diag-machine")
def test_a_command_says_that_there_is_no_machine(tmp_path, monkeypatch, capsys):
    def refuse(*_, **__):
        raise RuntimeError("unable to create target machine")

    monkeypatch.setattr(llvm.Target, "create_target_machine", refuse)
    target_machine.cache_clear()
    monkeypatch.chdir(tmp_path)
    Path("m.ll").write_text(KERNEL)
    assert main(list(PTX)) != 0
    said = capsys.readouterr().err
    assert "target machine unavailable; cannot optimize with LLVM" in said and "Traceback" not in said


def test_all_diagnostics_of_the_documents_are_reported():
    assert {row for row, *_ in SAID} | {WITHOUT_MACHINE} == {row.id for row in read_rows() if row.kind == "diagnostic"}


def test_rows_hold_the_messages():
    """Of those that the documents quote; the others say in our words what must be named."""
    texts = {row.id: row.text for row in read_rows() if row.kind == "diagnostic"}
    quoted = [(row, text) for row, text, *_ in SAID if row.startswith("diag-") and row not in ("diag-leftover", "diag-vector-math")]  # fmt: skip
    assert all(texts[row] in text for row, text in quoted)
