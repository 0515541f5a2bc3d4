"""A whole run of benchmarks/gpu behind the strict driver: with stand-ins for NVIDIA's tools, a case that hangs, one that
faults, an image that is made anew by an older ptxas, and a peer's that is refused."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

from tests.strict_driver.images import assemble
from tests.strict_driver.server import StrictDriver
from tileiras_build.pipeline.ptx_to_cubin import find_ptxas

RUNNER = Path(__file__).resolve().parents[2] / "benchmarks" / "gpu"
HANGS, FAULTS, SECONDS = "vector_add_f16_4096", "softmax_f16_4096", 3  # the limit of the one that hangs
LIMITS = ("--limit", "300", "--probe-limit", "300", "--runs", "2")

REFUSED, PEER_REFUSED = "transpose_f16_64x64", "vector_add_f32_1024"
_NEWER, _KNOWN = ".version 9.4", ".version 9.0"  # of PTX, and the newest that the stand-in for ptxas knows

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
    "ptxas": f"""for word; do case $word in *.source)
grep -q '{_NEWER}' $word && {{{{ echo "fatal   : Unsupported {_NEWER}; current version is '{_KNOWN[9:]}'" >&2; exit 255; }}}}
esac; done\nexec {{ptxas}} "$@"\n""",
    "ncu": f"cat <<'END'\n{_SECTIONS}END\n" + _WITHOUT_OPTIONS + 'exec "$@"\n',
}  # fmt: skip


def write_tools(folder: Path, names=tuple(TOOLS)) -> None:
    """Programs of these names."""
    for name in names:
        (folder / name).write_text("#!/bin/sh\n" + TOOLS[name].format(python=sys.executable, ptxas=find_ptxas()))
        (folder / name).chmod(0o755)


def add_images(gpu: StrictDriver, plan: Path) -> None:
    """What the launches of a plan execute, of which one faults; give the one that hangs a limit of its own, and have the driver refuse
    one image that can be made anew, and a peer's."""
    images = plan / "images"
    gpu.add_folder(images)
    cubin, ptx = ((images / f"{FAULTS}.ours.{kind}") for kind in ("cubin", "ptx"))
    if cubin.exists():
        gpu.add(cubin.read_bytes(), ptx.read_text().replace("ret;", "trap;"))
    content = json.loads((plan / "plan.json").read_text())
    rows = {row["name"]: row for row in content["kernels"]}
    if HANGS in rows:
        rows[HANGS]["limit"] = SECONDS
    if REFUSED in rows:
        _refuse(gpu, images, rows[REFUSED])
    if PEER_REFUSED in rows:
        rows[PEER_REFUSED]["images"].append("tileiras")
        content["images"].append({"case": PEER_REFUSED, "by": "tileiras", "dynamic": 0})
        own = (images / f"{PEER_REFUSED}.ours.cubin").read_bytes()
        (images / f"{PEER_REFUSED}.tileiras.cubin").write_bytes(for_another_gpu(own))
    (plan / "plan.json").write_text(json.dumps(content))


def _refuse(gpu: StrictDriver, images: Path, row: dict) -> None:
    """Make a cubin one for another GPU, its PTX newer than the machine's ptxas; what that ptxas makes of it can be launched."""
    cubin, ptx = ((images / f"{row['name']}.ours.{kind}") for kind in ("cubin", "ptx"))
    text = ptx.read_text()
    assert _KNOWN in text
    gpu.add(assemble(text, gpu.target.arch, row["ptxas"]), text)
    cubin.write_bytes(for_another_gpu(cubin.read_bytes()))
    ptx.write_text(text.replace(_KNOWN, _NEWER))


def for_another_gpu(cubin: bytes) -> bytes:
    """A cubin whose ELF header says sm_75, in the byte where it says so."""
    [flags] = struct.unpack_from("<I", cubin, 48)
    shift = 8 if cubin[8] >= 8 else 0
    return cubin[:48] + struct.pack("<I", flags & ~(0xFF << shift) | 75 << shift) + cubin[52:]


def _command(plan: Path, hangs: str, words: tuple[str, ...]) -> list[str]:
    """It finds the tools that lie in the plan's folder. A busy machine gives nothing but the hang a limit."""
    path = os.pathsep.join([str(plan), os.environ["PATH"]])
    environment = ["env", f"STRICT_DRIVER_HANGS={hangs}", f"PATH={path}"]
    return [*environment, sys.executable, str(plan / "run.py"), *LIMITS, *words]


def run(gpu: StrictDriver, plan: Path, *words: str, hangs: str = HANGS) -> subprocess.CompletedProcess:
    """run.py's end."""
    return gpu.run(_command(plan, hangs, words), timeout=3000)


def run_until(gpu: StrictDriver, plan: Path, phase: str, case: str, *words: str) -> None:
    """A run that is killed, without a chance to do anything more, as soon as a case's row is written."""
    command = _command(plan, HANGS, words)
    process = subprocess.Popen(command, env=gpu.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while not any((row["phase"], row.get("case")) == (phase, case) for row in rows(plan)):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    process.kill()
    process.communicate()


def rows(plan: Path) -> list[dict]:
    """What a run has found so far; the last line may be on its way."""
    path = plan / "results" / "results.jsonl"
    whole = path.read_text().rpartition("\n")[0] if path.exists() else ""
    return list(map(json.loads, whole.splitlines()))


def unexpected(rows: list[dict]) -> list[str]:
    """The cases that went wrong beside those that were to, and those that did not though they were to."""
    wrong = {
        row["case"]
        for row in rows
        if "case" in row
        and row.get("needed", True)
        and row["variant"] != "tileiras"
        and ("failed" in row or row.get("wrong"))
    }
    there = {row["case"] for row in rows if "case" in row}
    return sorted(wrong ^ ({HANGS, FAULTS} & there))
