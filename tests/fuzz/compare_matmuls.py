"""One random kernel of matmuls, launched by cuTile in the emulator, against NumPy's reading of its source."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from types import ModuleType

import numpy as np

from tests.fuzz.compare_tile_programs import Outcome, Way
from tests.fuzz.matmul_kernels import MatmulKernel
from tests.fuzz.numpy_tiles import LARGEST, TooLarge, run_blocks
from tileiras_build.core.errors import Unsupported
from tileiras_build.cutile import enabled
from tileiras_build.target.targets import find_target


@dataclass(frozen=True)
class Difference:
    """What is wrong of a kernel on one target."""

    seed: int
    target: str
    what: str

    def __str__(self) -> str:
        return f"seed {self.seed}, {self.target}: {self.what}"


def compare_kernel(
    kernel: MatmulKernel, targets: tuple[str, ...], folder: Path, races: bool = False
) -> Iterator[Difference]:
    """What differs on each target; nothing of kernels whose values grow too large. ``folder`` gets the source."""
    module = _module(kernel, folder)
    wanted = _wanted(kernel, module)
    for name in targets if wanted is not None else ():
        if kernel.element != "e4m3" or find_target(name).has("mma_fp8"):
            yield from _differences(kernel, module.kernel, name, wanted, races)


def compare_ways(
    kernel: MatmulKernel, targets: Sequence[str], ways: Sequence[Way], folder: Path, races: bool = False
) -> list[Outcome]:
    """The outcome on each target in each way, by the same reading. cuTile has no strategies: none is tried."""
    ways = [replace(way, strategy="auto") for way in ways]
    wanted = _wanted(kernel, _module(kernel, folder))
    if wanted is None:
        return [Outcome("refused", "-", Way(0), "values grow too large to be exact")]
    able = [name for name in targets if kernel.element != "e4m3" or find_target(name).has("mma_fp8")]
    return [_outcome(kernel, name, way, wanted, folder, races) for way in ways for name in able]


def _outcome(
    kernel: MatmulKernel, target: str, way: Way, wanted: list[np.ndarray], folder: Path, races: bool
) -> Outcome:
    import cuda.tile as ct

    made = replace(kernel.at_level(way.opt_level), tuning=way.tuning)
    own = folder / f"level_{way.opt_level}"
    own.mkdir(exist_ok=True)
    try:
        wrong = _compare(made, _module(made, own).kernel, target, wanted, races)
    except Unsupported as refusal:
        return Outcome("refused", target, way, str(refusal))
    except ct.TileInternalError as failure:  # cuTile's own compiler, which has made no bytecode yet
        return Outcome("refused", target, way, f"cuTile fails: {str(failure).splitlines()[0]}")
    except Exception as problem:  # of any kind: each is a fault of ours
        return Outcome("fails", target, way, f"{type(problem).__name__}: {problem}")
    return Outcome("differs" if wrong else "agrees", target, way, "; ".join(wrong))


def _wanted(kernel: MatmulKernel, module: ModuleType) -> list[np.ndarray] | None:
    """What NumPy reads in the source; None where values grow too large."""
    wanted = kernel.inputs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            run_blocks(module.body, kernel.grid, (*wanted, *kernel.scalars))
        except TooLarge:
            return None
    exact = all(np.abs(array.astype(np.float64)).max() <= LARGEST for array in wanted)
    return wanted if exact else None


def _differences(
    kernel: MatmulKernel, entry: Callable, target: str, wanted: list[np.ndarray], races: bool
) -> Iterator[Difference]:
    try:
        wrong = _compare(kernel, entry, target, wanted, races)
    except Exception as error:  # of any kind: each is a fault of ours
        yield Difference(kernel.seed, target, f"{type(error).__name__}: {error}")
        return
    for what in wrong:
        yield Difference(kernel.seed, target, what)


def _compare(kernel: MatmulKernel, entry: Callable, target: str, wanted: list[np.ndarray], races: bool) -> list[str]:
    """What ``ct.launch`` leaves wrong."""
    import cuda.tile as ct

    found = kernel.inputs()
    with enabled(target, device="cpu", jobs=1, race_check=races, **kernel.tuning), redirect_stdout(StringIO()):
        ct.launch(0, kernel.grid, entry, (*found, *kernel.scalars))
    pairs = zip(kernel.arrays, wanted, found, strict=True)
    counted = ((name, np.count_nonzero(want != have), want.size) for name, want, have in pairs)
    return [f"{wrong} of {size} elements of {name} are wrong" for name, wrong, size in counted if wrong]


def _module(kernel: MatmulKernel, folder: Path) -> ModuleType:
    """cuTile reads the source of a function from its file."""
    path = folder / f"matmul_{kernel.seed}.py"
    path.write_text(kernel.source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
