"""Load, probe, check, time, profile and sanitize prebuilt kernels on a machine with a GPU, Python and NumPy.

    python run.py [FOLDER] [--seconds 570] [--results FOLDER/results] [--limit 60] [--probe-limit 12] [--runs 50]
                  [--only PATTERN]... [--phases load,probe,check,time,profile,sanitize] [--resume]

FOLDER is what ``plan.py`` made; without it the one that this program lies in. The order is that of what is learnt: does the driver load
every image, how does it launch clusters, then check and time the first kernels one by one, then the others, then ncu and
compute-sanitizer. Every case is a process of its own with a limit in seconds: a hang or a fault costs one row.

``results.jsonl`` gets a line for each case as soon as it ends, ``table.md`` is written anew after each: whatever cuts this program off, what it
found is there. ``--seconds`` is how long it may take in all: its last case is ended then, and is run again by ``--resume``, which
adds what the results lack. Both are of the results' folder, which has to be copied where a later run shall go on.
What is not installed (ncu, compute-sanitizer, ptxas, torch, CuPy, cuBLAS, Triton) is left out, and a line says so of a phase.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import images
import processes
import report
from processes import Budget

CASE = "case.py"
SANITIZERS = ("memcheck", "racecheck", "synccheck")
PROFILED = ("matmul", "scaled", "attention", "softmax")  # kinds of which ncu is asked
SECTIONS = ("SpeedOfLight", "Occupancy", "WarpStateStats", "MemoryWorkloadAnalysis", "LaunchStats")
NEED = {True: "needed", False: "not needed"}  # probes of what our kernels do with or without
PROBE_LIMIT = 12.0  # seconds
PHASES = ("load", "probe", "check", "time", "profile", "sanitize")
NEEDED = {"sanitize": "compute-sanitizer", "profile": "ncu"}
# Seconds that a case of a phase is given at least: with less time left it is not begun.
MIN_SECONDS = {"time": 8.0, "profile": 8.0, "sanitize": 8.0}
MIN_SECONDS_DEFAULT = 3.0
RESERVE = 2.0  # seconds of the budget for killing the last case and writing
# What a timing is run without, one after the other, where something brought the process down.
LEFT_OUT: tuple[tuple[str, ...], ...] = ((), ("tileiras", "triton"), ("all",))
PREPARERS = 8  # processes that compile Triton's programs ahead, at most
CTAS = "grid=ctas"


@dataclass(frozen=True)
class Job:
    """A case: its phase, kernel or probe, variant, what it does, and by which tool."""

    phase: str
    case: str
    variant: str
    words: tuple[str, ...]
    tool: tuple[str, ...] = ()
    needed: bool = True

    @property
    def key(self) -> tuple[str, str, str]:
        """What its row is found by."""
        return self.phase, self.case, self.variant


@dataclass
class Work:
    """What is chosen from: the plan, the rows of its kernels, and what was found: cases that an earlier run has done, kernels that are
    wrong, and those that hang or are not loaded, which are not run again."""

    folder: Path
    plan: dict
    rows: list[dict]
    runs: int
    done: set[tuple[str, str, str]] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    counts_ctas: bool = False

    def note(self, row: dict) -> None:
        """Learn from a case's row."""
        phase, case = row["phase"], row["case"]
        if phase == "check" and not is_right(row):
            self.wrong.add(case)
        if (phase == "check" and row.get("hung")) or (
            phase == "load" and row["variant"] == "ours" and not is_right(row)
        ):
            self.lost.add(case)
        if phase == "probe" and row["variant"].startswith("grid 4 ") and case == "clusters_by_directive":
            self.counts_ctas |= row.get("ctas") == 4

    def command(self, job: Job) -> list[str]:
        """The process of a case."""
        counts = [CTAS] if self.counts_ctas and job.phase != "probe" else []
        return [*job.tool, sys.executable, str(self.folder / CASE), str(self.folder), job.case, *job.words, *counts]


# ---- what is run, and in which order -----------------------------------------------------------------------------------
def schedule(work: Work) -> Iterator[Job]:
    """Every case. It is asked for one at a time, so that what the last one found decides about the next."""
    yield from probes(work)
    first = [row for row in work.rows if row["name"] in work.plan["first"]]
    others = [row for row in work.rows if row not in first]
    for row in first:
        yield from checks([row])
        yield from timings(work, [row])
    yield from checks(others)
    yield from timings(work, others)
    for rows in (first, others):
        yield from profiles(work, rows)
        yield from sanitizers(rows)


def probes(work: Work) -> Iterator[Job]:
    """What is tried first: plain PTX, and a few kernels at a small size."""
    for row in work.plan["probes"]["launches"]:
        grid, threads = str(row["grid"]), str(row["threads"])
        variant = NEED[row["needed"]] if row["kind"] == "values" else f"grid {grid} block {threads}"
        yield Job("probe", row["entry"], variant, ("probe", grid, threads), needed=row["needed"])
    for name, what in work.plan["probes"]["cases"]:
        yield Job("probe", name, what, (what, "small"), needed=what != "tileiras")


