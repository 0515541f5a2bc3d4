"""One case in a process of its own, which may hang or fault: python case.py FOLDER CASE WHAT [VARIANT]

WHAT is "probe" (of plan.json's probes), "check", "time" or "once" (a launch for a profiler or sanitizer). The last line
of its output is a JSON object.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import peers
import problems
from device import DriverError, Gpu

REPEATS = 3
FLUSH_BYTES, WARM_UPS = 256 << 20, 5


class Prepared:
    """Arrays of one variant on the GPU, and launches of a kernel's images on them."""

    def __init__(self, gpu: Gpu, folder: Path, row: dict, variant: dict):
        self.gpu, self.folder, self.row, self.variant = gpu, folder, row, variant
        self.arrays = problems.make_arrays(row, variant)
        self.addresses = [gpu.put(array.memory) for array in self.arrays]
        self.params = problems.parameters(self.arrays, self.addresses, variant["scalars"])

    def grid(self) -> list[int]:
        """The grid; a persistent kernel has as many clusters as run together."""
        grid, cluster = self.variant["grid"], np.prod(self.row["launch"]["cluster"])
        if not self.row["persistent"]:
            return grid
        return [min(grid[0], max(self.gpu.multiprocessors // int(cluster), 1)), 1, 1]

    def launcher(self, by: str = "ours") -> Callable[[], None]:
        """A launch of our image, or of tileiras', which carries its own launch shape: blocks of one thread."""
        launch, cubin = self.row["launch"], (self.folder / f"{self.row['name']}.{by}.cubin").read_bytes()
        if by != "ours":
            return self.gpu.launcher(self.gpu.kernel(cubin, self.row["name"]), self.grid(), (1, 1, 1), 0, self.params)
        maps = [self.gpu.encode(one, self.params) for one in launch["tensor_maps"]]
        dynamic = launch["shared_memory"]["dynamic"]
        function = self.gpu.kernel(cubin, self.row["name"], dynamic)
        return self.gpu.launcher(
            function, self.grid(), (launch["threads_per_cta"], 1, 1), dynamic, [*self.params, *maps]
        )

    def result(self, launch: Callable[[], None]) -> np.ndarray:
        """What a launch makes of a result that was NaN before."""
        out = self.arrays[-1]
        self.gpu.write(self.addresses[-1], out.memory)
        launch()
        self.gpu.finish()
        made = self.gpu.read(self.addresses[-1], out.memory.nbytes).view(out.memory.dtype).reshape(out.memory.shape)
        return made.T if out.view is not out.memory else made

    def guards_hold(self) -> bool:
        """Whether nothing beside the arrays was written."""
        pairs = zip(self.addresses, self.arrays)
        return all(self.gpu.guards_hold(address, array.memory.nbytes) for address, array in pairs)


def check(case: Prepared) -> dict:
    """The error, and what is wrong: an empty list if nothing is."""
    launch = case.launcher()
    results = [case.result(launch) for _ in range(REPEATS)]
    error = problems.error_of(case.row, case.variant, case.arrays, results[0])
    close = problems.CLOSE[case.row["dtypes"][0]]
    wrong = [] if error <= close else [f"error {error:.1e} of the largest value, at most {close:.0e}"]
    if any(result.tobytes() != results[0].tobytes() for result in results[1:]):
        wrong.append(f"{REPEATS} launches differ")
    if not case.guards_hold():
        wrong.append("memory beside an array was written")
    return {"error": error, "wrong": wrong}


def time(case: Prepared, runs: int) -> dict:
    """Milliseconds by who ran, turn by turn, each with a cold L2 cache: median, least and 90th percentile."""
    runners = {by: case.launcher(by) for by in case.row["images"]} | peers.find(case)
    measure, flush, times = case.gpu.stopwatch(), flusher(case.gpu, case.folder), {by: [] for by in runners}
    for turn in range(WARM_UPS + runs):
        for by, run in runners.items():
            flush()
            passed = measure(run)
            if turn >= WARM_UPS:
                times[by].append(passed)
    case.gpu.finish()
    return {"ms": {by: summary(values) for by, values in times.items()}}


def summary(values: list[float]) -> dict:
    """Median, least and 90th percentile."""
    return {
        "median": statistics.median(values),
        "min": min(values),
        "p90": sorted(values)[-(-9 * len(values) // 10) - 1],
    }


def flusher(gpu: Gpu, folder: Path) -> Callable[[], None]:
    """A launch that reads enough to empty the L2 cache: what was written would have to be written back first."""
    plan = json.loads((folder / "plan.json").read_text())
    size = min(FLUSH_BYTES, plan["flush_bytes"])
    params = [np.uint64(gpu.allocate(size)).tobytes(), np.uint64(size).tobytes()]
    function = gpu.kernel((folder / "probes.cubin").read_bytes(), "read_all")
    return gpu.launcher(function, (4 * gpu.multiprocessors, 1, 1), (256, 1, 1), 0, params)


def probe(gpu: Gpu, folder: Path, entry: str) -> dict:
    """A probe kernel numbers its 32 threads by way of what it tries."""
    launch = gpu.launcher(
        gpu.kernel((folder / "probes.cubin").read_bytes(), entry), (1, 1, 1), (32, 1, 1), 0,
        [np.uint64(out := gpu.put(np.zeros(32, np.uint32))).tobytes()],
    )  # fmt: skip
    launch()
    gpu.finish()
    got = gpu.read(out, 128).view(np.uint32)
    return {"wrong": [] if (got == np.arange(32)).all() else [f"threads wrote {got.tolist()}"]}


def probe_tileiras(case: Prepared) -> dict:
    """tileiras' own image with blocks of one thread."""
    error = problems.error_of(case.row, case.variant, case.arrays, case.result(case.launcher("tileiras")))
    return {"error": error, "wrong": [] if error <= problems.CLOSE[case.row["dtypes"][0]] else [f"error {error:.1e}"]}


def main() -> int:
    folder, name, what, *more = sys.argv[1:]
    folder = Path(folder)
    plan = json.loads((folder / "plan.json").read_text())
    try:
        gpu = Gpu()
        if what == "probe":
            found = probe(gpu, folder, name)
        else:
            row = next(row for row in plan["kernels"] if row["name"] == name)
            case = Prepared(gpu, folder, row, row["variants"][more[0]])
            found = {
                "check": lambda: check(case), "time": lambda: time(case, int(more[1])),
                "tileiras": lambda: probe_tileiras(case),
                "once": lambda: {"wrong": [] if case.result(case.launcher()) is not None else ["nothing"]},
            }[what]()  # fmt: skip
    except DriverError as error:
        found = {"failed": str(error)}
    print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
