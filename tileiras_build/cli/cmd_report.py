"""``tileiras-build report DIR``: registers, shared memory and spills of built kernels (``reports/report_command.py``)."""

from __future__ import annotations

import argparse

from .command_options import add_estimated_launch


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``report``."""
    parser.add_argument("folder", metavar="DIR", help="build folder with .cubin files and their .json manifests")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--html", metavar="PAGE", help="write an HTML report (with the build timeline)")
    form.add_argument("--json", action="store_true", help="print JSON (sizes in bytes)")
    form.add_argument("--csv", action="store_true", help="print CSV")
    what = "with --html: write one page per kernel, in a folder next to PAGE"
    parser.add_argument("--pages", action="store_true", help=what)
    what = "with --html: label this build for later comparison"
    parser.add_argument("--label", "--keep", dest="label", metavar="NAME", help=what)
    what = "compare with a saved --json report, or with a build labelled by --label"
    parser.add_argument("--against", metavar="BASELINE", help=what)
    what = "estimate run times for the launches that `scons verify` ran"
    parser.add_argument("--estimate", action="store_true", help=what)
    add_estimated_launch(parser)


def run(options: argparse.Namespace) -> None:
    """Write or print the report."""
    from ..reports import report_command

    report_command.run(options)
