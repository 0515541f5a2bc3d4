"""Run cuTile Python's own test suite through this compiler and its emulator, and write its tables in docs/conformance.md.

    python tools/cutile_conformance.py run --cutile CHECKOUT --sm sm_90 --out RESULTS [--device strict] [--keep N] [--files test_cast.py ...]
    python tools/cutile_conformance.py render --out RESULTS [--keep N --kept-for SM ...]

Both take ``--left-out CASE ...``.

CHECKOUT is an unpacked NVIDIA/cutile-python; its requirements for tests are installed, PyTorch may be the CPU's. ``run`` runs
every test file under ``pytest -p tileiras_build.cutile.pytest --tile-device cpu`` and leaves RESULTS/SM.xml (JUnit); with
``--files`` it runs those and puts their cases into RESULTS/SM.xml. ``render`` prints the two tables of the results.
``--device strict`` runs them as on a GPU, ``--tile-device gpu``, whose driver is the strict one (tests/strict_driver) and whose
PyTorch is the CPU's with its memory, streams and graphs on that driver (tests/strict_torch); it needs a compiler of C.
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))
VERSIONS = "the front end differs: the suite is newer than the installed cuda-tile"

# Why a case fails that would pass on a machine with CUDA: a pattern of its message, the reason in words, and whether a case
# with it counts as one that could be right here.
OUT, WITHIN = False, True
REASONS = (
    (r"_cuGetProcAddress_v2|_HackKernel", "loads a cubin by a driver of its own", OUT),
    (
        r"1 threads along axis 0, it was compiled for",
        "launches a cubin itself, as those of NVIDIA's tileiras: with one thread a block",
        OUT,
    ),
    (r"primitive 'cutile_call_ffi' not found for platform cpu", "needs JAX on a GPU", OUT),
    (
        r"'@cutile_launch'|_COMPILE_CACHE|host_callbacks",
        "looks at JAX's calls on a GPU, which are others on the CPU",
        OUT,
    ),
    (
        r"Expected one compile|DID NOT RAISE UnsupportedFeature|'NoneType' object has no attribute '_",
        "replaces a part of cuTile that is not called here",
        OUT,
    ),
    (r"fake_benchmark\(\) takes|DebugAttrTable|_annotated_function|'compiler_version'", VERSIONS, OUT),
    (r"requires CUDA support|compiled with(out)? CUDA|dummy base class CUDA", "needs PyTorch with CUDA", OUT),
    (r"CalledProcessError", "wants what NVIDIA's tileiras leaves when it crashes", OUT),
    (r"missing \d+ required positional argument|collection failure|Expected compile\(\) to return", VERSIONS, OUT),
    (r"Regex pattern did not match|DID NOT WARN|TypeCheckingError", VERSIONS, OUT),
    (r"not implemented for '\w+'", "PyTorch has no CPU kernel for the expected value", OUT),
    (r"kernel-out-of-bounds", "reads or writes past its array, within what CUDA would have allocated", WITHIN),
    (r"Timeout|kernel-time-limit", "took longer than the time limit in the emulator", WITHIN),
)
ROUNDS = "compares bit for bit with PyTorch's CPU functions, which round unlike CUDA's"
ENVIRONMENT = {*(reason for _, reason, within in REASONS if not within), ROUNDS}
# Units in the last place: libdevice's functions and PyTorch's on the CPU are off by up to two of them in all.
UNITS = {"f16": 2.0**-10, "bf16": 2.0**-7}
SINGLE_UNIT = 2.0**-23
TIMEOUT = 300  # seconds of one case, and of one launch, unless told


def run(arguments: argparse.Namespace) -> int:
    """Run the suite for one SM; the exit code is pytest's."""
    tests = arguments.cutile / "test"
    files = arguments.files or sorted(path.name for path in tests.glob("test_*.py"))
    environment = os.environ | {
        "PATH": os.pathsep.join([str(folder_with_tileiras(arguments.out).resolve()), os.environ["PATH"]]),
        "PYTHONPATH": str(PROJECT),
    }
    whole = arguments.out / f"{arguments.sm}.xml"
    result = whole.with_suffix(".part") if arguments.files else whole
    options = ["-p", "tileiras_build.cutile.pytest"]
    if arguments.device == "strict":
        environment |= strict_environment(arguments)
        options += [
            "-p",
            "tests.strict_torch.plugin",
            "--tile-device",
            "gpu",
            *["--strict-by-python"] * arguments.by_python,
        ]
    else:
        options += ["--tile-device", "cpu", "--tile-sm", arguments.sm, "--tile-time-limit", str(arguments.timeout)]
    options += ["--tile-keep", str(arguments.keep), "-p", "no:cacheprovider", "-q"]
    options += ["--timeout", str(arguments.timeout), f"--junitxml={result.resolve()}"]
    options += ["-n", str(arguments.processes), "--continue-on-collection-errors"]
    options += [f"--deselect=test/{case}" for case in arguments.left_out]
    command = [sys.executable, "-m", "pytest", *options, *files]
    code = subprocess.run(command, cwd=tests, env=environment, check=False).returncode
    if arguments.files and result.exists():
        replace_cases(whole, result)
    return code


