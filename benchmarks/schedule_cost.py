"""How far the cost of a schedule (``pipeline/schedule/cost.py``) is from the estimate of the finished code.

    python benchmarks/schedule_cost.py rows.pkl [--sm 80,90,100,120] [--only PATTERN]...    compile and estimate
    python benchmarks/schedule_cost.py rows.pkl --errors [--fit]                             compare; fit the constants
    python benchmarks/schedule_cost.py --orders [--sm 80,90,100,120] [--only PATTERN]...     compare candidates of one kernel

Kernels are those of ``schedule_kernels.py``. Each second one, by name and target, is held out: constants are fitted on the others
alone, and errors of both halves are printed apart. Both sides are modelled: docs/report.md says how far an estimate is from
measurements.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import pickle
import sys
from collections.abc import Iterator
from hashlib import sha256
from math import exp, log
from pathlib import Path
from statistics import median
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).with_name("gpu")))

import variants
from estimates import ours

from tileiras_build import driver
from tileiras_build.core.errors import TileirasError
from tileiras_build.frontend.export_cutile import Case, export_kernels, load_cases
from tileiras_build.pipeline.schedule import cost as model
from tileiras_build.pipeline.schedule.choose import MIN_GAIN, listening
from tileiras_build.pipeline.schedule.kernel import Kernel
from tileiras_build.pipeline.schedule.schedule import Schedule
from tileiras_build.pipeline.schedule.schedule_attribute import schedule_of
from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.simulate.estimate.performance_model import Estimate
from tileiras_build.target.gpu_models import gpu_model
from tileiras_build.target.targets import Target, find_target, parse_targets

KERNELS = Path(__file__).with_name("schedule_kernels.py")
FITTED = (
    *("LOADED_LATENCY", "FIRST_FRAGMENT", "MMA_LATENCY", "BARRIER_LATENCY", "STEP_OVERHEAD", "LAUNCH_OVERHEAD"),
    *("REDUCTION_LATENCY", "CHAIN_LATENCY"),
)
CANDIDATE_KNOBS = ("num_ctas", "num_warps", "occupancy", "query_tiles")


class Row(NamedTuple):
    """A compiled kernel: what it is, its schedule, and the estimated clocks of an SM for a tile program."""

    name: str
    target: str
    kernel: Kernel
    schedule: Schedule
    clocks: float

    @property
    def is_held_out(self) -> bool:
        """Whether constants are not fitted on it."""
        return sha256(f"{self.name} {self.target}".encode()).digest()[0] % 2 == 1


def rows_of(target: Target, patterns: list[str]) -> Iterator[Row]:
    """Compile and estimate kernels."""
    cases = {case.name: case for case in load_cases(KERNELS)}
    names = [name for name in cases if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
    for name, code in export_kernels(KERNELS, names).items():
        try:
            yield _row(cases[name], code, target)
        except TileirasError as error:
            print(f"{name} {target.name}: {error.id}", file=sys.stderr)


def _row(case: Case, code: bytes, target: Target) -> Row:
    with listening() as heard:
        artifacts = driver.compile(code, target.name)
    problem = variants.problem(case, small=False)
    found = ours(artifacts, problem, target)
    [func] = (op for op in parse(artifacts.tileas.encode()).body.block.ops if op.name == "nv_tileaa.func")
    return Row(case.name, target.name, heard.kernels[case.name], schedule_of(func), _clocks(found, problem, target))


def _clocks(found: Estimate, problem: dict, target: Target) -> float:
    """Clocks of an SM for a tile program: of a persistent kernel, too."""
    full = problem["variants"]["full"]
    if problem["persistent"]:
        grid = full["grid"]
        return found.clocks * gpu_model(target).sm_count / (grid[0] * grid[1] * grid[2])
    return found.clocks / found.waves.busiest_sm_ctas * found.launch.cluster_blocks


def modelled(row: Row) -> float | None:
    """The cost of a row's schedule in clocks."""
    found = model.cost(row.kernel, row.schedule, find_target(row.target))
    return None if found is None else found.clocks


def errors(rows: list[Row]) -> list[tuple[float, Row]]:
    """The logarithm of each ratio of cost and estimate."""
    return [(log(cost / row.clocks), row) for row in rows if (cost := modelled(row)) is not None]


def loss(rows: list[Row]) -> float:
    """The mean error, of which no row counts more than for a factor of 2."""
    found = [min(abs(error), log(2)) for error, _ in errors(rows)]
    return sum(found) / len(found)


def fit(rows: list[Row]) -> None:
    """Change one constant after the other as long as that makes the mean error smaller."""
    best, step = loss(rows), 1.4
    while step > 1.04:
        before = best
        for name in FITTED:
            for factor in (step, 1 / step):
                old = getattr(model, name)
                setattr(model, name, old * factor)
                if (tried := loss(rows)) < best:
                    best = tried
                else:
                    setattr(model, name, old)
        step = step if best < before - 1e-4 else step**0.5
    print({name: round(getattr(model, name), 2) for name in FITTED})


