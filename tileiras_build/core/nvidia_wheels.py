"""Files of NVIDIA's wheels, found without a search for toolkits, which takes longer than compiling a small kernel."""

from __future__ import annotations

import os
from importlib.machinery import PathFinder
from pathlib import Path


def find_in_wheels(path: str) -> Path | None:
    """The file ``path`` in the folder ``nvidia`` of site-packages; None if no wheel has it."""
    package = PathFinder.find_spec("nvidia")
    for folder in (package and package.submodule_search_locations) or ():
        if os.path.isfile(found := os.path.join(folder, path)):
            return Path(os.path.realpath(found))
    return None
