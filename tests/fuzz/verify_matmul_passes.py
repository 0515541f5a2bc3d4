"""One random kernel of matmuls, compiled with the proofs of ``verifiers/`` behind the passes that they are about: nothing runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.compare_matmuls import Difference
from tests.fuzz.matmul_kernels import MatmulKernel
from tileiras_build import driver
from tileiras_build.core.errors import TileirasError
from tileiras_build.frontend.export_cutile import export_kernels
from tileiras_build.target.targets import find_target

# What cuTile finds of an array that it launches a kernel with: rows begin at multiples of 16 bytes.
CASES = """

from tileiras_build.frontend.export_cutile import Array, Case, Scalar

CASES = [Case("matmul", kernel, ({arguments}))]
"""


def prove_kernel(kernel: MatmulKernel, targets: tuple[str, ...], folder: Path) -> Iterator[Difference]:
    """What is not proved on each target; ``folder`` gets the source."""
    path = folder / f"proved_{kernel.seed}.py"
    path.write_text(kernel.source + CASES.format(arguments=", ".join(_arguments(kernel))))
    data = export_kernels(path)["matmul"]
    for name in targets:
        if kernel.element != "e4m3" or find_target(name).has("mma_fp8"):
            try:
                _compile(data, name, kernel.tuning)
            except TileirasError as error:
                yield Difference(kernel.seed, name, f"{type(error).__name__}: {error}")


def _compile(data: bytes, target: str, tuning: Mapping[str, int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEIRAS_CHECK", "2")
        driver.compile(data, target, stop_at="tileas", **tuning)


def _arguments(kernel: MatmulKernel) -> Iterator[str]:
    for shape, dtype, _ in kernel.arrays.values():
        divisor = 16 // np.dtype(dtype).itemsize
        whole = tuple(divisor if extent % divisor == 0 else 1 for extent in shape)
        yield f"Array({np.dtype(dtype).name!r}, {len(shape)}, stride_divisible_by={divisor}, shape_divisible_by={whole})"
    yield from ("Scalar('int32')" for _ in kernel.scalars)
