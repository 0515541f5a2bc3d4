"""Speed of the emulator, and a comparison of results and speed with another checkout.

    python benchmarks/emulator_speed.py [--sm 80,90] [--only NAME]... [--against CHECKOUT] [--repeat 3] [--jobs N]
                                        [--examples] [--artifacts FOLDER] [--profile]

Kernels are those of ``key_kernels.py`` in the sizes of ``PROBLEMS``, with ``--examples`` the example library instead.
Seconds are CPU time (with ``--jobs`` of a clock): of the first launch, which translates the kernel, and the median of the
others. ``--against`` alternates launches of both checkouts, each in a process of its own, and adds the ratio of their medians;
exit status 1 where memory after a launch differs in a bit. Compiled kernels are kept in ``--artifacts`` for the next time.
"""

from __future__ import annotations

import argparse
import cProfile
import fnmatch
import hashlib
import os
import pickle
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
KERNELS = Path(__file__).with_name("key_kernels.py")
EXAMPLES = ROOT / "examples" / "kernels"
SMS = "80,90,100,120"
SHOWN = 45  # rows of a profile


# ---- problems ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Problem:
    """``shapes`` of the arrays, in order; ``operations`` of floating point that count."""

    shapes: tuple[tuple[int, ...], ...]
    grid: tuple[int, ...]
    operations: int = 0
    scalars: tuple[float, ...] = ()


