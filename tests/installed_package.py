"""A wheel of this checkout, installed into a folder that nothing else is in: once for all tests of a session."""

import os
import subprocess
import sys
from pathlib import Path

from tests.compiled_once import once, shared_folder
from tests.fresh_environment import wheel


def installed_package() -> Path:
    """The folder that holds the package; needs setuptools."""
    return once(("installed",), _installed)


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
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run([*pip, "install", "--no-deps", "--target", folder / "site", wheel()], folder, folder)
    return folder / "site"
