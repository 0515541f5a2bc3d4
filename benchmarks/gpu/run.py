"""Probe, check, sanitize, time and profile prebuilt kernels on a machine with a GPU, Python and NumPy.

    python run.py FOLDER [--limit 60] [--runs 50] [--only PATTERN]... [--phases probe,check,sanitize,time,profile]

FOLDER is what ``build.py`` made. Every case runs in a process of its own with a limit in seconds: a hang or a fault
costs one row. ``results.jsonl`` in FOLDER gets a line for each case as soon as it ends; ``report.py`` makes the table.
What is not installed (compute-sanitizer, ncu, torch) is left out.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import IO

CASE = Path(__file__).with_name("case.py")
SANITIZERS = ("memcheck", "racecheck", "synccheck")
PROFILED = ("product", "attention", "softmax")  # kinds of which ncu is asked
SECTIONS = ("SpeedOfLight", "Occupancy", "WarpStateStats", "MemoryWorkloadAnalysis", "LaunchStats")
NOT_NEEDED = "not needed"  # probes of what our kernels do without
CLOCKS = "clocks.sm,clocks.mem,temperature.gpu,power.draw"
Job = tuple[str, str, list[str]]  # case, variant, command


@dataclass(frozen=True)
class Work:
    """What a phase chooses from: the plan, the rows of its kernels, those found right, and the command of a case."""

    plan: dict
    rows: list[dict]
    right: set[str]
    own: list[str]
    runs: int


def probes(work: Work) -> Iterator[Job]:
    """What is tried first: plain PTX, and a few kernels at a small size."""
    for entry, needed in work.plan["probes"]["entries"]:
        yield entry, "needed" if needed else NOT_NEEDED, [*work.own, entry, "probe"]
    for name, what in work.plan["probes"]["cases"]:
        yield name, what, [*work.own, name, what, "small"]


def checks(work: Work) -> Iterator[Job]:
    """Every variant of every kernel."""
    for row in work.rows:
        yield from ((row["name"], variant, [*work.own, row["name"], "check", variant]) for variant in different(row))


def sanitizers(work: Work) -> Iterator[Job]:
    """Each tool of compute-sanitizer over each kernel at a small size."""
    if tool := shutil.which("compute-sanitizer"):
        for row, kind in product(work.rows, SANITIZERS):
            yield (
                row["name"],
                kind,
                [tool, "--tool", kind, "--error-exitcode", "9", *work.own, row["name"], "once", "small"],
            )


def timings(work: Work) -> Iterator[Job]:
    """Only what was found right is worth a time."""
    for row in work.rows:
        if row["name"] in work.right:
            yield row["name"], "full", [*work.own, row["name"], "time", "full", str(work.runs)]


def profiles(work: Work) -> Iterator[Job]:
    """ncu's sections for the kernels that matter most."""
    sections = [word for section in SECTIONS for word in ("--section", section)]
    if tool := shutil.which("ncu"):
        for row in work.rows:
            if row["kind"].startswith(PROFILED):
                yield row["name"], "full", [tool, *sections, *work.own, row["name"], "once", "full"]


PHASES = {"probe": probes, "check": checks, "sanitize": sanitizers, "time": timings, "profile": profiles}


def different(row: dict) -> list[str]:
    """The variants of a case, each problem once."""
    variants = row["variants"]
    return [name for i, name in enumerate(variants) if variants[name] not in list(variants.values())[:i]]


def run(command: Sequence[str], limit: float) -> dict:
    """The JSON of a case's last line, or how it failed; a case that does not end is killed with all that it started."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
    )
    try:
        out, said = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return {"failed": f"no end in {limit:g} s"}
    lines = [line for line in out.splitlines() if line.startswith("{")]
    if process.returncode or not lines:
        return {"failed": " ".join((said or out).split())[-400:] or f"exit status {process.returncode}"}
    other = {"output": out[-20000:]} if CASE.name not in command[1] else {}
    return {**json.loads(lines[-1]), **other}


def clocks() -> str | None:
    """What nvidia-smi says of clocks, temperature and power."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    command = [tool, f"--query-gpu={CLOCKS}", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout.strip()


def is_right(row: dict) -> bool:
    """Whether a case ended and nothing was wrong."""
    return "failed" not in row and not row.get("wrong")


def main() -> int:
    options = _options()
    plan = json.loads((options.folder / "plan.json").read_text())
    phases, patterns = options.phases.split(","), options.only or ["*"]
    rows = [row for row in plan["kernels"] if any(fnmatch.fnmatch(row["name"], one) for one in patterns)]
    right = {row["name"] for row in rows}  # until a check says otherwise
    work = Work(plan, rows, right, [sys.executable, str(CASE), str(options.folder)], options.runs)
    failures = 0
    with (options.folder / "results.jsonl").open("a") as log:
        write(
            log, {"phase": "start", "versions": plan["versions"], "date": str(datetime.date.today()), "gpu": gpu_name()}
        )
        for phase in phases:
            failures += run_phase(phase, work, options.limit, log)
        write(log, {"phase": "end", "failures": failures})
    return int(failures > 0)


def run_phase(phase: str, work: Work, limit: float, log: IO[str]) -> int:
    """Run and write a phase's cases; how many of those that are needed failed."""
    limits = {row["name"]: row["limit"] for row in work.rows if "limit" in row}
    failures = 0
    for name, variant, command in PHASES[phase](work):
        row = {"phase": phase, "case": name, "variant": variant, **_timed(command, limits.get(name, limit), phase)}
        write(log, row)
        if phase == "check" and not is_right(row):
            work.right.discard(name)
        failures += variant != NOT_NEEDED and not is_right(row)
    return failures


def _timed(command: Sequence[str], limit: float, phase: str) -> dict:
    before, start = clocks() if phase == "time" else None, time.monotonic()
    found = run(command, limit)
    measured = {"seconds": round(time.monotonic() - start, 2)}
    return found | measured | ({"clocks": [before, clocks()]} if before else {})


def write(log: IO[str], row: dict) -> None:
    """A line that is on the disk before the next case starts."""
    log.write(json.dumps(row) + "\n")
    log.flush()
    os.fsync(log.fileno())
    shown = {key: value for key, value in row.items() if key != "output"}
    print(json.dumps(shown), flush=True)


def gpu_name() -> str | None:
    """The GPU's name, asked in a process of its own."""
    code = f"import sys; sys.path.insert(0, {str(CASE.parent)!r}); import device; print(device.Gpu().name)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip() or None


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=float, default=60, help="seconds for a case (default: 60)")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--only", action="append", metavar="PATTERN", help="kernels whose names match")
    parser.add_argument("--phases", default=",".join(PHASES))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