def _matmul(size: int, m: int, n: int) -> Problem:
    return Problem(((size, size),) * 3, (size // m, size // n), 2 * size**3)


def _attention(heads: int, length: int) -> Problem:
    return Problem(((heads, length, 128),) * 4, (length // 128, heads), 4 * heads * length**2 * 128, (0.088,))


PROBLEMS = {
    "matmul_f16_128x128x64": _matmul(1024, 128, 128),
    "matmul_f16_128x256x64": _matmul(1024, 128, 256),
    "matmul_bf16_128x128x64": _matmul(512, 128, 128),
    "matmul_tf32_128x128x32": _matmul(512, 128, 128),
    "matmul_f8e4m3_128x128x64_by_rows": _matmul(512, 128, 128),
    "attention_f16_128x128": _attention(4, 1024),
    "attention_f16_128x128_causal": _attention(4, 1024),
    "layer_norm_f16_4096": Problem(((512, 4096), (4096,), (4096,), (512, 4096)), (512,), 0, (1e-5,)),
    "softmax_f16_4096": Problem(((512, 4096),) * 2, (512,)),
    "transpose_f32_64x64": Problem(((1024, 1024),) * 2, (16, 16)),
    "vector_add_f32_1024": Problem(((1 << 21,),) * 3, (1 << 11,)),
}
WITHOUT = {("matmul_f8e4m3_128x128x64_by_rows", sm) for sm in ("80", "120")}  # fp8 of rows needs TMA or wgmma


@dataclass(frozen=True)
class Launch:
    """What a worker runs: a case of a file, for one SM."""

    file: Path
    name: str
    sm: str
    artifacts: Path

    @property
    def title(self) -> str:
        return f"{self.name} sm_{self.sm}"


def aligned(values: np.ndarray) -> np.ndarray:
    """A copy that starts on 128 bytes."""
    raw = np.zeros(values.nbytes + 128, np.uint8)
    start = -raw.ctypes.data % 128
    array = raw[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    array[...] = values
    return array


def arguments_of(case, problem: Problem | None) -> tuple[list, tuple[int, ...]]:
    """(values, grid) of a launch; always the same values."""
    rng = np.random.default_rng(0)
    if problem is None:
        values = case.inputs(rng)
        return list(values.values()), case.grid(values)
    values, shapes = [], iter(problem.shapes)
    scalars = iter(problem.scalars)
    for argument in case.launch_arguments:
        if not hasattr(argument, "ndim"):
            values.append(next(scalars))
            continue
        kind = np.dtype(getattr(ml_dtypes, argument.dtype, argument.dtype))
        array = rng.uniform(-1, 1, next(shapes)).astype(np.float32)
        if argument.dtype == "float32" and "tf32" in case.name:
            array = np.round(array * 256) / np.float32(256)
        values.append(aligned(array.astype(kind)))
    return values, problem.grid


# ---- the worker ----------------------------------------------------------------------------------------------------
class Worker:
    """Launches of one case in this process; ``seconds`` of each so far."""

    def __init__(self, launch: Launch, jobs: int):
        from tileiras_build.frontend.export_cutile import load_cases

        self.launch, self.jobs = launch, jobs
        self.case = next(case for case in load_cases(launch.file) if case.name == launch.name)
        ptx, manifest = pickle.loads(launch.artifacts.read_bytes())
        self.artifacts = SimpleNamespace(ptx=ptx, manifest=manifest)
        self.clock = time.process_time if jobs == 1 else time.perf_counter

    def run(self) -> tuple[float, str]:
        """(seconds, digest of all arrays) of one launch."""
        from tileiras_build.frontend.export_cutile import pack_arguments
        from tileiras_build.simulate import emulator

        problem = None if self.launch.file.parent == EXAMPLES else PROBLEMS[self.launch.name]
        values, grid = arguments_of(self.case, problem)
        memory = emulator.Memory()
        arrays = [value for value in values if isinstance(value, np.ndarray)]
        for array in arrays:
            start, end = np.lib.array_utils.byte_bounds(array)
            memory.map(start, end - start)
        parameters = pack_arguments(self.case, values)
        options = {} if self.jobs == 1 else {"jobs": self.jobs}
        start_time = self.clock()
        emulator.launch(self.artifacts, self.launch.name, grid, parameters, memory=memory, **options)
        seconds = self.clock() - start_time
        digest = hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays))
        return seconds, digest.hexdigest()


def serve() -> None:
    """Answer requests on standard input, pickles: a ``Launch`` and jobs, then anything for each launch, None at the end."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while (request := pickle.load(sys.stdin.buffer)) is not None:
        launch, jobs, count = request
        try:
            worker = _workers.setdefault(launch, None) or Worker(launch, jobs)
            _workers[launch] = worker
            reply = [worker.run() for _ in range(count)]
        except Exception as error:
            reply = f"{type(error).__name__}: {error}"
        pickle.dump(reply, replies)
        replies.flush()


_workers: dict[Launch, Worker | None] = {}


class Checkout:
    """A process that launches with the emulator of a checkout."""

    def __init__(self, folder: Path):
        environment = os.environ | {
            "PYTHONPATH": str(folder),
            "OPENBLAS_NUM_THREADS": "1",
            "TILEIRAS_EMULATOR_JOBS": "1",
        }
        command = [sys.executable, __file__, "--worker"]
        self.process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, launch: Launch, jobs: int, count: int = 1) -> list[tuple[float, str]]:
        pickle.dump((launch, jobs, count), self.process.stdin)
        self.process.stdin.flush()
        reply = pickle.load(self.process.stdout)
        if isinstance(reply, str):
            raise RuntimeError(reply)
        return reply

    def end(self) -> None:
        pickle.dump(None, self.process.stdin)
        self.process.stdin.close()
        self.process.wait()


# ---- measuring -----------------------------------------------------------------------------------------------------
def compile_all(file: Path, names: list[str], sms: list[str], folder: Path) -> list[Launch]:
    """The launches of some cases of a file, compiled where ``folder`` has not got them."""
    import tileiras_build
    from tileiras_build.core.errors import TileirasError
    from tileiras_build.frontend.export_cutile import export_kernels

    launches, bytecode = [], {}
    for name in names:
        for sm in sms:
            path = folder / f"{name}.sm_{sm}.pickle"
            if (name, sm) in WITHOUT:
                continue
            if not path.exists():
                bytecode[name] = bytecode.get(name) or export_kernels(file, [name])[name]
                try:
                    artifacts = tileiras_build.compile(bytecode[name], f"sm_{sm}", stop_at="ptx")
                except TileirasError as error:
                    print(f"{name} sm_{sm}: {error}", file=sys.stderr)
                    continue
                path.write_bytes(pickle.dumps((artifacts.ptx, artifacts.manifest)))
            launches.append(Launch(file, name, sm, path))
    return launches


def chosen(options: argparse.Namespace, folder: Path) -> list[Launch]:
    from tileiras_build.frontend.export_cutile import load_cases

    files = [file for file in sorted(EXAMPLES.glob("[!_]*.py")) if "\nCASES = " in file.read_text()]
    files = files if options.examples else [KERNELS]
    launches = []
    for file in files:
        names = [case.name for case in load_cases(file) if options.examples or case.name in PROBLEMS]
        wanted = [name for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in options.only or ["*"])]
        launches += compile_all(file, wanted, options.sm.split(","), folder)
    return launches


def measure(launches: list[Launch], options: argparse.Namespace) -> int:
    """Print a row for each launch; the exit status."""
    checkouts = [Checkout(folder) for folder in [ROOT, *([options.against] if options.against else [])]]
    status = 0
    try:
        for launch in launches:
            try:
                taken = [[checkout.ask(launch, options.jobs)[0]] for checkout in checkouts]
                for _ in range(options.repeat):
                    for checkout, results in zip(checkouts, taken):
                        results += checkout.ask(launch, options.jobs)
            except RuntimeError as error:
                print(f"{launch.title}: {error}", flush=True)
                status = 1
                continue
            status |= report(launch, taken)
    finally:
        for checkout in checkouts:
            checkout.end()
    return status


def report(launch: Launch, taken: list[list[tuple[float, str]]]) -> int:
    """Print a launch's row, of each checkout's results; 1 where their memory differs."""
    first = [results[0][0] for results in taken]
    later = [statistics.median(seconds for seconds, _ in results[1:] or results) for results in taken]
    cells = [f"{launch.title:48}", f"first {first[0]:7.3f} s", f"later {later[0]:7.3f} s"]
    problem = PROBLEMS.get(launch.name)
    if problem is not None and problem.operations:
        cells.append(f"{problem.operations / later[0] / 1e9:6.2f} GFLOP/s")
    same = len({digest for results in taken for _, digest in results}) == 1
    if len(taken) > 1:
        cells.append(f"against {first[1] / first[0]:5.2f}x {later[1] / later[0]:5.2f}x")
    print("  ".join(cells + ([] if same else ["DIFFERENT MEMORY"])), flush=True)
    return 0 if same else 1


def profile(launches: list[Launch], jobs: int) -> int:
    """Print where the time of a second launch goes."""
    for launch in launches:
        worker = Worker(launch, jobs)
        worker.run()
        profiler = cProfile.Profile(time.process_time)
        profiler.enable()
        worker.run()
        profiler.disable()
        print(launch.title)
        pstats.Stats(profiler).sort_stats("tottime").print_stats(SHOWN)
    return 0


def main() -> int:
    """Measure and print; returns 1 if memory differs between checkouts or a launch fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sm", default=SMS, help=f"targets (default: {SMS})")
    parser.add_argument("--only", action="append", metavar="NAME", help="cases, may hold * and ?")
    parser.add_argument("--against", type=lambda text: Path(text).resolve(), metavar="CHECKOUT")
    parser.add_argument("--repeat", type=int, default=3, help="launches after the first (default: 3)")
    parser.add_argument("--jobs", type=int, default=1, help="processes of a launch (default: 1)")
    parser.add_argument("--examples", action="store_true", help="the kernels of examples/kernels, in their own sizes")
    parser.add_argument("--artifacts", type=Path, metavar="FOLDER", help="where compiled kernels are kept")
    parser.add_argument("--profile", action="store_true", help="show where the time goes instead")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        serve()
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.artifacts or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        launches = chosen(options, folder)
        return profile(launches, options.jobs) if options.profile else measure(launches, options)


if __name__ == "__main__":
    sys.exit(main())
