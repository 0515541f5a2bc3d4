"""reports/linked_libdevice.py and the command: the functions that a kernel links, and a self-contained module."""

from pathlib import Path

import pytest

from tests.examples.example_library import bytecode_of
from tileiras_build.cli.dispatch import main
from tileiras_build.reports.linked_libdevice import linked_table

MODULE = """
declare double @__nv_sin(double)
declare float @__nv_expf(float)
declare float @llvm.sqrt.f32(float)
declare float @other(float)
!tileiras.libdevice = !{!0}
!0 = !{!"libdevice.10.bc"}
"""


def test_functions_and_what_they_bring():
    header, _, *rows = linked_table(MODULE, None, 90).splitlines()
    assert header.split("  ")[0] == "function"
    assert [row.split()[0] for row in rows] == ["__nv_expf", "__nv_sin"]
    assert rows[0].endswith("-") and "__internal_trig_reduction_slowpathd" in rows[1]


def test_a_module_without_a_library():
    assert linked_table("declare float @__nv_expf(float)", None, 90).startswith("no libdevice functions used")


@pytest.mark.seed("nvptx-bring-up", "blob-driver")
def test_the_command_reads_kernels_and_pins(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("k.ll").write_text(MODULE)
    assert main(["libdevice", "k.ll", "--pin", "pinned.ll"]) == 0
    first = capsys.readouterr().out
    assert "__nv_sin" in first and '!0 = !{!"base64:' in Path("pinned.ll").read_text()
    assert main(["libdevice", "pinned.ll"]) == 0
    assert capsys.readouterr().out == first
    example = Path(__file__).resolve().parents[2] / "examples" / "prebuilt" / "vector_add_f32.tilebc"
    assert main(["libdevice", str(example)]) == 0
    assert capsys.readouterr().out.startswith("no libdevice functions used")
    Path("gelu.tilebc").write_bytes(bytecode_of("gelu_erf_f32"))
    assert main(["libdevice", "gelu.tilebc"]) == 0
    assert "__nv_" in capsys.readouterr().out
