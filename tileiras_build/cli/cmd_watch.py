"""``tileiras-build watch``: rebuild on save and show what changed (``build/watch/watch_session.py``)."""

from __future__ import annotations

import argparse

from .command_options import add_estimated_launch


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``watch``."""
    what = "arguments for scons: targets and options such as sm=sm_90; after -- also its own flags, such as -j2"
    parser.add_argument("words_of_scons", metavar="WORD", nargs="*", default=[], help=what)
    what = "project folder (default: current folder)"
    parser.add_argument("-C", dest="directory", metavar="DIR", default=".", help=what)
    add_estimated_launch(parser)


def run(options: argparse.Namespace) -> int | None:
    """Watch the project until interrupted."""
    from ..build.watch.watch_session import watch_project

    return watch_project(options)
