"""One case in a process of its own, which may hang or fault: python case.py FOLDER CASE WHAT [VARIANT] [RUNS] [alone]

WHAT is "probe" (of plan.json's probes), "check", "tileiras" (the same for that image), "time" or "once" (a launch for a
profiler or sanitizer, on arrays without guards). "alone" times nothing but ours. The last line of its output is a JSON
object.
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
from clocks import Clocks
from device import DriverError, Gpu
from peers import Peer

REPEATS = 3
FLUSH_BYTES, WARM_UPS = 256 << 20, 5
OURS = "ours"


class Prepared:
    """Arrays of one variant on the GPU, and launches of a kernel's images on them."""

    def __init__(self, gpu: Gpu, folder: Path, row: dict, variant: dict, guarded: bool = True):
        self.gpu, self.folder, self.row, self.variant = gpu, folder, row, variant
        self.arrays = problems.make_arrays(row, variant)
        self.addresses = [gpu.put(array.memory, guarded) for array in self.arrays]
        self.params = problems.parameters(self.arrays, self.addresses, variant["scalars"])

    def grid(self) -> list[int]:
        """The grid; a persistent kernel has as many clusters as run together."""
        grid, cluster = self.variant["grid"], np.prod(self.row["launch"]["cluster"])
        if not self.row["persistent"]:
            return grid
        return [min(grid[0], max(self.gpu.multiprocessors // int(cluster), 1)), 1, 1]

    def launcher(self, by: str = OURS) -> Callable[[], None]:
        """A launch of our image, or of tileiras', which carries its own launch shape: blocks of one thread."""
        launch, cubin = self.row["launch"], (self.folder / f"{self.row['name']}.{by}.cubin").read_bytes()
        if by != OURS:
            return self.gpu.launcher(self.gpu.kernel(cubin, self.row["name"]), self.grid(), (1, 1, 1), 0, self.params)
        maps = [self.gpu.encode(one, self.params) for one in launch["tensor_maps"]]
        dynamic = launch["shared_memory"]["dynamic"]
        function = self.gpu.kernel(cubin, self.row["name"], dynamic)
        return self.gpu.launcher(
            function, self.grid(), (launch["threads_per_cta"], 1, 1), dynamic, [*self.params, *maps]
        )

    def result(self, launch: Callable[[], None]) -> np.ndarray:
        """What a launch makes of a result that was NaN before."""
        self.gpu.write(self.addresses[-1], self.arrays[-1].memory)
        launch()
        self.gpu.finish()
        return self._stored(-1)

    def _stored(self, index: int) -> np.ndarray:
        """What an array holds on the GPU."""
        memory = self.arrays[index].memory
        made = self.gpu.read(self.addresses[index], memory.nbytes).view(memory.dtype).reshape(memory.shape)
        return made.T if self.arrays[index].view is not memory else made

    def inputs_hold(self) -> bool:
        """Whether what a kernel only reads is what it was."""
        return all(self._stored(i).tobytes() == array.view.tobytes() for i, array in enumerate(self.arrays[:-1]))

    def guards_hold(self) -> bool:
        """Whether nothing beside the arrays was written."""
        pairs = zip(self.addresses, self.arrays)
        return all(self.gpu.guards_hold(address, array.memory.nbytes) for address, array in pairs)


def check(case: Prepared, by: str = OURS) -> dict:
    """The error, and what is wrong: an empty list if nothing is."""
    launch = case.launcher(by)
    results = [case.result(launch) for _ in range(REPEATS)]
    reference = problems.Reference(case.row, case.variant, case.arrays)
    wrong = reference.faults(results[0])
    if any(result.tobytes() != results[0].tobytes() for result in results[1:]):
        wrong.append(f"{REPEATS} launches differ")
    if not case.guards_hold():
        wrong.append("memory beside an array was written")
    if not case.inputs_hold():
        wrong.append("an input was written")
    return {"error": reference.error(results[0]), "wrong": wrong}


# ---- times -----------------------------------------------------------------------------------------------------------
def time(case: Prepared, runs: int, alone: bool) -> dict:
    """Milliseconds by who ran, turn by turn, each with a cold L2 cache: median, least and 90th percentile; what was wrong
    with our last result, and which peers cannot be compared with."""
    runners, failed = ({}, {}) if alone else peers.find(case)
    images = [OURS] if alone else case.row["images"]
    runners = {by: _image(case, by) for by in images} | runners
    clocks = Clocks(case.gpu.bus)
    times = measure(case, {by: one.run for by, one in runners.items()}, runs, clocks)
    failed |= _faults(case, runners)
    wrong = [failed.pop(OURS)] if OURS in failed else []
    found = {"ms": {by: summary(values) for by, values in times.items()}, "clocks": clocks.spans()}
    return found | {"failed_peers": failed, "wrong": wrong}


def _image(case: Prepared, by: str) -> Peer:
    launch = case.launcher(by)
    return Peer(launch, lambda: case.result(launch))


def measure(
    case: Prepared, runners: dict[str, Callable[[], None]], runs: int, clocks: Clocks
) -> dict[str, list[float]]:
    """Each runner's times after some that warm it up; clocks are looked at after each turn."""
    stopwatch, flush, times = case.gpu.stopwatch(), flusher(case.gpu, case.folder), {by: [] for by in runners}
    for turn in range(WARM_UPS + runs):
        for by, run in runners.items():
            flush()
            passed = stopwatch(run)
            if turn >= WARM_UPS:
                times[by].append(passed)
        clocks.note()
    case.gpu.finish()
    return times


def _faults(case: Prepared, runners: dict[str, Peer]) -> dict[str, str]:
    reference = problems.Reference(case.row, case.variant, case.arrays)
    found = {by: reference.faults(one.result()) for by, one in runners.items() if one.result}
    return {by: "; ".join(faults) for by, faults in found.items() if faults}


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


# ---- one case --------------------------------------------------------------------------------------------------------
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


def once(case: Prepared) -> dict:
    """One launch, of which a tool tells the rest."""
    case.result(case.launcher())
    return {"wrong": []}


def run(gpu: Gpu, folder: Path, name: str, what: str, more: list[str]) -> dict:
    """What a case finds."""
    if what == "probe":
        return probe(gpu, folder, name)
    plan = json.loads((folder / "plan.json").read_text())
    row = next(row for row in plan["kernels"] if row["name"] == name)
    case = Prepared(gpu, folder, row, row["variants"][more[0]], guarded=what != "once")
    if what == "time":
        return time(case, int(more[1]), alone="alone" in more)
    return {"check": check, "tileiras": lambda case: check(case, "tileiras"), "once": once}[what](case)


def main() -> int:
    folder, name, what, *more = sys.argv[1:]
    try:
        found = run(Gpu(), Path(folder), name, what, more)
    except DriverError as error:
        found = {"failed": str(error)}
    print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
