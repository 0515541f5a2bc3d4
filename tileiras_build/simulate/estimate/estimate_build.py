"""Estimates of kernels that a build has left, one problem for all of them: those with other parameters are without."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...core.errors import TileirasError
from ...manifest.launch_manifest import Launch as Manifest
from .launch_and_constant_banks import Shape
from .problem_size import launch_of_manifest, read_extents, read_settings


@dataclass(frozen=True)
class Problem:
    """What launches are estimated for: the values of parameters by name and the grid, as ``tileiras-build estimate`` takes them."""

    settings: Mapping[str, str]
    grid: Shape

    @classmethod
    def read(cls, settings: Iterable[str], grid: str) -> Problem:
        """From ``NAME=VALUE`` and ``X[,Y[,Z]]``. Raises InvalidInput[estimate-set]."""
        return cls(read_settings(settings), read_extents(grid, "grid"))

    @property
    def text(self) -> str:
        """What people are told of it."""
        words = [f"grid {'x'.join(map(str, self.grid))}", *(f"{name}={value}" for name, value in self.settings.items())]
        return ", ".join(words)


@dataclass(frozen=True)
class KernelEstimate:
    """Microseconds, and the bound that they are; the clocks of all bounds on a ``machine``, and what the model had to assume."""

    microseconds: float
    limit: str
    bounds: Mapping[str, float]
    gpu: str
    assumed: tuple[str, ...] = ()


def estimate_kernel(
    cubin: bytes, name: str, manifest: Mapping[str, Manifest], problem: Problem
) -> KernelEstimate | None:
    """None where the kernel has other parameters than those that are set, or the model has no answer for it."""
    from ...target.gpu_rates import gpu_model
    from .estimate_report import remarks
    from .kernel_from_cubin import read_kernels
    from .performance_model import estimate

    if name not in manifest:
        return None
    try:
        kernel = read_kernels(cubin)[name]
        multiprocessors = gpu_model(kernel.target).sm_count
        found = estimate(
            kernel, launch_of_manifest(manifest[name], problem.settings, problem.grid, multiprocessors), {}
        )
    except TileirasError:
        return None
    return KernelEstimate(found.microseconds, found.limit, found.bounds, found.gpu.name, tuple(remarks(found)))
