"""A whole run of benchmarks/gpu behind the strict driver: with stand-ins for NVIDIA's tools, a case that hangs and one
that faults."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.strict_driver.server import StrictDriver

RUNNER = Path(__file__).resolve().parents[2] / "benchmarks" / "gpu"
HANGS, FAULTS, SECONDS = "vector_add_f16_4096", "softmax_f16_4096", 3  # the limit of the one that hangs
LIMITS = ("--limit", "300", "--probe-limit", "300", "--runs", "2")

_WITHOUT_OPTIONS = 'while [ "$1" != "{python}" ]; do shift; done\n'
_SECTIONS = """\
==PROF== Profiling "kernel" - 0: 0%....50%....100% - 9 passes
    Section: GPU Speed Of Light Throughput
    Metric Name                Metric Unit Metric Value
    Memory Throughput                    %        41.02
    Duration                            us       152.90
    Compute (SM) Throughput              %        83.75
    Section: Launch Statistics
    Registers Per Thread   register/thread          168
    Section: Occupancy
    Achieved Occupancy                   %        18.61
"""
# Their text is that of their manuals; both run the program.
TOOLS = {
    "compute-sanitizer": 'echo "========= COMPUTE-SANITIZER"\n' + _WITHOUT_OPTIONS
    + '"$@"\nstatus=$?\necho "========= ERROR SUMMARY: 0 errors"\nexit $status\n',
    "ncu": f"cat <<'END'\n{_SECTIONS}END\n" + _WITHOUT_OPTIONS + 'exec "$@"\n',
}  # fmt: skip


def write_tools(folder: Path, names=tuple(TOOLS)) -> None:
    """Programs of these names."""
    for name in names:
        (folder / name).write_text("#!/bin/sh\n" + TOOLS[name].format(python=sys.executable))
        (folder / name).chmod(0o755)


def add_images(gpu: StrictDriver, plan: Path) -> None:
    """What the launches of a plan execute, of which one faults; give the one that hangs a limit of its own."""
    gpu.add_folder(plan)
    cubin, ptx = ((plan / f"{FAULTS}.ours.{kind}") for kind in ("cubin", "ptx"))
    if cubin.exists():
        gpu.add(cubin.read_bytes(), ptx.read_text().replace("ret;", "trap;"))
    content = json.loads((plan / "plan.json").read_text())
    for row in content["kernels"]:
        row |= {"limit": SECONDS} if row["name"] == HANGS else {}
    (plan / "plan.json").write_text(json.dumps(content))


def run(gpu: StrictDriver, plan: Path, *words: str, hangs: str = HANGS) -> subprocess.CompletedProcess:
    """run.py's end; it finds the tools that lie in the plan's folder. A busy machine gives nothing but the hang a limit."""
    path = os.pathsep.join([str(plan), os.environ["PATH"]])
    environment = ["env", f"STRICT_DRIVER_HANGS={hangs}", f"PATH={path}"]
    return gpu.run([*environment, sys.executable, RUNNER / "run.py", plan, *LIMITS, *words], timeout=3000)


def unexpected(rows: list[dict]) -> list[str]:
    """The cases that went wrong beside those that were to, and those that did not though they were to."""
    wrong = {
        row["case"]
        for row in rows
        if "case" in row and row["variant"] != "not needed" and ("failed" in row or row.get("wrong"))
    }
    there = {row["case"] for row in rows if "case" in row}
    return sorted(wrong ^ ({HANGS, FAULTS} & there))
