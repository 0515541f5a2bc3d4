"""Probe, check, sanitize, time and profile prebuilt kernels on a machine with a GPU, Python and NumPy.

    python run.py FOLDER [--limit 60] [--probe-limit 12] [--runs 50] [--only PATTERN]... [--phases probe,check,sanitize,time,profile]
                         [--resume]

FOLDER is what ``build.py`` made. Every case runs in a process of its own with a limit in seconds: a hang or a fault
costs one row. ``results.jsonl`` in FOLDER gets a line for each case as soon as it ends; ``report.py`` makes the table.
What is not installed (compute-sanitizer, ncu, torch, CuPy, cuBLAS) is left out, and a line says which tool was not there.
``--resume`` goes on where an earlier run ended: it adds what the file lacks, as on a machine that is lent for minutes.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import IO

import report

CASE = Path(__file__).with_name("case.py")
SANITIZERS = ("memcheck", "racecheck", "synccheck")
PROFILED = ("product", "scaled", "attention", "softmax")  # kinds of which ncu is asked
SECTIONS = ("SpeedOfLight", "Occupancy", "WarpStateStats", "MemoryWorkloadAnalysis", "LaunchStats")
NOT_NEEDED = "not needed"  # probes of what our kernels do without
PROBE_LIMIT = 12.0  # seconds: five of them are a minute
LONGEST_DEATH = 20.0  # seconds that a killed case may take to be gone
TOOLS = {
    "compute-sanitizer": ("/usr/local/cuda*/bin",),
    "ncu": ("/usr/local/cuda*/bin", "/opt/nvidia/nsight-compute/*"),
}
Job = tuple[str, str, list[str]]  # case, variant, command


@dataclass
class Work:
    """What a phase chooses from: the plan, the rows of its kernels, the command of a case, and what was found: cases that
    an earlier run has done, kernels that are wrong, and those that hang, which are not run again."""

    plan: dict
    rows: list[dict]
    own: list[str]
    runs: int
    done: set[tuple[str, str, str]] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)
    hung: set[str] = field(default_factory=set)

    def note(self, row: dict) -> None:
        """Learn from a case's row."""
        if row["phase"] == "check" and not is_right(row):
            self.wrong.add(row["case"])
        if row["phase"] == "check" and row.get("hung"):
            self.hung.add(row["case"])


# ---- phases ----------------------------------------------------------------------------------------------------------
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
    command = [find_tool("compute-sanitizer"), "--error-exitcode", "9", "--tool"]
    for row, kind in product(work.rows, SANITIZERS):
        yield row["name"], kind, [*command, kind, *work.own, row["name"], "once", "small"]


def timings(work: Work) -> Iterator[Job]:
    """Only what was found right is worth a time."""
    for row in work.rows:
        if row["name"] not in work.wrong:
            yield row["name"], "full", [*work.own, row["name"], "time", "full", str(work.runs)]


def profiles(work: Work) -> Iterator[Job]:
    """ncu's sections for the kernels that matter most."""
    command = [find_tool("ncu"), *(word for section in SECTIONS for word in ("--section", section))]
    for row in work.rows:
        if row["kind"].startswith(PROFILED) and row["name"] not in work.wrong:
            yield row["name"], "full", [*command, *work.own, row["name"], "once", "full"]


PHASES = {"probe": probes, "check": checks, "sanitize": sanitizers, "time": timings, "profile": profiles}
NEEDED = {"sanitize": "compute-sanitizer", "profile": "ncu"}


def different(row: dict) -> list[str]:
    """The variants of a case, each problem once."""
    variants = row["variants"]
    return [name for i, name in enumerate(variants) if variants[name] not in list(variants.values())[:i]]


def find_tool(name: str) -> str | None:
    """A tool's path: of PATH, else of the newest toolkit in its usual place."""
    places = [
        str(path) for pattern in TOOLS.get(name, ()) for path in sorted(Path("/").glob(pattern[1:]), reverse=True)
    ]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(places))


