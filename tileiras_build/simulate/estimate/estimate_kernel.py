"""Estimates the kernels of a build for one problem size. Kernels with other parameters get no estimate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...core.errors import TileirasError
from ...manifest.launch_manifest import Launch as Manifest
from .constant_bank_values import Shape
from .problem_size import launch_of_tile_blocks, read_extents, read_settings


@dataclass(frozen=True)
class Problem:
    """A problem size: parameter values by name and the grid, as ``tileiras-build estimate`` takes them."""

    settings: Mapping[str, str]
    grid: Shape

    @classmethod
    def read(cls, settings: Iterable[str], grid: str) -> Problem:
        """From ``NAME=VALUE`` and ``X[,Y[,Z]]``. Raises InvalidInput[estimate-set]."""
        return cls(read_settings(settings), read_extents(grid, "grid"))

    @property
    def text(self) -> str:
        """The problem as reports print it."""
        words = [f"grid {'x'.join(map(str, self.grid))}", *(f"{name}={value}" for name, value in self.settings.items())]
        return ", ".join(words)


@dataclass(frozen=True)
class KernelEstimate:
    """Estimated microseconds and the bound that sets them; the cycles of all bounds on ``gpu``, and the model's assumptions.

    The work of the launch: multiply-adds of the tensor pipe, warp instructions, and bytes of DRAM, at ``clock_mhz``; ``peaks``:
    its cycles by resource at the rates of the whole GPU.
    """

    microseconds: float
    limit: str
    bounds: Mapping[str, float]
    gpu: str
    assumed: tuple[str, ...] = ()
    peaks: Mapping[str, float] = field(default_factory=dict)
    clock_mhz: float = 0.0
    multiply_adds: float = 0.0
    instructions: float = 0.0
    dram_bytes: float = 0.0


def estimate_kernel(
    cubin: bytes, name: str, manifest: Mapping[str, Manifest], problem: Problem
) -> KernelEstimate | None:
    """The estimate; None if the kernel has other parameters than the problem sets, or the model cannot handle it."""
    from ...target.gpu_models import gpu_model
    from .estimate_report import remarks
    from .kernel_from_cubin import read_kernels
    from .performance_model import estimate

    if name not in manifest:
        return None
    try:
        kernel = read_kernels(cubin)[name]
        sm_count = gpu_model(kernel.target).sm_count
        found = estimate(kernel, launch_of_tile_blocks(manifest[name], problem.settings, problem.grid, sm_count), {})
    except TileirasError:
        return None
    return KernelEstimate(
        found.microseconds, found.limit, found.bounds, found.gpu.name, tuple(remarks(found)), found.peak_bounds,
        found.clock_mhz, found.multiply_adds, found.work.instructions * found.launch.blocks, found.read + found.written,
    )  # fmt: skip