def report(rows: list[Row], title: str, most: int = 12) -> None:
    """Print the errors of some rows."""
    found = sorted(errors(rows), key=lambda item: -abs(item[0]))
    sizes = sorted(exp(abs(error)) - 1 for error, _ in found)
    within = sum(size <= 0.2 for size in sizes) / len(sizes)
    print(
        f"{title}: {len(sizes)} rows, median {median(sizes):.1%}, nine of ten {sizes[int(0.9 * len(sizes))]:.1%}, within 20 %: {within:.0%}"
    )
    for error, row in found[:most]:
        print(f"   {exp(error):5.2f}  {row.target} {row.name}: {row.clocks:.0f} estimated")


# ---- candidates of one kernel -----------------------------------------------------------------------
class Ratio(NamedTuple):
    """A candidate: the knobs that make it, and its cost and its estimate as parts of those of the first one."""

    knobs: dict[str, int]
    cost: float
    estimate: float

    @property
    def is_wrong(self) -> bool:
        """Whether cost would choose it or the first one, and the other one is estimated to be faster."""
        return (self.cost < 1 - MIN_GAIN and self.estimate > 1) or (self.cost > 1 and self.estimate < 1 - MIN_GAIN)


def ratios_of(case: Case, code: bytes, target: Target) -> list[Ratio]:
    """The legal candidates of a kernel, compiled one by one."""
    with listening() as heard:
        driver.compile(code, target.name, stop_at="tileas")
    found = [one for one in heard.schedules.get(case.name, ()) if one.refused is None and one.cost is not None]
    problem, ratios = variants.problem(case, small=False), []
    differing = [name for name in CANDIDATE_KNOBS if any(getattr(one.schedule, name) for one in found)]
    differing = ["query_tiles"] if "query_tiles" in differing else differing  # the others follow from it
    for one in found if len(found) > 1 else ():
        knobs = {name: getattr(one.schedule, name) or 1 for name in differing}
        try:
            artifacts = driver.compile(code, target.name, schedule=json.dumps({"schedule": knobs}))
        except TileirasError as error:
            print(f"{case.name} {target.name} {knobs}: {error}", file=sys.stderr)
            continue
        ratios.append(Ratio(knobs, one.cost.nanoseconds_with_tail, ours(artifacts, problem, target).microseconds))
    return [Ratio(knobs, cost / ratios[0].cost, time / ratios[0].estimate) for knobs, cost, time in ratios[1:]]


def compare_orders(target: Target, patterns: list[str]) -> list[Ratio]:
    """Print the candidates of kernels beside their first ones."""
    cases = {case.name: case for case in load_cases(KERNELS)}
    names = [name for name in cases if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
    all_of_them: list[Ratio] = []
    for name, code in export_kernels(KERNELS, names).items():
        for ratio in ratios_of(cases[name], code, target):
            knobs = ", ".join(f"{knob} {value}" for knob, value in ratio.knobs.items() if value > 1)
            mark = "  WRONG" if ratio.is_wrong else ""
            print(
                f"{target.name} {name}: {knobs}: cost {ratio.cost:.2f}, estimate {ratio.estimate:.2f}{mark}", flush=True
            )
            all_of_them.append(ratio)
    return all_of_them


def main() -> int:
    """Compile and estimate, or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, nargs="?", help="the file of the rows")
    parser.add_argument("--sm", default="80,90,100,120", help="the targets (default: 80,90,100,120)")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="kernels whose names match, * for anything")
    parser.add_argument("--errors", action="store_true", help="compare the rows of the file")
    parser.add_argument("--fit", action="store_true", help="fit the constants before")
    parser.add_argument("--orders", action="store_true", help="compare the candidates of each kernel")
    options = parser.parse_args()
    if options.orders:
        compared = [
            ratio for target in parse_targets(options.sm) for ratio in compare_orders(target, options.only or ["*"])
        ]
        print(f"{len(compared)} candidates, {sum(ratio.is_wrong for ratio in compared)} in the wrong order")
        return 0
    if options.rows is None:
        parser.error("the file of the rows is missing")
    if not options.errors:
        found: list[Row] = []
        for target in parse_targets(options.sm):
            for row in rows_of(target, options.only or ["*"]):
                found.append(row)
                options.rows.write_bytes(pickle.dumps(found))
        return 0
    rows = pickle.loads(options.rows.read_bytes())
    if options.fit:
        fit([row for row in rows if not row.is_held_out])
    for held, title in ((False, "fitted"), (True, "held out")):
        report([row for row in rows if row.is_held_out is held], title)
    return 0


if __name__ == "__main__":
    sys.exit(main())
