"""The build backend of the runtime wheel: setuptools, after copying modules from the compiler's package.

The modules' source is ``tileiras_build/`` next to this folder. The wheel has copies of them in its own package, so that it
shares no file with the compiler's wheel and either can be installed, upgraded and removed separately. A source distribution
contains the copies, and is built from them.

Editable installs are not supported: a checkout has the compiler's package, which the runtime then uses.
"""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

from setuptools import build_meta

__all__ = [
    "build_sdist", "build_wheel", "get_requires_for_build_sdist", "get_requires_for_build_wheel",
    "prepare_metadata_for_build_wheel",
]  # fmt: skip
HERE = Path(__file__).resolve().parent
CHECKOUT, PACKAGE = HERE.parent, HERE / "src" / "tileiras_build_runtime"


def copy_modules() -> None:
    """Copy the compiler's modules and the license into this folder, if it is in a checkout."""
    source = CHECKOUT / "tileiras_build"
    if not source.is_dir():
        return
    settings = tomllib.loads((HERE / "pyproject.toml").read_text())["tool"]["tileiras-build-runtime"]
    for name in settings["modules"]:
        _copy(source / name, PACKAGE / name)
    _copy(CHECKOUT / "LICENSE", HERE / "LICENSE")


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def get_requires_for_build_wheel(config_settings=None):
    """The setuptools hook, which reads the version from the copied modules; it is the first hook that is called."""
    copy_modules()
    return build_meta.get_requires_for_build_wheel(config_settings)


def get_requires_for_build_sdist(config_settings=None):
    """The setuptools hook."""
    copy_modules()
    return build_meta.get_requires_for_build_sdist(config_settings)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """The setuptools hook."""
    copy_modules()
    return build_meta.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """The setuptools hook."""
    copy_modules()
    return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    """The setuptools hook."""
    copy_modules()
    return build_meta.build_sdist(sdist_directory, config_settings)
