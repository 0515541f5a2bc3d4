"""What NVIDIA's wheels install, found without looking for toolkits, which takes longer than to compile a small kernel."""

from __future__ import annotations

import os
from importlib.machinery import PathFinder
from pathlib import Path


def find_in_wheels(path: str) -> Path | None:
    """The file ``path`` of the folder ``nvidia`` beside Python's packages; None where no wheel has it."""
    package = PathFinder.find_spec("nvidia")
    for folder in (package and package.submodule_search_locations) or ():
        if os.path.isfile(found := os.path.join(folder, path)):
            return Path(os.path.realpath(found))
    return None