def checks(rows: Iterable[dict]) -> Iterator[Job]:
    """Every variant of kernels."""
    for row in rows:
        yield from (Job("check", row["name"], variant, ("check", variant)) for variant in different(row))


def timings(work: Work, rows: Iterable[dict]) -> Iterator[Job]:
    """Only what was found right is worth a time."""
    for row in rows:
        if row["name"] not in work.wrong:
            yield Job("time", row["name"], "full", ("time", "full", str(work.runs)))


def profiles(work: Work, rows: Iterable[dict]) -> Iterator[Job]:
    """ncu's sections for the kernels that matter most. The clocks are left as they are."""
    tool = [processes.find_tool("ncu") or "ncu", "--clock-control", "none"]
    words = (*tool, *(word for section in SECTIONS for word in ("--section", section)))
    for row in rows:
        if row["kind"].startswith(PROFILED) and row["name"] not in work.wrong:
            yield Job("profile", row["name"], "full", ("once", "full"), words)


def sanitizers(rows: Iterable[dict]) -> Iterator[Job]:
    """Each tool of compute-sanitizer over each kernel at a small size."""
    tool = (processes.find_tool("compute-sanitizer") or "compute-sanitizer", "--error-exitcode", "9", "--tool")
    for row, kind in product(rows, SANITIZERS):
        yield Job("sanitize", row["name"], kind, ("once", "small"), (*tool, kind))


def different(row: dict) -> list[str]:
    """The variants of a case, each problem once."""
    variants = row["variants"]
    return [name for i, name in enumerate(variants) if variants[name] not in list(variants.values())[:i]]


def is_right(row: dict) -> bool:
    """Whether a case ended and nothing was wrong."""
    return "failed" not in row and not row.get("wrong")


# ---- results -----------------------------------------------------------------------------------------------------------
class Record:
    """The results' folder: lines that are added, and the table of them."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        self._results, self._table = folder / "results.jsonl", folder / "table.md"
        self.lines = whole_lines(self._results)

    def write(self, row: dict) -> None:
        """A line that is on the disk, with its table, before the next case starts."""
        line = json.dumps(row)
        self.lines.append(line)
        with self._results.open("a") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
        new = self._table.with_suffix(".new")
        new.write_text(report.table(self.lines))
        new.replace(self._table)
        print(json.dumps({key: value for key, value in row.items() if key not in ("output", "kernels")}), flush=True)


def whole_lines(path: Path) -> list[str]:
    """The lines of a file, from which one that was cut off is taken away."""
    data = path.read_bytes() if path.exists() else b""
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        os.truncate(path, len(whole))
    return whole.decode(errors="replace").splitlines()


# ---- the whole run -----------------------------------------------------------------------------------------------------
def main() -> int:
    options = _options()
    budget = Budget(None if options.seconds is None else options.seconds - RESERVE)
    text = (options.folder / "plan.json").read_text()
    plan, digest = json.loads(text), hashlib.sha256(text.encode()).hexdigest()[:16]
    work, record = _work(plan, options), Record(options.results)
    if options.resume and not take_up(work, record.lines, digest):
        print("error: the results are of another plan; run without --resume", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with preparing(work, options.phases):
        record.write({"phase": "start", "plan": digest, "resumed": options.resume, **_about(work, budget)})
        phases = {phase for phase in options.phases if not _missing(phase, record)}
        failures = load(work, budget, record) if "load" in phases else 0
        more, left = run_all(work, phases, options, budget, record)
        record.write({"phase": "end", "failures": failures + more, "left": left})
    return int(failures + more > 0)


def _work(plan: dict, options: argparse.Namespace) -> Work:
    patterns = options.only or ["*"]
    rows = [row for row in plan["kernels"] if any(fnmatch.fnmatch(row["name"], one) for one in patterns)]
    return Work(options.folder, plan, rows, options.runs)


def take_up(work: Work, lines: list[str], digest: str) -> bool:
    """Leave out what the results have already, but for what is loaded; False where they are of another plan."""
    start, rows = report.last_run(lines)
    for row in (row for row in rows if "case" in row and row["phase"] in PHASES[1:]):
        work.done.add((row["phase"], row["case"], row["variant"]))
        work.note(row)
    return not start or start.get("plan") == digest


def _about(work: Work, budget: Budget) -> dict:
    """What the table needs beside the rows: versions, and how much each kernel has to do."""
    kernels = [
        {"name": row["name"], "kind": row["kind"], "modelled_us": row.get("modelled_us"),
         **{key: row["variants"]["full"][key] for key in ("work", "bytes")}}
        for row in work.plan["kernels"]
    ]  # fmt: skip
    about = processes.run([sys.executable, str(work.folder / CASE), str(work.folder), "", "about"], _limit(60, budget))
    about["tools"] = {name: found for name in processes.TOOLS if (found := processes.find_tool(name))}
    return {"versions": work.plan["versions"], "date": str(datetime.date.today()), "kernels": kernels, **about}


def _limit(limit: float, budget: Budget) -> float:
    return max(min(limit, budget.left()), 0.1)


def _missing(phase: str, record: Record) -> bool:
    tool = NEEDED.get(phase)
    if tool is None or processes.find_tool(tool):
        return False
    record.write({"phase": phase, "skipped": f"{tool} is not installed"})
    return True


def load(work: Work, budget: Budget, record: Record) -> int:
    """Have the driver load every image, also in a run that takes up another: what ptxas made there may be gone. How many of ours it
    refuses."""
    names, failures = {row["name"] for row in work.rows}, 0
    wanted = [one for one in work.plan["images"] if one["case"] in names or one["by"] == "probe"]
    for found in images.load_all(work.folder, wanted, budget):
        row = {"phase": "load", "case": found.pop("case"), "variant": found.pop("by"), **found}
        record.write(row)
        work.note(row)
        failures += row["variant"] == "ours" and not is_right(row)
    return failures


def run_all(
    work: Work, phases: set[str], options: argparse.Namespace, budget: Budget, record: Record
) -> tuple[int, int]:
    """Run the cases that there is time for; how many of those that are needed failed, and how many are left."""
    own = {row["name"]: row["limit"] for row in work.rows if "limit" in row}
    failures = left = 0
    for job in schedule(work):
        if job.phase not in phases or job.key in work.done or job.case in work.lost:
            continue
        limit = own.get(job.case, options.probe_limit if job.phase == "probe" else options.limit)
        row = run_one(work, job, limit, budget)
        if row is None or row["phase"] == CUT:
            left += 1
        if row is None:
            continue
        record.write(row)
        if row["phase"] != CUT:
            work.note(row)
            failures += job.needed and not is_right(row)
    return failures, left


CUT = "cut"


def run_one(work: Work, job: Job, limit: float, budget: Budget) -> dict | None:
    """A case's row; None where there is no time for it, one of the phase CUT where there was too little."""
    if budget.left() < MIN_SECONDS.get(job.phase, MIN_SECONDS_DEFAULT):
        return None
    start = time.monotonic()
    found = _timed(work, job, limit, budget) if job.phase == "time" else _once(work, job, limit, budget)
    if found.get("hung") and budget.left() <= 0:
        return {"phase": CUT, "case": job.case, "variant": f"{job.phase} {job.variant}"}
    told = {"seconds": round(time.monotonic() - start, 2), **({} if job.needed else {"needed": False})}
    return {"phase": job.phase, "case": job.case, "variant": job.variant, **found, **told}


