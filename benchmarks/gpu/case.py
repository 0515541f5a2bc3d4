"""One case in its own process, which may hang or fault: python case.py FOLDER CASE WHAT [MORE]...

WHAT is "load" (of the images CASE.BY.BYTES that follow), "probe GRID THREADS" (of plan.json's probes), "check VARIANT", "tileiras
VARIANT" (the same for that image), "time VARIANT RUNS [without=NAME,...]", "once VARIANT" (a launch for a profiler or sanitizer,
on arrays without guards), "prepare" (what a time needs, of every N-th kernel from CASE=I/N on: libraries and Triton's programs) or
"about". "grid=ctas" has grids count CTAs where clusters are declared. The last line of its output is a JSON object.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import images
import numpy as np
import peers
import problems
import processes
from clocks import Clocks
from device import DriverError, Gpu
from peers import Peer

REPEATS, WARM_UPS = 3, 5
OURS, READS = "ours", "read_all"
CTAS, WITHOUT = "grid=ctas", "without="


class Prepared:
    """Arrays of one variant on the GPU, and launches of a kernel's images on them."""

    def __init__(self, gpu: Gpu, folder: Path, row: dict, variant: dict, guarded: bool = True, ctas: bool = False):
        self.gpu, self.folder, self.row, self.variant, self.counts_ctas = gpu, folder, row, variant, ctas
        self.arrays = problems.make_arrays(row, variant)
        self.addresses = [gpu.put(array.memory, guarded) for array in self.arrays]
        self.params = problems.parameters(self.arrays, self.addresses, variant["scalars"])

    def grid(self) -> list[int]:
        """The grid of clusters, or of CTAs; a persistent kernel has as many as run together."""
        cluster = self.row["launch"]["cluster"]
        grid, together = self.variant["grid"], max(self.gpu.sm_count // int(np.prod(cluster)), 1)
        if self.row["persistent"]:
            grid = [min(grid[0], together), 1, 1]
        return [count * size for count, size in zip(grid, cluster)] if self.counts_ctas else grid

    def launcher(self, by: str = OURS) -> Callable[[], None]:
        """A launch of our image, or of tileiras', which carries its own launch shape: blocks of one thread."""
        launch, cubin = self.row["launch"], images.read(self.folder, self.row["name"], by)
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
def time(case: Prepared, runs: int, without: list[str]) -> dict:
    """Milliseconds by who ran, turn by turn, each with a cold L2 cache: median, least and 90th percentile; what was wrong
    with our last result, and which peers cannot be compared with."""
    others = [by for by in case.row["images"] if by != OURS and not {by, peers.ALL} & set(without)]
    runners, failed = _images(case, others)
    found, why = peers.find(case, without)
    runners |= found
    failed |= why
    flush, clocks = flusher(case.gpu, case.folder), Clocks(case.gpu.bus)
    times = measure(case, {by: one.run for by, one in runners.items()}, runs, clocks, flush)
    failed |= _faults(case, runners)
    wrong = [failed.pop(OURS)] if OURS in failed else []
    told = {"ms": {by: summary(values) for by, values in times.items()}, "clocks": clocks.spans()}
    return told | {
        "notes": {by: one.note for by, one in runners.items() if one.note},
        "failed_peers": failed,
        "wrong": wrong,
    }


def _images(case: Prepared, others: list[str]) -> tuple[dict[str, Peer], dict[str, str]]:
    """Ours and other images of the kernel, and why the driver refuses some of the latter."""
    found, failed = {OURS: _image(case, OURS)}, {}
    for by in others:
        try:
            found[by] = _image(case, by)
            found[by].run()
        except DriverError as error:
            found.pop(by, None)
            failed[by] = str(error)
    return found, failed


def _image(case: Prepared, by: str) -> Peer:
    launch = case.launcher(by)
    return Peer(launch, lambda: case.result(launch))


def measure(
    case: Prepared, runners: dict[str, Callable[[], None]], runs: int, clocks: Clocks, flush: Callable[[], None]
) -> dict[str, list[float]]:
    """Each runner's times after some that warm it up; clocks are looked at after each turn."""
    stopwatch, times = case.gpu.stopwatch(), {by: [] for by in runners}
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
    """What empties the L2 cache. A launch that reads enough: what was written would have to be written back first. Where its
    image is refused, a copy."""
    size = json.loads((folder / "plan.json").read_text())["flush_bytes"]
    memory = gpu.allocate(size)
    params = [np.uint64(memory).tobytes(), np.uint64(size).tobytes()]
    try:
        function = gpu.kernel(images.read(folder, READS, "probe"), READS)
    except DriverError:
        return lambda: gpu.copy(memory, memory + size // 2, size // 2)
    return gpu.launcher(function, (4 * gpu.sm_count, 1, 1), (256, 1, 1), 0, params)


# ---- one case --------------------------------------------------------------------------------------------------------
def load(gpu: Gpu, folder: Path, names: list[str]) -> dict:
    """Have the driver load images, one after the other, and say so after each."""
    for name in names:
        case, by, dynamic = name.rsplit(".", 2)
        found = {"image": f"{case}.{by}"}
        try:
            gpu.kernel(images.read(folder, case, by), case, int(dynamic))
        except (DriverError, OSError) as error:
            found["failed"] = str(error)
        print(json.dumps(found), flush=True)
    return {"loaded": len(names)}


def probe(gpu: Gpu, folder: Path, entry: str, grid: int, threads: int) -> dict:
    """What a probe's launch writes."""
    row = next(
        row for row in json.loads((folder / "plan.json").read_text())["probes"]["launches"]
        if (row["entry"], row["grid"], row["threads"]) == (entry, grid, threads)
    )  # fmt: skip
    out = gpu.put(np.full(64, UNWRITTEN, np.uint32))
    function = gpu.kernel(images.read(folder, entry, "probe"), entry)
    gpu.launcher(function, (grid, 1, 1), (threads, 1, 1), 0, [np.uint64(out).tobytes()])()
    gpu.finish()
    return PROBES[row["kind"]](row, gpu.read(out, 256).view(np.uint32))


UNWRITTEN = 0xFFFFFFFF


def _values(row: dict, got: np.ndarray) -> dict:
    """32 threads have written their values."""
    return {"wrong": [] if (got[:32] == np.arange(32)).all() else [f"threads wrote {got[:32].tolist()}"]}


def _clusters(row: dict, got: np.ndarray) -> dict:
    """How many CTAs have run, the extent of the grid that they saw, and their ranks."""
    ran = got[got != UNWRITTEN]
    extents, ranks = (sorted(set(values.tolist())) for values in (ran >> 8, ran & 255))
    right = (len(ran), extents, ranks) == (row["ctas"], [row["ctas"]], [0, 1])
    said = f"{len(ran)} CTAs ran, of ranks {ranks}, in grids of {extents}"
    return {"ctas": len(ran), "found": said, "wrong": [] if right else [f"{said}; {row['ctas']} were expected"]}


PROBES = {"values": _values, "clusters": _clusters}


def once(case: Prepared) -> dict:
    """One launch, of which a tool tells the rest."""
    case.result(case.launcher())
    return {"wrong": []}


def prepare(gpu: Gpu, folder: Path, share: str) -> dict:
    """Have libraries read from the disk and Triton's programs compiled before they are timed."""
    first, step = map(int, share.split("/"))
    rows = json.loads((folder / "plan.json").read_text())["kernels"]
    return {"prepared": sum(peers.prepare(row) for row in rows[first::step])}


def about(gpu: Gpu) -> dict:
    """What a machine is, without asking any library that takes long to start."""
    return {"gpu": gpu.name, "driver": gpu.driver, "sm": gpu.number, "libraries": peers.versions()}


def run(gpu: Gpu, folder: Path, name: str, what: str, more: list[str]) -> dict:
    """What a case finds."""
    if what in ALONE:
        return ALONE[what](gpu, folder, name, more)
    plan = json.loads((folder / "plan.json").read_text())
    row = next(row for row in plan["kernels"] if row["name"] == name)
    case = Prepared(gpu, folder, row, row["variants"][more[0]], guarded=what != "once", ctas=CTAS in more)
    if what == "time":
        without = [name for word in more if word.startswith(WITHOUT) for name in word.removeprefix(WITHOUT).split(",")]
        return time(case, int(more[1]), without)
    return {"check": check, "tileiras": lambda case: check(case, "tileiras"), "once": once}[what](case)


# What needs no kernel of the plan.
ALONE: dict[str, Callable[[Gpu, Path, str, list[str]], dict]] = {
    "load": lambda gpu, folder, name, more: load(gpu, folder, more),
    "probe": lambda gpu, folder, name, more: probe(gpu, folder, name, int(more[0]), int(more[1])),
    "prepare": lambda gpu, folder, name, more: prepare(gpu, folder, name),
    "about": lambda gpu, folder, name, more: about(gpu),
}


def main() -> int:
    processes.die_with_parent()  # a tool may stand between it and who started it
    folder, name, what, *more = sys.argv[1:]
    try:
        found = run(Gpu(), Path(folder), name, what, more)
    except DriverError as error:
        found = {"failed": str(error)}
    print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
