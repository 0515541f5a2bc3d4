"""Child processes that may hang or fault: none outlives its limit, or its parent."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

MAX_EXIT_SECONDS = 20.0  # seconds that a killed process may take to be gone
TOOLS = {
    "compute-sanitizer": ("/usr/local/cuda*/bin",),
    "ncu": ("/usr/local/cuda*/bin", "/opt/nvidia/nsight-compute/*"),
    "ptxas": ("/usr/local/cuda*/bin",),
}
_SET_DEATH_SIGNAL = 1  # prctl(2)
_OUTPUT = 20000  # characters of a tool's output that are kept


class Budget:
    """The seconds that a whole run may take; None: as many as it needs."""

    def __init__(self, seconds: float | None):
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float:
        """Seconds until it ends."""
        return float("inf") if self._end is None else self._end - time.monotonic()


def find_tool(name: str) -> str | None:
    """A tool's path: of PATH, else of the newest toolkit in its usual place."""
    places = [
        str(path) for pattern in TOOLS.get(name, ()) for path in sorted(Path("/").glob(pattern[1:]), reverse=True)
    ]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(places))


def die_with_parent() -> None:
    """Have the system kill this process as soon as its parent is gone, as where that is killed itself."""
    try:
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    except (OSError, AttributeError):  # a system without it
        return


def start(command: Sequence[str], **more) -> subprocess.Popen:
    """A process in a session of its own, without input."""
    return subprocess.Popen(
        command, text=True, errors="replace", start_new_session=True, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent,
        **more,
    )  # fmt: skip


def run(command: Sequence[str], limit: float, by_tool: bool = False) -> dict:
    """The JSON of a program's last line, or how it failed. One that does not end is killed with all that it started.
    ``by_tool``: a tool runs it, whose output is kept."""
    out, said, status = output(command, limit)
    if status is None:
        return {"failed": f"no end in {limit:g} s{said}", "hung": True}
    found, kept = _last_object(out), {"output": out[-_OUTPUT:]} if by_tool else {}
    if status or found is None or "==ERROR==" in out:
        reason = _errors(out) if by_tool else " ".join((said or out).split())[-400:]
        return {"failed": reason or f"exit status {status}", **kept}
    return found | kept


def output(command: Sequence[str], limit: float) -> tuple[str, str, int | None]:
    """What a program prints, what it says to standard error, and its exit status: None where it did not end."""
    process = start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, said = process.communicate(timeout=limit)
        return out, said, process.returncode
    except subprocess.TimeoutExpired as cut:
        printed = cut.stdout or b""
        return printed.decode(errors="replace") if isinstance(printed, bytes) else printed, kill(process), None
    except BaseException:  # such as a signal to this process
        kill(process)
        raise


def kill(process: subprocess.Popen) -> str:
    """End a process and its children; what to say where the driver does not let go of it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=MAX_EXIT_SECONDS)
    except ProcessLookupError:
        return ""
    except subprocess.TimeoutExpired:
        return f", still there {MAX_EXIT_SECONDS:g} s after it was killed"
    return ""


def _last_object(out: str) -> dict | None:
    """The last line that is a JSON object; tools print around it."""
    return next(reversed(objects(out)), None)


def objects(out: str) -> list[dict]:
    """The lines that are JSON objects."""
    found = []
    for line in out.splitlines():
        try:
            made = json.loads(line)
        except ValueError:
            continue
        found += [made] if isinstance(made, dict) else []
    return found


def _errors(out: str) -> str:
    """What a tool has found first, and its summary."""
    lines = [line.lstrip("= ").strip() for line in out.splitlines() if line.startswith("==")]
    told = [line for line in lines if line and "COMPUTE-SANITIZER" not in line and not line.startswith("PROF")]
    return "; ".join([*told[:2], *told[-1:]])[:400]
