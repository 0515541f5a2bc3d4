"""Kernels at every optimization level: the results are the same on each GPU, for each element type, and the code is not."""

import re

import pytest

from tests.compiled_once import compiled
from tests.examples.example_library import CASES, bytecode_of, inputs_of, launch
from tests.pairwise import pairwise
from tileiras_build.target.isa.serializer_options import DEFAULT_LEVEL, LEVELS
from tileiras_build.verify import find_faults

SMS = ("sm_80", "sm_90", "sm_100", "sm_120")
# The default level is every other test's.
OTHERS = tuple(level for level in LEVELS if level != DEFAULT_LEVEL)
# One kernel of each element type and of each sort of work, from the quickest on.
KERNELS = (
    "vector_add_f32", "vector_add_bf16", "transpose_i8", "softmax_f16", "prefix_sum_i32", "gelu_erf_f32",
    "matmul_f16_nn", "matmul_f8e4m3_nn", "matmul_tf32_nn",
)  # fmt: skip
QUICK = 6


def matrix():
    """Each kernel at each level and on each GPU, and each level on each GPU; the quickest kernels where not all is asked for."""
    for name, sm, level in pairwise(KERNELS, SMS, OTHERS):
        marks = () if name in KERNELS[:QUICK] else pytest.mark.exhaustive
        yield pytest.param(name, sm, level, id=f"{name}-{sm}-O{level}", marks=marks)


@pytest.mark.parametrize(("name", "sm", "level"), list(matrix()))
def test_a_kernel_computes_its_reference_at_every_level(name, sm, level):
    artifacts = compiled(bytecode_of(name), sm, opt_level=level)
    assert find_faults(CASES[name], inputs_of(name), launch(name, artifacts)) == []


def test_the_sample_has_every_level_on_every_gpu():
    chosen = [entry.values for entry in matrix() if not entry.marks]
    assert {(sm, level) for _, sm, level in chosen} == {(sm, level) for sm in SMS for level in OTHERS}
    assert {(name, level) for name, _, level in chosen} == {
        (name, level) for name in KERNELS[:QUICK] for level in OTHERS
    }


@pytest.mark.seed("codegen-overview", "levels")
def test_levels_give_code_of_their_own():
    """Comments are no code: the manifest's names the level."""
    texts = {level: compiled(bytecode_of("matmul_f16_nn"), "sm_90", opt_level=level).ptx for level in (0, 1, 2)}
    code = {re.sub(r"//[^\n]*", "", text) for text in texts.values()}
    assert len(code) == 3


@pytest.mark.seed("codegen-overview", "levels")
def test_levels_of_the_default_pipeline_unroll_more_or_less():
    """A loop of a row's chunks: O3 unrolls it, O2 less, Os and Oz keep its code small; the results are the same."""
    name, sizes = "layer_norm_f16", {}
    for level in ("z", "s", 2, 3):
        artifacts = compiled(bytecode_of(name), "sm_90", opt_level=level, llvm_pipeline="default")
        assert find_faults(CASES[name], inputs_of(name), launch(name, artifacts)) == []
        sizes[level] = artifacts.ptx.count(";\n")
    assert sizes["z"] < sizes["s"] < sizes[2] < sizes[3]
