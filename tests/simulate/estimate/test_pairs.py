"""The model orders kernels as publications have measured them (pairs/pairs.py)."""

import subprocess
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests import compiled_once, emulated_kernels
from tests.compiled_once import once
from tests.simulate.estimate.pairs.pairs import PAIRS, SM, Run
from tileiras_build.frontend.tilecpp.nvcc_toolchain import find_nvcc
from tileiras_build.manifest.launch_manifest import read_launch_manifest
from tileiras_build.simulate.estimate.constant_bank_values import Argument, Launch
from tileiras_build.simulate.estimate.kernel_from_cubin import KernelModel, read_kernels
from tileiras_build.simulate.estimate.performance_model import Estimate, estimate
from tileiras_build.simulate.estimate.problem_size import launch_of_manifest, read_settings

FAST_PATH = Path(__file__).resolve().parents[3] / "benchmarks" / "key_kernels.py"
MATMUL = "matmul_f16_128x128x64"
SOURCE = Path(__file__).parent / "pairs" / "kernels.cu"


def compiled() -> dict[str, KernelModel]:
    with tempfile.TemporaryDirectory() as folder:
        command = [find_nvcc(), f"-arch={SM}", "-cubin", "-o", "k.cubin", SOURCE]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        found = read_kernels(Path(folder, "k.cubin").read_bytes())
    return {name: alone(kernel) for name, kernel in found.items()}


def alone(kernel: KernelModel) -> KernelModel:
    """Disassembled, without the bytes of the others."""
    light = replace(kernel, cubin=b"")
    light.__dict__["code"] = kernel.code
    return light


@cache
def kernels() -> dict[str, KernelModel]:
    return once(("pairs", SOURCE.read_bytes()), compiled)


@cache
def estimated(run: Run) -> Estimate:
    kernel = kernels()[run.kernel]
    places = kernel.resources.parameters
    arguments = tuple(
        Argument(place.offset, place.size, value) for place, value in zip(places, run.values, strict=True)
    )
    return estimate(kernel, Launch(run.grid, run.block, arguments, shared_memory=run.shared))


@pytest.mark.parametrize("name", PAIRS)
def test_the_order_is_the_measured_one(name):
    pair = PAIRS[name]
    faster, slower = estimated(pair.faster), estimated(pair.slower)
    assert slower.clocks > pair.factor * faster.clocks, (
        f"{faster.limit} {faster.bounds}, {slower.limit} {slower.bounds}"
    )


def test_there_are_twenty_pairs_with_their_sources():
    assert len(PAIRS) >= 20
    assert all(any(mark in pair.source for mark in ("20", "arXiv", "whitepaper")) for pair in PAIRS.values())


# ---- by this compiler ------------------------------------------------------------------------------------------------
SIZES = ("a=4096x512", "b=512x4096", "c=4096x4096")
OURS = {
    "tiles of 128x256 before 128x128": (
        ("matmul_f16_128x256x64", (32, 16, 1), {}), (MATMUL, (32, 32, 1), {}),
        "Shankhdhar, Outperforming cuBLAS on H100: a Worklog, 2024: 423 TFLOP/s with 128x128, 610 with 128x256",
    ),
    "wgmma before warp-level MMA": (
        (MATMUL, (32, 32, 1), {}), (MATMUL, (32, 32, 1), {"strategy": "unspecialize"}),
        "Luo et al., arXiv 2402.13499: mma.sync reaches 63 % of the peak on H100",
    ),
}  # fmt: skip


def of_ours(name: str, grid: tuple[int, int, int], options: dict[str, str]) -> Estimate:
    artifacts = compiled_once.compiled(emulated_kernels.bytecode(FAST_PATH, name), "sm_90", stop_at="cubin", **options)
    kernel = once(("kernel", artifacts.cubin), lambda: alone(*read_kernels(artifacts.cubin).values()))
    row = read_launch_manifest(artifacts.manifest).kernels[name]
    return estimate(kernel, launch_of_manifest(row, read_settings(SIZES), grid))


@pytest.mark.parametrize("pair", OURS)
def test_the_order_of_our_kernels_is_the_measured_one(pair):
    faster, slower, _ = OURS[pair]
    first, second = of_ours(*faster), of_ours(*slower)
    assert second.clocks > 1.1 * first.clocks, f"{first.bounds}, {second.bounds}"
