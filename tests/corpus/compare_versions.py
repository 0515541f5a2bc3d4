"""Compare the .tileaa of the files of one folder with those of the same names in another: the same kernels in two
versions of the bytecode.

    python tests/corpus/compare_versions.py OLDER NEWER [--sm 90] [--show N]

Source positions do not count. Prints how many files give equal text, and a diff for the first N that do not. Exits
with 1 if any differs. Not collected by pytest: the files are not part of the project.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

from tileiras_build.ir.bytecode import read_module
from tileiras_build.ir.dialects.cuda_tile.location import LOC
from tileiras_build.pipeline import tilebc_to_tileaa
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.pass_manager import run_passes
from tileiras_build.target.targets import TARGETS


def lowered(path: Path, target: str) -> list[str]:
    """The lines of the .tileaa of a file, without positions."""
    module = run_passes(tilebc_to_tileaa.PASSES, read_module(path.read_bytes(), str(path)), Job(TARGETS[target]))
    for op in module.walk():
        op.attributes.pop(LOC, None)
    return str(module).splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("older", type=Path)
    parser.add_argument("newer", type=Path)
    parser.add_argument("--sm", default="90")
    parser.add_argument("--show", type=int, default=3, help="how many differences to print")
    options = parser.parse_args()
    names = sorted(path.name for path in options.older.glob("*.tilebc") if (options.newer / path.name).exists())
    different = 0
    for name in names:
        older, newer = (lowered(folder / name, f"sm_{options.sm}") for folder in (options.older, options.newer))
        different += older != newer
        if older != newer and different <= options.show:
            print("\n".join(difflib.unified_diff(older, newer, f"{name} (older)", f"{name} (newer)", lineterm="", n=0)))
    print(f"{len(names) - different} of {len(names)} files give equal .tileaa")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