def strict_environment(arguments: argparse.Namespace) -> dict[str, str]:
    """What puts the suite on the strict driver, which is built into RESULTS/driver."""
    from tests.strict_torch.build import build, environment

    driver = arguments.out.resolve() / "driver"
    shutil.rmtree(driver, ignore_errors=True)
    driver.mkdir(parents=True)
    return environment(build(driver), arguments.sm, arguments.out.resolve() / "kept", time_limit=arguments.timeout)


def folder_with_tileiras(out: Path) -> Path:
    """A folder for PATH in which our command is called ``tileiras``: the suite asks the installed one for its version."""
    folder = out / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "tileiras"
    link.unlink(missing_ok=True)
    link.symlink_to(Path(sys.executable).with_name("tileiras-build"))
    return folder


def replace_cases(whole: Path, part: Path) -> None:
    """Put the cases of ``part`` in the place of those of the same test files in ``whole``, if there is one; remove ``part``."""
    if not whole.exists():
        part.replace(whole)
        return
    tree, new = ElementTree.parse(whole), list(ElementTree.parse(part).iter("testcase"))
    rerun = {file_of(case) for case in new}
    for suite in tree.iter("testsuite"):
        for case in [case for case in suite.iter("testcase") if file_of(case) in rerun]:
            suite.remove(case)
    next(tree.iter("testsuite")).extend(new)
    tree.write(part)
    part.replace(whole)


def file_of(case: ElementTree.Element) -> str:
    """The test file of a case, without its suffix."""
    name = (case.get("classname") or case.get("name") or "?").split(".")
    return next((part for part in name if part.startswith("test_")), name[0])


def read_results(path: Path) -> dict[str, collections.Counter]:
    """Test file -> counts by outcome: "passed", "skipped: why" or "failed: why"."""
    counts: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    for case in ElementTree.parse(path).iter("testcase"):
        counts[file_of(case)][outcome_of(case)] += 1
    return counts


def outcome_of(case: ElementTree.Element) -> str:
    """The outcome of one case, with its reason in words."""
    for tag in ("failure", "error"):
        if (element := case.find(tag)) is not None:
            return "failed: " + reason_of(element.get("message") or "", case.get("name") or "")
    if (element := case.find("skipped")) is not None:
        return "skipped: " + (element.get("message") or "no reason given").strip().splitlines()[0]
    return "passed"


def reason_of(text: str, name: str) -> str:
    """The first reason whose pattern occurs in the message of the case ``name``; the message itself where none does."""
    if is_rounding(text, name):
        return ROUNDS
    for pattern, reason, _ in REASONS:
        if re.search(pattern, text):
            return reason
    return next((line.strip() for line in text.splitlines() if line.strip()), "no message")[:160]


def is_rounding(text: str, name: str) -> bool:
    """Whether values that should be equal differ by no more than two units in the last place."""
    found = re.search(r"Tensor-likes are not equal!.*Greatest relative difference: ([\d.e+-]+) at", text, re.S)
    if found is None:
        return False
    unit = next((UNITS[word] for word in re.findall(r"\w+", name) if word in UNITS), SINGLE_UNIT)
    return float(found[1]) <= 2 * unit


