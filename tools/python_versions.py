"""Run the quick tests under every supported Python that is installed; exit status 1 if one fails.

    python tools/python_versions.py [--folder FOLDER] [--find FOLDER ...] [-- pytest's arguments]

The versions are those of ``pyproject.toml``. An interpreter is looked for on PATH (``python3.12``), below the folders of --find,
and among those of pyenv. For each there is a virtual environment with the project and its ``dev`` extra in FOLDER (default:
build/interpreters), which is kept. Warnings of Python that something will not work in later versions are errors of the tests.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_CLASSIFIER = re.compile(r"Programming Language :: Python :: (3\.\d+)$")
# A fork of a process with threads may never come back: workers/executor/forked_executor.py.
WARNINGS = ("-W", "error:.*multi-threaded, use of fork:DeprecationWarning")
TESTS = ("-n", "2", "-m", "quick")


def declared() -> list[str]:
    """The versions of Python that the project says it is for, such as "3.11"."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [found[1] for line in project["classifiers"] if (found := _CLASSIFIER.match(line))]


def find(version: str, folders: Iterable[Path]) -> Path | None:
    """The newest interpreter of a version; None where there is none."""
    name = f"python{version}"
    below = [path for folder in folders for path in folder.glob(f"{version}*/bin/{name}")]
    on_path = shutil.which(name)
    candidates = [*sorted(below, key=_version, reverse=True), *([Path(on_path)] if on_path else [])]
    return next((path for path in candidates if _runs(path, version)), None)


def _version(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.parts[-3])]


def _runs(path: Path, version: str) -> bool:
    """Whether it is what its name says: a shim may stand for a version that is not installed."""
    command = [str(path), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


def environment(interpreter: Path, folder: Path) -> Path:
    """The Python of an environment in ``folder`` that has the project; raises CalledProcessError where it cannot be installed."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([str(interpreter), "-m", "venv", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-e", f"{ROOT}[dev]"], check=True)
    return python


def outcome(version: str, interpreter: Path | None, folder: Path, tests: Sequence[str]) -> tuple[str, bool]:
    """The report line of a version, and whether it is as expected."""
    if interpreter is None:
        return "not on this machine", True
    try:
        python = environment(interpreter, folder / version)
    except subprocess.CalledProcessError as error:
        return f"cannot be installed (exit status {error.returncode})", False
    # Programs that tests start are looked for on PATH: those of this environment.
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(python), "-m", "pytest", *WARNINGS, *tests]
    done = subprocess.run(
        command, cwd=ROOT, env=kept | {"PATH": path, "VIRTUAL_ENV": str(folder / version)}, check=False
    )
    return ("passes" if done.returncode == 0 else f"fails (exit status {done.returncode})"), done.returncode == 0


def main(words: Sequence[str] | None = None) -> int:
    options = _options(words)
    rows = []
    for version in declared():
        interpreter = find(version, options.find)
        rows.append((version, interpreter, *outcome(version, interpreter, options.folder, options.tests or TESTS)))
    for version, interpreter, said, _ in rows:
        print(f"{version:5}  {said:30}  {interpreter or ''}")
    return 0 if all(good for *_, good in rows) else 1


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/interpreters")
    parser.add_argument("--find", type=Path, nargs="+", default=[Path.home() / ".pyenv/versions"])
    parser.add_argument("tests", nargs="*", help="arguments of pytest, instead of the quick tests")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
