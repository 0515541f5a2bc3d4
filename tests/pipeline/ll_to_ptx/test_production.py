"""What a kernel of the example library keeps on its way through .ll to PTX, at three levels: from tiles, not from LLVM IR by hand."""

import re

import pytest

from tests.compiled_once import compiled
from tests.examples.example_library import bytecode_of

MATMUL, ERF = "matmul_f16_nn", "gelu_erf_f32"  # the matmul has tensor maps, two kinds of warps and shared memory
LEVELS = (1, 3, "z")


def at(name, level):
    return compiled(bytecode_of(name), "sm_90", opt_level=level).ptx


@pytest.mark.seed("codegen-overview", "handoff-survival", "opt-preserve", "kernel-metadata", "stage-optimization")
@pytest.mark.parametrize("level", LEVELS)
def test_a_kernel_keeps_its_marker_and_bounds(level):
    launch = compiled(bytecode_of(MATMUL), "sm_90", opt_level=level).manifest["kernels"][MATMUL]
    head = re.search(rf"^\.visible \.entry {MATMUL}\(.*?^\{{", at(MATMUL, level), re.MULTILINE | re.DOTALL)[0]
    assert f".reqntid {launch['threads_per_cta']}" in head and ".minnctapersm 2" in head


@pytest.mark.seed("codegen-overview", "stage-optimization", "opt-preserve")
@pytest.mark.parametrize("level", LEVELS)
def test_helpers_of_libdevice_are_part_of_the_kernel_at_every_level(level):
    ptx = at(ERF, level)
    assert ".func" not in ptx and "call.uni" not in ptx and "ex2.approx" in ptx


@pytest.mark.seed("codegen-overview", "address-spaces", "emission-globals")
@pytest.mark.parametrize("level", LEVELS)
def test_every_access_names_its_space(level):
    ptx = at(MATMUL, level)
    assert not re.search(r"\b(?:ld|st)\.(?:v\d\.)?[bfu]\d", ptx), "no access is generic"
    shared = re.search(r"^\.extern \.shared \.align 1024 \.b8 ", ptx, re.MULTILINE)
    assert shared and shared.start() < ptx.index(".entry")


@pytest.mark.seed("codegen-overview", "abi-grid-constant")
@pytest.mark.parametrize("level", LEVELS)
def test_tensor_maps_are_read_where_the_launch_put_them(level):
    ptx = at(MATMUL, level)
    assert "prefetch.tensormap" in ptx and "__local_depot" not in ptx
