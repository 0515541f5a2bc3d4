"""A copy of the package, for tests that change its code."""

import shutil
from pathlib import Path

import tileiras_build

PACKAGE = Path(tileiras_build.__file__).parent
_COMPILED = "__pycache__"


def copy_package(folder: Path) -> Path:
    """``folder`` becomes the package. Its compiled modules are newer than all sources, so that Python takes them
    (``core/tracing/pyc_staleness.py``) and compiles no more than what a test changes."""
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns(_COMPILED))
    for compiled in PACKAGE.rglob(_COMPILED):
        shutil.copytree(compiled, folder / compiled.relative_to(PACKAGE))
    return folder
