"""A wheel of this checkout, installed into a folder that nothing else is in: once for all tests of a session."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.compiled_once import once, shared_folder

ROOT = Path(__file__).resolve().parents[1]


def installed_package() -> Path:
    """The folder that holds the package; needs setuptools."""
    return once(("wheel",), _installed)


def run(command: list, folder: Path, installed: Path) -> str:
    """What a command prints, run where only the installed package can be found."""
    environment = os.environ | {"PYTHONPATH": str(installed)}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr}"
    return done.stdout


def _installed() -> Path:
    folder = shared_folder()
    source = folder / "source"
    ignored = shutil.ignore_patterns("*.egg-info", "__pycache__")
    shutil.copytree(ROOT / "tileiras_build", source / "tileiras_build", ignore=ignored)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, source], folder, folder)
    (wheel,) = folder.glob("*.whl")
    run([*pip, "install", "--no-deps", "--target", folder / "site", wheel], folder, folder)
    return folder / "site"
