"""The releases of cuda-tile for tests: the installed one, and unpacked ones.

TILEIRAS_CUTILE_RELEASES names a folder with a folder for each: ``1.3.0/cuda/tile/…`` beside ``1.3.0/cuda_tile-1.3.0.dist-info``
(docs/testing.md). The installed one is called "installed".
"""

from __future__ import annotations

import os
from pathlib import Path

from tileiras_build.cutile.cuda_tile_versions import CUDA_TILE_RELEASES

INSTALLED = "installed"
_FOLDER = os.environ.get("TILEIRAS_CUTILE_RELEASES")


def found() -> dict[str, Path | None]:
    """Where each release lies by its name; None of the installed one."""
    folders = sorted(Path(_FOLDER).glob("*/cuda/tile")) if _FOLDER else []
    return {INSTALLED: None} | {folder.parents[1].name: folder.parents[1] for folder in folders}


def names() -> list[str]:
    """What tests are parametrized with: rows of VERSIONS that are not there are skipped."""
    there = found()
    rows = [row.release for row in CUDA_TILE_RELEASES]
    absent = [release for release in rows if not any(name.startswith(f"{release}.") for name in there)]
    return [*there, *absent]