def _once(work: Work, job: Job, limit: float, budget: Budget) -> dict:
    return processes.run(work.command(job), _limit(limit, budget), by_tool=bool(job.tool))


def _timed(work: Work, job: Job, limit: float, budget: Budget) -> dict:
    """Times; where a peer may have brought the process down, without those that are likely to have, then without any."""
    failed: dict[str, str] = {}
    found: dict = {}
    for names, following in zip(LEFT_OUT, (*LEFT_OUT[1:], ())):
        command = work.command(job) + ([f"without={','.join(names)}"] if names else [])
        found = processes.run(command, _limit(limit, budget))
        if "failed" not in found:
            return found | {"failed_peers": failed | found.get("failed_peers", {})}
        failed = {", ".join(following): found["failed"]}
        if budget.left() <= 0:
            break
    return found


@contextmanager
def preparing(work: Work, phases: Iterable[str]) -> Iterator[None]:
    """Processes beside the run that read libraries from the disk and compile Triton's programs, before either is timed."""
    count = min(PREPARERS, max((os.cpu_count() or 1) // 2, 1)) if "time" in phases else 0
    commands = [
        [sys.executable, str(work.folder / CASE), str(work.folder), f"{at}/{count}", "prepare"] for at in range(count)
    ]
    started = [processes.start(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for command in commands]
    try:
        yield
    finally:
        for process in started:
            processes.kill(process)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).resolve().parent)
    parser.add_argument("--results", type=Path, help="the folder of the results (default: FOLDER/results)")
    parser.add_argument("--seconds", type=float, help="for the whole run (default: as many as it takes)")
    parser.add_argument("--limit", type=float, default=60, help="seconds for a case (default: 60)")
    parser.add_argument("--probe-limit", type=float, default=PROBE_LIMIT, help="and for a probe (default: 12)")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--only", action="append", metavar="PATTERN", help="kernels whose names match")
    parser.add_argument("--phases", default=PHASES, type=_phases)
    parser.add_argument("--resume", action="store_true", help="leave out what the results have")
    options = parser.parse_args()
    options.results = options.results or options.folder / "results"
    return options


def _phases(text: str) -> tuple[str, ...]:
    found = tuple(text.split(","))
    unknown = set(found) - set(PHASES)
    if unknown:
        raise argparse.ArgumentTypeError(f"{min(unknown)} is no phase; known: {', '.join(PHASES)}")
    return found


if __name__ == "__main__":
    sys.exit(main())
