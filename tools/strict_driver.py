"""Send every kernel through the strict driver (tests/strict_driver); exit status 1 where one is wrong.

    python tools/strict_driver.py [--sm 80,90,100,120] [--by library,c,runner] [--only PATTERN]...

Each example is packed on its own, launched by ``runtime.Library`` and by a compiled C program, executed in the emulator,
and compared with its reference. "runner" is benchmarks/gpu: it checks the benchmark kernels at sizes for an emulator.
"""

from __future__ import annotations

import argparse
import fnmatch
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import tileiras_build
from tests.examples.example_library import CASES, bytecode_of, inputs_of
from tests.runtime.fake_libcuda import compiler, run
from tests.strict_driver import launch_case, packages
from tests.strict_driver.server import StrictDriver, build
from tileiras_build.targets import parse_targets

RUNNER = ROOT / "benchmarks" / "gpu"
CLIENT = ROOT / "tests" / "strict_driver" / "python_client.py"


def library_command(folder: Path, _driver: Path, package: Path) -> list:
    """A launch from Python."""
    return [sys.executable, CLIENT, package, folder / "case"]


def c_command(folder: Path, driver: Path, package: Path) -> list:
    """A launch from C; the program is compiled first."""
    source, program = folder / "main.c", folder / "main"
    source.write_text(launch_case.c_program(packages.NAME, folder / "case"))
    sources = [source, package / f"src/{packages.NAME}.c"]
    run([compiler("cc"), *sources, *launch_case.c_options(driver, package), "-o", program])
    return ["sh", "-c", f"cd {folder / 'case'} && {program} {package / packages.NAME}.fatbin"]


COMMANDS = {"library": library_command, "c": c_command}


def faults(name: str, sm: str, by: str, driver: Path) -> list[str]:
    """What is wrong with one launch; empty if nothing is."""
    artifacts, values = tileiras_build.compile(bytecode_of(name), sm), inputs_of(name)
    with tempfile.TemporaryDirectory() as scratch, StrictDriver(driver, sm) as gpu:
        folder = Path(scratch)
        package = packages.build(folder, name, artifacts)
        case = launch_case.write(folder / "case", name, CASES[name].grid(values), values.values())
        gpu.add(artifacts.cubin, artifacts.ptx)
        done: subprocess.CompletedProcess = gpu.run(COMMANDS[by](folder, driver, package))
        if done.returncode or gpu.refusals():
            return gpu.refusals() or [done.stderr]
        launch_case.fetch(case, values.values())
    return CASES[name].find_faults(inputs_of(name), values)


def runner_wrong(sm: str, patterns: list[str], driver: Path) -> int:
    """How many cases of the GPU runner are wrong; it prints them."""
    only = [f"--only={pattern}" for pattern in patterns]
    with tempfile.TemporaryDirectory() as scratch, StrictDriver(driver, sm) as gpu:
        words = [sys.executable, RUNNER / "build.py", scratch, "--sm", sm, "--small", *only]
        subprocess.run(list(map(str, words)), check=True)
        gpu.add_folder(Path(scratch))
        phases = ["--phases", "probe,check,time", "--runs", "2", "--limit", "300"]
        done = gpu.run([sys.executable, RUNNER / "run.py", scratch, *phases], timeout=3000)
        print(run([sys.executable, RUNNER / "report.py", f"{scratch}/results.jsonl"]).stdout, done.stderr, flush=True)
        return done.returncode


def main() -> int:
    options = _options()
    patterns, callers = options.only or ["*"], options.by.split(",")
    names = [name for name in CASES if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        for target in parse_targets(options.sm):
            for name, by in ((name, by) for name in names for by in callers if by in COMMANDS):
                found = faults(name, target.name, by, Path(folder))
                wrong += bool(found)
                print(f"{target.name:7} {name:32} {by:8} {'; '.join(found) or 'right'}", flush=True)
            wrong += runner_wrong(target.name, patterns, Path(folder)) if "runner" in callers else 0
    print(f"{wrong} wrong")
    return int(wrong > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sm", default="80,90,100,120")
    parser.add_argument("--by", default="library,c,runner", help="who launches")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="kernels whose names match")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
