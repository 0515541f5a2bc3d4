"""The options of ``tileiras-build estimate``; the model itself is imported when it is asked."""

from __future__ import annotations

import argparse


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "file", metavar="K.cubin", help="a cubin; its manifest is the .json of its name, if there is one"
    )
    parser.add_argument("--kernel", metavar="NAME", help="which one, where there are several")
    what = "an array's lengths (a=4096x4096), a parameter or a number; without a manifest by place: 0=@BYTES, 1=N"
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="NAME=VALUE", help=what)
    parser.add_argument(
        "--grid", required=True, metavar="X[,Y,Z]", help="blocks (of a persistent kernel those launched)"
    )
    parser.add_argument("--block", metavar="X[,Y,Z]", help="threads, where neither manifest nor cubin says")
    parser.add_argument("--trips", action="append", default=[], metavar="ADDRESS=N", help="how often a jump back is taken "
                        "whose condition is in memory")  # fmt: skip
    parser.add_argument("--against", metavar="OTHER.cubin", help="another compiler's cubin of the same kernel")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
