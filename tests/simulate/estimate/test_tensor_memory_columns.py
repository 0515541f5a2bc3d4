"""simulate/estimate/tensor_memory_columns.py: the columns that the machine code of tcgen05.alloc allocates."""

import re
from pathlib import Path

import pytest

from tests import emulated_kernels
from tests.simulate.estimate.handwritten import code, trace
from tileiras_build.manifest.launch_manifest import read_launch_manifest
from tileiras_build.simulate.estimate.constant_bank_values import Constants
from tileiras_build.simulate.estimate.kernel_from_cubin import read_kernels
from tileiras_build.simulate.estimate.problem_size import launch_of_tile_blocks
from tileiras_build.simulate.estimate.tensor_memory_columns import allocated_columns
from tileiras_build.simulate.estimate.trace_warps import Tracer
from tileiras_build.simulate.estimate.traced_sample import trace_sample

KERNELS = Path(__file__).resolve().parents[3] / "benchmarks" / "key_kernels.py"
MATMUL, PAIRED = "matmul_f16_128x128x64", "matmul_f16_256x256x64_persistent_2ctas"
ALLOCATED = [
    "UMOV UR7, 0x4",
    "UTCATOMSWS.FIND_AND_SET.ALIGN UP0, UR5, UR7",
    "BRA.U UP0, `(.L_x_2)",
    ".L_x_1:",
    "UMOV UR5, 0x4",
    "UTCATOMSWS.FIND_AND_SET.ALIGN UP0, UR5, UR5",
    "BRA.U !UP0, `(.L_x_1)",
    ".L_x_2:",
]
FREED = ["UMOV UR6, 0xf", "UTCATOMSWS.AND URZ, UR6"]


@pytest.mark.parametrize(
    ("lines", "columns"),
    [(ALLOCATED, 128), ([*ALLOCATED, *FREED], 128), (FREED, 0), (["UMOV UR4, 0x1", *ALLOCATED[1:2]], 0)],
)
def test_an_allocation_counts_once(lines, columns):
    """Neither again where it would be tried again, nor where it is freed; an unknown number counts for nothing."""
    lines = [*lines, "EXIT"]
    assert allocated_columns(code(*lines), [[[trace(lines)]]]) == columns


def test_allocations_of_a_cta_add_up_and_the_greatest_cta_counts():
    lines = ["UMOV UR7, 0x8", ALLOCATED[1], "UMOV UR8, 0x1", "UTCATOMSWS.2CTA.FIND_AND_SET.ALIGN UP0, UR5, UR8", "EXIT"]
    allocating, other = trace(lines), trace(["NOP", "EXIT"])
    assert allocated_columns(code(*lines), [[[other]], [[allocating, other], [other]]]) == 288


@pytest.mark.parametrize(("name", "grid"), [(MATMUL, (4, 4, 1)), (PAIRED, (2, 2, 1))])
def test_columns_are_those_of_the_ptx(name, grid):
    artifacts = emulated_kernels.assembled(KERNELS, name, "sm_100")
    [kernel] = read_kernels(artifacts.cubin).values()
    settings = {argument: "512x512" for argument in "abc"}
    launch = launch_of_tile_blocks(read_launch_manifest(artifacts.manifest).kernels[name], settings, grid, 2)
    tracer = Tracer(kernel.code, launch, Constants.of(launch, kernel.layout, kernel.banks))
    [columns] = re.findall(r"mov\.b32 +\t%r\d+, (\d+);\s+tcgen05\.alloc\.", str(artifacts.ptx))
    assert allocated_columns(kernel.code, trace_sample(tracer, launch).clusters) == int(columns)
