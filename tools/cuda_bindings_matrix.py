"""Run the launch tests with every supported version of cuda-bindings; exit status 1 if one fails.

    python tools/cuda_bindings_matrix.py [--versions 12.9.* 13.0.*] [--folder FOLDER] [tests ...]

Each version is installed into a folder of its own (FOLDER/VERSION, kept where FOLDER is given) and put before the
installed one on Python's path, for the tests and for every program that they start.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DISTRIBUTION = "cuda-bindings"
VERSIONS = ("12.9.0", "12.9.*", "13.0.*", "13.1.*", "<14")  # the oldest, the newest of some, the newest of all
TESTS = ("tests/runtime", "tests/strict_driver")


def requirement(version: str) -> str:
    """What pip is asked for: a version, all versions of one line (``13.0.*``), or a bound (``<14``)."""
    return f"{DISTRIBUTION}{version if version[0] in '<>=' else f'=={version}'}"


def install(version: str, folder: Path) -> Path:
    """The folder that holds a version; raises CalledProcessError where pip has none such."""
    target = folder / version.strip("<>=").replace("*", "x")
    if not (target / "cuda").is_dir():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target)]
        subprocess.run([*command, requirement(version)], check=True)
    return target


def path_with(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which Python imports from ``folder`` first."""
    found = [str(folder), *filter(None, [environment.get("PYTHONPATH")])]
    return {**environment, "PYTHONPATH": os.pathsep.join(found)}


def installed_version(environment: Mapping[str, str]) -> str:
    """What ``cuda.bindings`` is in this environment."""
    command = [sys.executable, "-c", "import cuda.bindings; print(cuda.bindings.__version__)"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def run_tests(tests: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether pytest is content."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", *tests]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def main(words: Sequence[str] | None = None) -> int:
    options = _options(words)
    with tempfile.TemporaryDirectory(prefix="bindings-") as scratch:
        rows = [_try(version, options.folder or Path(scratch), options.tests) for version in options.versions]
    print("\n".join(f"{DISTRIBUTION} {version:10} {'passes' if right else 'FAILS'}" for version, right in rows))
    return int(not all(right for _, right in rows))


def _try(version: str, folder: Path, tests: Sequence[str]) -> tuple[str, bool]:
    environment = path_with(install(version, folder), os.environ)
    return installed_version(environment), run_tests(tests, environment)


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", default=list(TESTS), help="what pytest runs (default: what launches)")
    parser.add_argument("--versions", nargs="+", default=list(VERSIONS), metavar="VERSION")
    parser.add_argument("--folder", type=Path, help="where versions are installed, and found the next time")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
