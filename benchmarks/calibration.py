"""Compare ``tileiras-build estimate`` with published measurements: ``calibration/measurements.csv``.

    python benchmarks/calibration.py [--only PATTERN]... [--markdown] [--json FILE] [--jobs N]

A row is a measurement on a named GPU, with its source, and the kernel that stands for it: one of ``calibration/kernels.cu`` (nvcc), a
tile program by this compiler, or by NVIDIA's tileiras where that compiler made the measured one. Kernels are compiled once
(``build/calibration``). Constants of the model are fitted to two thirds of the rows; the others are held out, by a hash of their
names, and have errors of their own. Nothing runs on a GPU.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import hashlib
import json
import pickle
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from pathlib import Path
from statistics import median

import compile_speed
from result_table import result_table

from tileiras_build import driver
from tileiras_build.core.errors import TileirasError
from tileiras_build.frontend.export_cutile import export_kernels
from tileiras_build.frontend.tilecpp.nvcc_toolchain import find_nvcc
from tileiras_build.manifest.launch_manifest import read_launch_manifest
from tileiras_build.pipeline.stages import STAGES, source_digest
from tileiras_build.pipeline.tuning_parameters import BY_NAME
from tileiras_build.simulate.estimate.constant_bank_values import Argument, GlobalBuffer, Launch
from tileiras_build.simulate.estimate.kernel_from_cubin import KernelModel, read_kernels
from tileiras_build.simulate.estimate.performance_model import Estimate, estimate
from tileiras_build.simulate.estimate.problem_size import launch_of_manifest
from tileiras_build.target.gpu_models import GPUS, GpuModel

FOLDER = Path(__file__).with_name("calibration")
FILE, TILE_PROGRAMS, CUDA = FOLDER / "measurements.csv", FOLDER / "kernels.py", FOLDER / "kernels.cu"
CACHE = Path(__file__).resolve().parents[1] / "build" / "calibration"
BYTES = {"f16": 2, "bf16": 2, "f32": 4, "tf32": 4, "e4m3": 1, "u32": 4, "f64": 8}
# Microseconds that a measurement has beside the kernel's own: events around each launch, launches one after the other, and
# those of a graph (tritonbench pull 38; te42kyfo/gpu-benches, gpu-small-kernels); profilers measure the kernel alone.
LAUNCH = {"events": 4.0, "loop": 2.0, "graph": 1.4, "kernel": 0.0}


@dataclass(frozen=True)
class Row:
    """A row of ``measurements.csv``: its columns as text."""

    id: str
    gpu: str
    watts: str
    clock_mhz: str
    kind: str
    dtype: str
    problem: str
    structure: str
    measured: str
    unit: str
    timing: str
    compiler: str
    kernel: str
    tuning: str
    source: str
    note: str

    @property
    def is_held_out(self) -> bool:
        """Whether no constant may be fitted to it: one in three, by a hash of its name."""
        return hashlib.sha1(self.id.encode()).digest()[0] % 3 == 0

    @property
    def part(self) -> str:
        """The statistics that it counts for. Rows whose kernel is known to differ from the measured one have their own."""
        if self.note.startswith("differs"):
            return "differs"
        return "held out" if self.is_held_out else "fitted"

    @property
    def extents(self) -> list[int]:
        """The problem's extents."""
        return [int(part) for part in self.problem.split("x")]

    @property
    def machine(self) -> GpuModel:
        """The GPU, with the row's power limit and locked clock."""
        found = GPUS[self.gpu]
        found = found.limited(int(self.watts)) if self.watts else found
        return found.locked(int(self.clock_mhz)) if self.clock_mhz else found

    @property
    def microseconds(self) -> float:
        """The measured time."""
        value = float(self.measured)
        if self.unit in ("us", "ms"):
            return value * (1e3 if self.unit == "ms" else 1)
        return (_operations(self) / 1e6 if self.unit.startswith("TFLOP/s") else _bytes(self) / 1e3) / value


def _operations(row: Row) -> float:
    if row.kind == "attention":
        batch, heads, length, dim = row.extents
        masked = "causal" in row.kernel and "unmasked" not in row.unit
        return 4.0 * batch * heads * length * length * dim / (2 if masked else 1)
    return 2.0 * prod(row.extents)


def _bytes(row: Row) -> float:
    count = {"add": 3, "read_vectors": 1, "write_vectors": 1, "stream_triad": 3}
    arrays = re.search(r"of (\d+) arrays", row.unit)
    factor = int(arrays[1]) if arrays else count.get(row.kernel.split("_")[0], count.get(row.kernel, 2))
    return float(factor * prod(row.extents) * BYTES[row.dtype])


def read_rows(patterns: Iterable[str] = ("*",)) -> list[Row]:
    """The rows whose names match."""
    with FILE.open(newline="") as lines:
        found = [Row(**row) for row in csv.DictReader(lines)]
    return [row for row in found if any(fnmatch.fnmatch(row.id, pattern) for pattern in patterns)]


