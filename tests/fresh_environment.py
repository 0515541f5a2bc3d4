"""Fresh virtual environments for what is installed: our wheels, and of the libraries what they say they need.

Wheels are built once for all processes of a session. Nothing is downloaded: the files of the libraries that a wheel asks
for, and of those that they ask for, are linked from the environment that the tests run in.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest

from tests.compiled_once import once, shared_folder

ROOT = Path(__file__).resolve().parents[1]
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]
# What a source tree has of the checkout to build a wheel from.
SOURCES = ("pyproject.toml", "setup.py", "LICENSE", "PYPI.md", "tileiras_build", "runtime_wheel")
_GENERATED = shutil.ignore_patterns("*.egg-info", "__pycache__")


def run(command: Sequence, folder: Path, **variables: str) -> str:
    """What a command prints; it must succeed. No variable of the tests' own Python reaches it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    words = list(map(str, command))
    done = subprocess.run(
        words, cwd=folder, env=kept | variables, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout


def _ignored(folder: str, names: list[str]) -> set[str]:
    """What Python and setuptools have left in ``folder``: compiled modules, and ``build`` where it is no package of ours."""
    left_by_setuptools = "build" in names and not Path(folder, "build", "__init__.py").exists()
    return _GENERATED(folder, names) | ({"build"} if left_by_setuptools else set())


def wheel(project: str = ".") -> Path:
    """The wheel of the checkout (".") or of a folder in it."""
    pytest.importorskip("setuptools", reason="no setuptools to build a wheel with")
    return once(("wheel", project), lambda: _built(project))


def _built(project: str) -> Path:
    folder = shared_folder()
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=_ignored)
        else:
            (source / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    run([*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, source / project], folder)
    (made,) = folder.glob("*.whl")
    return made


@dataclass
class Environment:
    """A virtual environment with ``wheels``, what they need, and the ``libraries``, which are named besides."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        (found,) = (self.folder / "lib").glob("python*/site-packages")
        return found

    def run(self, command: Sequence, folder: Path, **variables: str) -> str:
        """What a command prints that finds the environment's programs first."""
        path = f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"
        return run(command, folder, VIRTUAL_ENV=str(self.folder), PATH=path, **variables)


def shared(projects: Sequence[str], libraries: Sequence[str] = ()) -> Environment:
    """An environment with the wheels of ``projects``, made once for all processes of a session: tests only look at it."""
    make_it = lambda: make(shared_folder() / "venv", map(wheel, projects), libraries)
    return once(("environment", *projects, *libraries), make_it)


def make(folder: Path, wheels: Iterable[Path], libraries: Iterable[str] = ()) -> Environment:
    """A new environment in ``folder``."""
    venv.create(folder, with_pip=False, symlinks=True)
    made = Environment(folder)
    # Each module is compiled when it is imported, by whoever does so first: most never are.
    run([*PIP, "--python", made.python, "install", "--no-compile", "--no-deps", "--no-index", *wheels], folder)
    found = {found.name.lower(): found for found in metadata.distributions(path=[str(made.site)])}
    needed = [one for distribution in found.values() for one in _needs(distribution)]
    for name in _closure([*needed, *libraries], known=found):
        _link(metadata.distribution(name), made.site)
        _write_programs(metadata.distribution(name), made.python)
    return made


def _needs(distribution: metadata.Distribution) -> Iterator[str]:
    """The names of what a distribution needs, without extras, on this machine."""
    from packaging.requirements import Requirement

    for line in distribution.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield requirement.name


def _closure(names: Iterable[str], known: Iterable[str]) -> list[str]:
    waiting, found = list(names), dict.fromkeys(known)
    ours = len(found)
    while waiting:
        name = waiting.pop().lower()
        if name not in found:
            found[name] = None
            waiting += _needs(metadata.distribution(name))
    return list(found)[ours:]


def _link(distribution: metadata.Distribution, site: Path) -> None:
    """The files of a distribution's packages, each a link, those that Python has compiled included."""
    for file in distribution.files or ():
        if ".." in file.parts or not Path(file.locate()).exists():
            continue
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        if not (site / file).exists():
            (site / file).symlink_to(file.locate())


def _write_programs(distribution: metadata.Distribution, python: Path) -> None:
    """As an installer writes them, for this environment's Python."""
    for entry in distribution.entry_points.select(group="console_scripts"):
        program = python.parent / entry.name
        program.write_text(
            f"#!{python}\nimport sys\nfrom {entry.module} import {entry.attr}\nsys.exit({entry.attr}())\n"
        )
        program.chmod(0o755)
