"""The cost of a command on one small kernel: CPU time of all its processes, wall time, and the number of imported modules.

    python benchmarks/command_start.py [FILE.tilebc] [--sm 90] [--runs 9] [--tileiras] [--against FOLDER]

Rows are the median and the least of all runs in milliseconds, user and system time of the command and its children (ptxas)
together, and by the clock, taken turn by turn; the first is Python itself, which every other row but that of NVIDIA's
tileiras includes. No compile server answers. Modules are those of the command in one process.
``--against`` measures the package in another folder beside this one.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from compile_speed import find_peer

from tileiras_build.core.terminal import table_text

ROOT = Path(__file__).resolve().parents[1]
KERNEL = ROOT / "examples" / "prebuilt" / "vector_add_f32.tilebc"
PYTHON = (sys.executable, "-P", "-c")  # without the package in the working folder
MAIN = "import sys; from tileiras_build.cli.main import main; sys.exit(main())"
# What the process that compiles imports: the command's own is a fork's parent.
COUNT = "import sys; from tileiras_build.workers.lazy_class_creation import enable; enable(); from tileiras_build.cli.dispatch import main"


def commands(kernel: Path, sm: str, folder: str) -> dict[str, list[str]]:
    """The words after ``tileiras-build`` of each row."""
    lower = ["lower", str(kernel), "--sm", sm]
    return {
        "targets": ["targets"],
        "lower --to ll": [*lower, "--to", "ll", "-o", f"{folder}/k.ll"],
        "lower --to ptx": [*lower, "--to", "ptx", "-o", f"{folder}/k.ptx"],
        "lower --to cubin": [*lower, "--to", "cubin", "-o", f"{folder}/k.cubin"],
        "as": ["as", str(kernel), f"--gpu-name=sm_{sm}", "-o", f"{folder}/k.cubin"],
    }


def milliseconds(command: list[str], package: Path) -> tuple[float, float]:
    """Processor time of one run with the package in a folder, and its time by the clock."""
    environment = os.environ | {"PYTHONPATH": str(package), "TILEIRAS_SERVER": "0"}
    # Without compiled modules every run would compile them anew; an installed package has them.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    # In its folder: that of the process precedes PYTHONPATH.
    subprocess.run(command, cwd=package, env=environment, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), 1000 * wall


def modules(words: list[str]) -> int:
    """How many modules a command has imported when it is done, where it compiles in its own process."""
    inside = ["--in-process"] if words[0] == "lower" else []
    code = f"{COUNT}; main({[*words, *inside]!r}); print(len(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stderr.split()[-1])


def rows(given: argparse.Namespace, folder: str) -> Iterator[tuple[str, list[str], Path]]:
    """(name, command, package) of each row."""
    yield "python -c pass", [*PYTHON, "pass"], ROOT
    for name, words in commands(given.kernel, given.sm, folder).items():
        for package in (ROOT, *([given.against] if given.against else [])):
            shown = name if package == ROOT else f"{name} ({package})"
            yield shown, [*PYTHON, MAIN, *words], package
    if given.tileiras and (peer := find_peer()) is not None:
        yield "tileiras", [str(peer), str(given.kernel), f"--gpu-name=sm_{given.sm}", "-o", f"{folder}/t.cubin"], ROOT


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", nargs="?", type=Path, default=KERNEL)
    parser.add_argument("--sm", default="90")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--tileiras", action="store_true", help="NVIDIA's program too, where it is installed")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="that holds another tileiras_build")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured = [*rows(given, folder)]
        times: list[list[tuple[float, float]]] = [[] for _ in measured]
        for _, command, package in measured:
            milliseconds(command, package)  # compiles the modules of a package that has none compiled
        for _ in range(given.runs):
            for row, (_, command, package) in zip(times, measured):
                row.append(milliseconds(command, package))
        known = commands(given.kernel, given.sm, folder)
        counts = [str(modules(known[name])) if name in known and name != "as" else "" for name, _, _ in measured]
    lines = [(name, *_cells(row), count) for (name, _, _), row, count in zip(measured, times, counts)]
    print(table_text(("command", "CPU ms", "least", "clock ms", "least", "modules"), lines))


def _cells(row: list[tuple[float, float]]) -> list[str]:
    return [f"{number:.0f}" for column in zip(*row) for number in (statistics.median(column), min(column))]


if __name__ == "__main__":
    main()