# ---- kernels -----------------------------------------------------------------------------------------------------------------
def _kept(key: tuple, make: Callable):
    """What ``make`` returns, from the cache if it is there."""
    path = CACHE / hashlib.sha256(repr(key).encode()).hexdigest()
    if not path.exists():
        found = make()
        CACHE.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{hashlib.sha256(repr(found).encode()).hexdigest()[:8]}")
        part.write_bytes(pickle.dumps(found))
        part.replace(path)
    return pickle.loads(path.read_bytes())


@cache
def _bytecode() -> dict[str, bytes]:
    return _kept(("bytecode", TILE_PROGRAMS.read_bytes(), FILE.read_bytes()), lambda: export_kernels(TILE_PROGRAMS))


@cache
def _compiler() -> str:
    return "".join(source_digest(stage) for stage in STAGES)


def _by_nvcc(target: str) -> bytes:
    out = CACHE / f"kernels.{target}.cubin"
    CACHE.mkdir(parents=True, exist_ok=True)
    subprocess.run([find_nvcc(), f"-arch={target}", "-cubin", "-o", out, CUDA], check=True, capture_output=True)
    return out.read_bytes()


def _tuning(row: Row) -> dict:
    words = dict(word.split("=") for word in row.tuning.split(";") if word)
    return {name: text if name == "strategy" else BY_NAME[name].read(text) for name, text in words.items()}


def compiled(row: Row) -> tuple[KernelModel, Launch]:
    """A row's kernel, and its launch on the row's problem. Raises FileNotFoundError without tileiras."""
    target = f"sm_{GPUS[row.gpu].number}"
    if row.compiler == "nvcc":
        cubin = _kept(("nvcc", CUDA.read_bytes(), target), lambda: _by_nvcc(target))
        kernel = read_kernels(cubin)[row.kernel]
        return kernel, _cuda_launch(row, kernel)
    code, tuning = _bytecode()[row.kernel], _tuning(row)

    def ours() -> tuple[bytes, dict]:
        found = driver.compile(code, target, **tuning)
        return found.cubin, found.manifest

    cubin, document = _kept((code, target, tuple(tuning.items()), _compiler()), ours)
    [manifest] = read_launch_manifest(document).kernels.values()
    settings, grid = _tile_problem(row)
    launch = launch_of_manifest(manifest, settings, grid, row.machine.sm_count)
    if not launch.tile_programs:
        launch = replace(launch, grid=(grid[0] * launch.cluster_blocks, *grid[1:]))
    if row.compiler == "tileiras":
        cubin = _kept(("tileiras", code, target), lambda: compile_speed.peer_cubin(code, target))
    [kernel] = read_kernels(cubin).values()
    if row.compiler == "tileiras":
        x, y, z = grid
        launch = replace(compile_speed.peer_launch(launch, kernel), grid=(x * kernel.cluster[0], y, z))
    return kernel, launch


# ---- launches ----------------------------------------------------------------------------------------------------------------
def _buffer(name: str, size: int, access: str = "loaded") -> GlobalBuffer:
    return GlobalBuffer(name, size, access)


def _cuda_launch(row: Row, kernel: KernelModel) -> Launch:
    grid, block, values, shared = _cuda_problem(row)
    places = kernel.resources.parameters
    arguments = tuple(Argument(at.offset, at.size, value) for at, value in zip(places, values, strict=True))
    return Launch(grid, (block, 1, 1), arguments, shared_memory=shared)