DEVICES = ("cpu", "strict")
Results = dict[str, dict[str, collections.Counter]]  # SM -> test file -> counts by outcome


def render(arguments: argparse.Namespace) -> int:
    """Print the section."""
    results = {path.stem: read_results(path) for path in sorted(arguments.out.glob("sm_*.xml"), key=number_of)}
    if arguments.keep:
        where = f" for {', '.join(arguments.kept_for)}" if arguments.kept_for else ""
        print(f"The first {arguments.keep} parametrizations of each test ran{where}.")
    for case in arguments.left_out:
        print(f"`{case}` was left out.")
    print("", *totals(results), "", *reasons(results), sep="\n")
    return 0


def number_of(path: Path) -> int:
    return int(path.stem.removeprefix("sm_"))


def totals(results: Results) -> Iterator[str]:
    """A table of how many cases pass, fail, are out of reach and are skipped on each SM."""
    yield "| cases | " + " | ".join(results) + " |"
    yield "|---|" + "---|" * len(results)
    counts = [split(sum(files.values(), collections.Counter())) for files in results.values()]
    for name, row in zip(
        ("pass", "fail, within reach", "out of reach", "skipped"), zip(*counts, strict=True), strict=True
    ):
        yield f"| {name} | {' | '.join(map(str, row))} |"


def split(counts: collections.Counter) -> tuple[int, int, int, int]:
    """(passed, failed, out of reach, skipped)."""
    failed = sum(number for outcome, number in counts.items() if outcome.startswith("failed: "))
    skipped = sum(number for outcome, number in counts.items() if outcome.startswith("skipped: "))
    out_of_reach = sum(counts[f"failed: {reason}"] for reason in ENVIRONMENT)
    return counts["passed"], failed - out_of_reach, out_of_reach, skipped


def reasons(results: Results) -> Iterator[str]:
    """A table of every reason of a failed or skipped case: how many on each SM, and in which test files."""
    yield "| outcome | " + " | ".join(results) + " | test files |"
    yield "|---|" + "---|" * (len(results) + 1)
    outcomes = {outcome for files in results.values() for counts in files.values() for outcome in counts} - {"passed"}
    for outcome in sorted(outcomes):
        counts = [sum(counts[outcome] for counts in files.values()) for files in results.values()]
        named = {file.removeprefix("test_") for files in results.values() for file in files if files[file][outcome]}
        yield f"| {outcome.replace('|', '/')} | {' | '.join(map(str, counts))} | {', '.join(sorted(named))} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    runner = commands.add_parser("run")
    runner.add_argument("--cutile", type=Path, required=True)
    runner.add_argument("--sm", default="sm_90")
    what = "the emulator, or a GPU that it is behind"
    runner.add_argument("--device", choices=DEVICES, default=DEVICES[0], help=what)
    what = "with --device strict: launch by the functions in Python, not by cuTile's launcher"
    runner.add_argument("--by-python", action="store_true", help=what)
    runner.add_argument("--processes", type=int, default=2)
    runner.add_argument("--timeout", type=float, default=TIMEOUT, metavar="SECONDS", help="of a case, and of a launch")
    runner.add_argument("--files", nargs="+", metavar="FILE", help="these test files only, into earlier results")
    runner.set_defaults(call=run)
    renderer = commands.add_parser("render")
    renderer.add_argument("--kept-for", nargs="*", default=(), help="SMs that --keep holds for (default: all)")
    renderer.set_defaults(call=render)
    for sub in (runner, renderer):
        sub.add_argument("--out", type=Path, required=True)
        what = "cases that are not run, such as test_list.py::test_add_list_of_int64_index_arrays, which needs 21 GiB"
        sub.add_argument("--left-out", nargs="*", default=(), metavar="CASE", help=what)
        sub.add_argument("--keep", type=int, default=0, help="first parametrizations of each test (0: all)")
    arguments = parser.parse_args()
    return arguments.call(arguments)


if __name__ == "__main__":
    sys.exit(main())