# ---- processes -------------------------------------------------------------------------------------------------------
def run(command: Sequence[str], limit: float) -> dict:
    """The JSON of a case's last line, or how it failed; a case that does not end is killed with all that it started."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
        stdin=subprocess.DEVNULL,
    )
    try:
        out, said = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        return {"failed": f"no end in {limit:g} s{_kill(process)}", "hung": True}
    found = _last_object(out)
    by_tool = {"output": out[-20000:]} if CASE.name not in command[1] else {}
    if process.returncode or found is None or "==ERROR==" in out:
        reason = _errors(out) if by_tool else " ".join((said or out).split())[-400:]
        return {"failed": reason or f"exit status {process.returncode}", **by_tool}
    return found | by_tool


def _kill(process: subprocess.Popen) -> str:
    """Ends a process and its children; says so where the driver does not let go of it."""
    os.killpg(process.pid, signal.SIGKILL)
    try:
        process.communicate(timeout=LONGEST_DEATH)
    except subprocess.TimeoutExpired:
        return f", still there {LONGEST_DEATH:g} s after it was killed"
    return ""


def _last_object(out: str) -> dict | None:
    """The last line that is a JSON object; tools print around it."""
    for line in reversed(out.splitlines()):
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            return found
    return None


def _errors(out: str) -> str:
    """What a tool has found first, and its summary."""
    lines = [line.lstrip("= ").strip() for line in out.splitlines() if line.startswith("==")]
    told = [line for line in lines if line and "COMPUTE-SANITIZER" not in line and not line.startswith("PROF")]
    return "; ".join([*told[:2], *told[-1:]])[:400]


def is_right(row: dict) -> bool:
    """Whether a case ended and nothing was wrong."""
    return "failed" not in row and not row.get("wrong")


# ---- the whole run ---------------------------------------------------------------------------------------------------
def main() -> int:
    options = _options()
    text = (options.folder / "plan.json").read_text()
    plan, digest = json.loads(text), hashlib.sha256(text.encode()).hexdigest()[:16]
    work = _work(plan, options)
    if options.resume and not _take_up(work, options.folder / "results.jsonl", digest):
        print("error: results.jsonl is of another plan; run without --resume", file=sys.stderr)
        return 2
    with (options.folder / "results.jsonl").open("a") as log:
        write(log, {"phase": "start", "plan": digest, "resumed": options.resume, **_about(plan)})
        limits = {phase: options.probe_limit if phase == "probe" else options.limit for phase in PHASES}
        failures = sum(run_phase(phase, work, limits[phase], log) for phase in options.phases.split(","))
        write(log, {"phase": "end", "failures": failures})
    return int(failures > 0)


def _work(plan: dict, options: argparse.Namespace) -> Work:
    patterns = options.only or ["*"]
    rows = [row for row in plan["kernels"] if any(fnmatch.fnmatch(row["name"], one) for one in patterns)]
    return Work(plan, rows, [sys.executable, str(CASE), str(options.folder)], options.runs)


def _take_up(work: Work, path: Path, digest: str) -> bool:
    """Leave out what is in the file already; False where that is of another plan."""
    start, rows = report.last_run(path.read_text().splitlines() if path.exists() else [])
    for row in (row for row in rows if "case" in row):
        work.done.add((row["phase"], row["case"], row["variant"]))
        work.note(row)
    return not start or start.get("plan") == digest


def _about(plan: dict) -> dict:
    """What the table needs beside the rows: versions, and how much each kernel has to do."""
    kernels = [
        {"name": row["name"], "kind": row["kind"], **{key: row["variants"]["full"][key] for key in ("work", "bytes")}}
        for row in plan["kernels"]
    ]
    return {"versions": plan["versions"], "date": str(datetime.date.today()), "gpu": gpu_name(), "kernels": kernels}


def run_phase(phase: str, work: Work, limit: float, log: IO[str]) -> int:
    """Run and write a phase's cases; how many of those that are needed failed."""
    tool = NEEDED.get(phase)
    if tool and not find_tool(tool):
        write(log, {"phase": phase, "skipped": f"{tool} is not installed"})
        return 0
    limits = {row["name"]: row["limit"] for row in work.rows if "limit" in row}
    failures = 0
    for name, variant, command in PHASES[phase](work):
        if (phase, name, variant) in work.done or name in work.hung:
            continue
        row = {"phase": phase, "case": name, "variant": variant, **_timed(command, limits.get(name, limit), phase)}
        write(log, row)
        work.note(row)
        failures += variant != NOT_NEEDED and not is_right(row)
    return failures


def _timed(command: Sequence[str], limit: float, phase: str) -> dict:
    """What a case finds, in how many seconds; where peers may have brought it down, once more without them."""
    start = time.monotonic()
    found = run(command, limit)
    if phase == "time" and "failed" in found:
        found = run([*command, "alone"], limit) | {"failed_peers": {"all": found["failed"]}}
    return found | {"seconds": round(time.monotonic() - start, 2)}


def write(log: IO[str], row: dict) -> None:
    """A line that is on the disk before the next case starts."""
    log.write(json.dumps(row) + "\n")
    log.flush()
    os.fsync(log.fileno())
    shown = {key: value for key, value in row.items() if key not in ("output", "kernels")}
    print(json.dumps(shown), flush=True)


def gpu_name() -> str | None:
    """The GPU's name, asked in a process of its own."""
    code = f"import json, sys; sys.path.insert(0, {str(CASE.parent)!r}); import device; "
    code += "print(json.dumps({'name': device.Gpu().name}))"
    return run([sys.executable, "-c", code], 60).get("name")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=float, default=60, help="seconds for a case (default: 60)")
    parser.add_argument("--probe-limit", type=float, default=PROBE_LIMIT, help="and for a probe (default: 12)")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--only", action="append", metavar="PATTERN", help="kernels whose names match")
    parser.add_argument("--phases", default=",".join(PHASES), type=_phases)
    parser.add_argument("--resume", action="store_true", help="leave out what results.jsonl has")
    return parser.parse_args()


def _phases(text: str) -> str:
    unknown = set(text.split(",")) - set(PHASES)
    if unknown:
        raise argparse.ArgumentTypeError(f"{min(unknown)} is no phase; known: {', '.join(PHASES)}")
    return text


if __name__ == "__main__":
    sys.exit(main())
