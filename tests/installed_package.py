"""A wheel of this checkout, installed into a folder that nothing else is in: once for all tests of a session."""

from pathlib import Path

from tests import fresh_environment
from tests.compiled_once import once, shared_folder


def installed_package() -> Path:
    """The folder that holds the package; needs setuptools."""
    return once(("installed",), _installed)


def run(command: list, folder: Path, installed: Path) -> str:
    """What a command prints, run where only the installed package can be found."""
    return fresh_environment.run(command, folder, PYTHONPATH=str(installed))


def _installed() -> Path:
    folder = shared_folder()
    command = [*fresh_environment.PIP, "install", "--no-deps", "--target", folder / "site", fresh_environment.wheel()]
    run(command, folder, folder)
    return folder / "site"
