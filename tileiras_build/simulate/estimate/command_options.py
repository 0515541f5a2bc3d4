"""Command-line options of ``tileiras-build estimate``. Importing this module does not import the model."""

from __future__ import annotations

import argparse


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive integer, got {text!r}")
    return int(text)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to ``parser``."""
    parser.add_argument(
        "file", metavar="K.cubin", help="cubin (its launch manifest is the .json of the same name, if present)"
    )
    parser.add_argument("--kernel", metavar="NAME", help="kernel name, if the cubin has several")
    what = "array shape (a=4096x4096), of integers with their elements (sizes=8:30,34), or scalar value (n=4096); without a manifest by position: 0=@BYTES, 1=N; repeatable"
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="NAME=VALUE", help=what)
    parser.add_argument(
        "--grid",
        required=True,
        metavar="X[,Y,Z]",
        help="grid in CTAs (persistent: in tile blocks with a manifest, else launched CTAs)",
    )
    parser.add_argument("--gpu", metavar="NAME", help="the GPU, such as h100, h200, b200, rtxpro6000, rtx5090 (default: one for "
                        "each target; target/gpu_models.py lists them)")  # fmt: skip
    parser.add_argument("--clock", type=_positive, metavar="MHZ", help="SM clock, if it is locked")
    parser.add_argument(
        "--power", type=_positive, metavar="WATTS", help="power limit of the board, if it is not the GPU's own"
    )
    parser.add_argument("--block", metavar="X[,Y,Z]", help="threads per CTA, if neither manifest nor cubin gives it")
    parser.add_argument("--trips", action="append", default=[], metavar="ADDRESS=N", help="trip count of a loop with a "
                        "data-dependent exit; repeatable")  # fmt: skip
    parser.add_argument(
        "--against", metavar="OTHER.cubin", help="cubin of the same kernel from another compiler, to compare with"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
