"""benchmarks/compare_sass.py: the demands on machine code, and kernels that compile to it."""

import sys
from pathlib import Path

import pytest

from tileiras_build.frontend.export_cutile import list_cases
from tileiras_build.target.sass_listing import Line, Listing
from tileiras_build.target.targets import TARGETS

FOLDER = Path(__file__).parents[2] / "benchmarks"
GOOD = ("LDGSTS", "LDSM", "HMMA", "BRA")


@pytest.fixture
def compare_sass(monkeypatch):
    """The program as its folder's scripts see it."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import compare_sass

    yield compare_sass
    for name in ("compare_sass", "compile_speed"):
        sys.modules.pop(name, None)


def failures(compare_sass, opcodes, sm="sm_80", kernel="matmul_f16", peer=100):
    def measured(opcodes):
        lines = tuple(Line(opcode, "", "loop" if opcode == "BRA" else None) for opcode in opcodes)
        return compare_sass.Measured(Listing("k", lines, {"loop": 2}), 0, 0, 1.0)

    theirs = measured(["MOV"] * peer) if peer else None
    return compare_sass.Row(kernel, TARGETS[sm], measured(opcodes), theirs).failures()


def test_code_that_meets_all_demands(compare_sass):
    assert failures(compare_sass, GOOD) == []


@pytest.mark.parametrize(
    ("opcodes", "more", "words"),
    [
        (("LDL",) * 9, {"kernel": "softmax"}, "9 spill instructions"),
        (("MOV",) * 116, {"kernel": "softmax"}, "1.16x the instructions"),
        (GOOD, {"sm": "sm_90"}, "no HGMMA"),
        (("UTMALDG", "HGMMA", "BRA"), {"sm": "sm_90"}, "no UTMASTG"),
        (("LDG", "LDSM", "HMMA", "BRA"), {}, "no LDGSTS"),
        (("LDSM", "MOV", "LDGSTS", "HMMA", "BRA"), {}, "ahead"),
        ((*GOOD[:-1], "MEMBAR.ALL.GPU", "BRA"), {}, "fences of the whole GPU in a loop: MEMBAR.ALL.GPU"),
    ],
)
def test_each_demand(compare_sass, opcodes, more, words):
    assert any(words in failure for failure in failures(compare_sass, opcodes, **more))


def test_nothing_to_compare_with(compare_sass):
    assert failures(compare_sass, GOOD, peer=0) == []


def test_matmuls_without_an_instruction_have_no_demands(compare_sass):
    opcodes = ("HMMA",)
    assert failures(compare_sass, opcodes, kernel="matmul_f8e4m3") == []
    assert failures(compare_sass, opcodes, kernel="matmul_f8e4m3", sm="sm_89")


def test_kernels_are_listed():
    assert len(list_cases(FOLDER / "key_kernels.py")) >= 16


def test_results_of_32_bits_need_no_tensor_copy(compare_sass):
    opcodes = ("UTMALDG", "HGMMA", "BRA")
    assert failures(compare_sass, opcodes, sm="sm_90", kernel="matmul_tf32") == []
    assert failures(compare_sass, opcodes, sm="sm_90", kernel="matmul_f16")
