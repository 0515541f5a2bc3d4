"""One random kernel of products, launched by cuTile in the emulator, against NumPy's reading of its source."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import ModuleType

import numpy as np

from tests.fuzz.numpy_tiles import LARGEST, TooLarge, run_blocks
from tests.fuzz.product_kernels import ProductKernel
from tileiras_build.cutile import enabled
from tileiras_build.targets import find_target


@dataclass(frozen=True)
class Difference:
    """What is wrong of a kernel on one target."""

    seed: int
    target: str
    what: str

    def __str__(self) -> str:
        return f"seed {self.seed}, {self.target}: {self.what}"


def compare_kernel(
    kernel: ProductKernel, targets: tuple[str, ...], folder: Path, races: bool = False
) -> Iterator[Difference]:
    """What differs on each target; nothing of kernels whose numbers grow too large. ``folder`` gets the source."""
    module = _module(kernel, folder)
    wanted = kernel.inputs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            run_blocks(module.body, kernel.grid, (*wanted, *kernel.scalars))
        except TooLarge:
            return
    if any(np.abs(array.astype(np.float64)).max() > LARGEST for array in wanted):
        return
    for name in targets:
        if kernel.element != "e4m3" or find_target(name).has("mma_fp8"):
            yield from _differences(kernel, module.kernel, name, wanted, races)


def _differences(
    kernel: ProductKernel, entry: Callable, target: str, wanted: list[np.ndarray], races: bool
) -> Iterator[Difference]:
    import cuda.tile as ct

    found = kernel.inputs()
    try:
        with enabled(target, device="cpu", jobs=1, race_check=races, **kernel.tuning), redirect_stdout(StringIO()):
            ct.launch(0, kernel.grid, entry, (*found, *kernel.scalars))
    except Exception as error:  # of any kind: each is a fault of ours
        yield Difference(kernel.seed, target, f"{type(error).__name__}: {error}")
        return
    for name, want, have in zip(kernel.arrays, wanted, found, strict=True):
        if wrong := np.count_nonzero(want != have):
            yield Difference(kernel.seed, target, f"{wrong} of {want.size} elements of {name} are wrong")


def _module(kernel: ProductKernel, folder: Path) -> ModuleType:
    """cuTile reads the source of a function from its file."""
    path = folder / f"product_{kernel.seed}.py"
    path.write_text(kernel.source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