def _cuda_problem(row: Row) -> tuple[tuple[int, int, int], int, tuple, int]:
    """Grid, threads, arguments, and dynamic shared memory of a kernel of ``kernels.cu``."""
    size = BYTES[row.dtype]
    if row.kernel.startswith("gemm"):
        n, m, depth = (-(-extent // 128) * 128 for extent in row.extents)
        tile = [int(part) for part in row.kernel.split("_")[2].split("x")]
        pitch = tile[2] * size + 16 * ("padded" in row.kernel)
        stages = int((re.search(r"(\d)_stage", row.kernel) or ["", "1"])[1])
        arrays = (_buffer("a", n * depth * size), _buffer("b", m * depth * size), _buffer("c", n * m * 2, "stored"))
        threads = 512 if "16_warps" in row.kernel else 256 if tile[0] == 256 else 128
        return (n // tile[0] * (m // tile[1]), 1, 1), threads, (*arrays, n, depth), stages * (tile[0] + tile[1]) * pitch
    if row.kernel.startswith("matmul"):
        n, _, depth = row.extents
        tile, threads = {"columns": (64, 512), "squares": (128, 256)}.get(row.kernel.split("_")[1], (32, 1024))
        arrays = (_buffer("a", n * depth * 4), _buffer("b", n * depth * 4), _buffer("c", n * n * 4, "stored"))
        return (n // tile, n // tile, 1), threads, (*arrays, n, depth), 0
    total = prod(row.extents) * size
    to, source = _buffer("to", total, "stored"), _buffer("from", total)
    if row.kernel == "stream_triad":
        return (prod(row.extents) // 1024, 1, 1), 1024, (to, source, _buffer("more", total)), 0
    if row.kernel == "copy_vectors":
        return (total // 16 // 256, 1, 1), 256, (to, source, total // 16), 0
    values = (to, total // 16) if row.kernel == "write_vectors" else (to, source, total // 16)
    return (528, 1, 1), 256, values, 0


def _tile_problem(row: Row) -> tuple[dict[str, str], tuple[int, int, int]]:
    """The settings of a tile program, and its grid in tile programs."""
    tile = next(
        [int(part) for part in word.split("x")] for word in row.kernel.split("_") if re.fullmatch(r"\d+(x\d+)*", word)
    )
    if row.kind == "attention":
        batch, heads, length, dim = row.extents
        settings = dict.fromkeys(("q", "k", "v", "out"), f"{batch * heads}x{length}x{dim}")
        return settings | {"scale": "0.125"}, (length // tile[0], batch * heads, 1)
    if row.kind == "gemm":
        *batch, m, n, k = row.extents
        shapes = {"a": (*batch, m, k), "b": (*batch, k, n), "c": (*batch, m, n)}
        settings = {name: "x".join(map(str, shape)) for name, shape in shapes.items()}
        return settings, (-(-m // tile[0]), -(-n // tile[1]), *(batch or [1]))  # type: ignore[return-value]
    if row.kind == "add":
        return dict.fromkeys("abc", row.problem), (row.extents[0] // tile[0], 1, 1)
    rows, length = row.extents
    settings = {"x": row.problem, "out": row.problem}
    if row.kind == "transpose":
        return settings | {"out": f"{length}x{rows}"}, (rows // tile[0], length // tile[1], 1)
    more = {"softmax": {}, "layer norm": {"gamma": str(length), "beta": str(length), "epsilon": "1e-5"},
            "rms norm": {"weight": str(length), "epsilon": "1e-5"}}  # fmt: skip
    return settings | more[row.kind], (rows, 1, 1)


# ---- errors ------------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Result:
    """The estimate of a row beside its measurement, both in microseconds; ``limit`` is the model's."""

    row: Row
    modelled: float
    limit: str

    @property
    def error(self) -> float:
        """How much longer the model takes, as a fraction: negative where the model is too fast."""
        return self.modelled / self.row.microseconds - 1


def estimated(row: Row) -> Estimate:
    """The model's answer."""
    kernel, launch = compiled(row)
    return estimate(kernel, launch, gpu=row.machine)


def result(row: Row) -> Result | str:
    """A row's result, or why there is none."""
    try:
        found = estimated(row)
    except (TileirasError, FileNotFoundError, subprocess.CalledProcessError) as error:
        return f"{row.id}: {error}"
    return Result(row, found.microseconds + LAUNCH[row.timing], found.limit)


def summary(results: list[Result]) -> tuple[str, ...]:
    """Rows, median error, 90th percentile, and the share of rows within 20 %."""
    if not results:
        return ("0", "-", "-", "-")
    errors = sorted(abs(one.error) for one in results)
    ninetieth = errors[min(len(errors) * 9 // 10, len(errors) - 1)]
    within = sum(error <= 0.2 for error in errors) / len(errors)
    return str(len(errors)), f"{median(errors):.0%}", f"{ninetieth:.0%}", f"{within:.0%}"


def summaries(results: list[Result]) -> Iterator[tuple[str, ...]]:
    """Rows of a table: all, each kind, each GPU; fitted rows and held-out ones beside each other, rows that differ below."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for one in results:
        for name in ("all", one.row.kind, GPUS[one.row.gpu].name):
            groups[name].append(one)
    for name, found in groups.items():
        parts = ([one for one in found if one.row.part == part] for part in PARTS)
        yield (name, *(cell for part in parts for cell in summary(part)))
    yield ("structure differs", *summary([one for one in results if one.row.part == "differs"]), *[""] * 4)


HEADER = ("row", "gpu", "measured us", "modelled us", "error", "limit", "part")
PARTS = ("fitted", "held out")
SUMMARY = (
    "group",
    *(f"{part} {cell}" for part in PARTS for cell in ("rows", "median", "90th", "in 20 %")),
)


def cells(one: Result) -> tuple[str, ...]:
    """A row of the table."""
    times = (f"{one.row.microseconds:.1f}", f"{one.modelled:.1f}", f"{one.error:+.0%}")
    return (one.row.id, one.row.gpu, *times, one.limit, one.row.part)


def main() -> int:
    """Print the tables."""
    options = _options()
    rows = read_rows(options.only or ["*"])
    with ProcessPoolExecutor(options.jobs) as pool:
        found = list(pool.map(result, rows))
    results = [one for one in found if isinstance(one, Result)]
    print(result_table(HEADER, [cells(one) for one in results], options.markdown))
    print()
    print(result_table(SUMMARY, list(summaries(results)), options.markdown))
    for message in (one for one in found if isinstance(one, str)):
        print(message, file=sys.stderr)
    if options.json:
        document = [{"id": one.row.id, "measured": one.row.microseconds, "modelled": one.modelled} for one in results]
        Path(options.json).write_text(json.dumps(document, indent=1))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="PATTERN", help="rows whose names match, * for anything")
    parser.add_argument("--markdown", action="store_true", help="as docs/measurements.md has it")
    parser.add_argument("--json", metavar="FILE", help="write each row's times there, too")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
