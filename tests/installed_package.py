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
    options = ["--no-compile", "--no-deps", "--target", folder / "site"]
    run([*fresh_environment.PIP, "install", *options, fresh_environment.wheel()], folder, folder)
    return folder / "site"
