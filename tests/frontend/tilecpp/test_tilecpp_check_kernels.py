"""Files of CUDA Tile C++ with several kernels, and with none."""

import pytest

from tests.frontend.tilecpp.toolkit import KERNELS
from tileiras_build import driver
from tileiras_build.core.errors import InvalidInput
from tileiras_build.core.tracing.dependency_record import DependencyRecord, TracedResult
from tileiras_build.frontend.tilecpp import compile_and_check
from tileiras_build.frontend.tilecpp.compile_and_check import compile_checked
from tileiras_build.frontend.tilecpp.run_nvcc import BYTECODE, Request
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.pipeline.job import Job
from tileiras_build.target.targets import TARGETS

ENTRIES = ["_Z5scaleIfLi256EEvPKT_PS0_S0_", "_Z5scaleIdLi64EEvPKT_PS0_S0_", "negate"]


def test_all_kernels_of_a_file_are_in_its_machine_code():
    made = driver.compile(KERNELS.read_bytes(), "sm_90")
    assert list(made.manifest["kernels"]) == ENTRIES
    ptx = driver.lower(KERNELS.read_bytes(), "tilebc", "ptx", Job(TARGETS["sm_80"]))[".ptx"].decode()
    assert all(f".entry {entry}(" in ptx for entry in ENTRIES)


@pytest.mark.parametrize("text", ["", "entry @__$dummy_kernel() {\n  return\n}\n"])
def test_a_file_without_kernels_is_refused(monkeypatch, text):
    """nvcc writes an entry of its own where there is none."""
    made = TracedResult({BYTECODE: write_module(parse_text(text, "k.mlir"))}, DependencyRecord(()))
    monkeypatch.setattr(compile_and_check, "run_nvcc", lambda request, root: made)
    with pytest.raises(InvalidInput, match=r"k.cu: error\[tilecpp-empty\]: nvcc finds no kernel here"):
        compile_checked(Request("k.cu", 90), "/")
