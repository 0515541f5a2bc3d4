"""``tileiras-build init [NAME]``: create a project of one kernel with its reference, a helper and tests."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``init``."""
    what = "project folder (default: current folder)"
    parser.add_argument("folder", metavar="NAME", nargs="?", default=".", help=what)
    kind = parser.add_mutually_exclusive_group()
    for name, what in (("cutile", "kernels in cuTile Python (default)"), ("tilecpp", "kernels in CUDA Tile C++")):
        kind.add_argument(f"--{name}", dest="kind", action="store_const", const=name, help=what)


def run(options: argparse.Namespace) -> None:
    """Write the files of the project and print their paths."""
    from ..build.project_template.write_project import CUTILE, write_project

    for path in write_project(Path(options.folder), options.kind or CUTILE):
        print(path)
    change_folder = "" if options.folder == "." else f"cd {options.folder} && "
    print(f"next: {change_folder}scons sm=80,90 verify package (see README.md)")
