"""``tileiras-build opt FILE.mlir --pass PASS ...``: run named passes on MLIR text (``pipeline/opt.py``)."""

from __future__ import annotations

import argparse

from .command_options import add_compute_capability, add_opt_level, add_target


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``opt``."""
    parser.add_argument("file", metavar="FILE.mlir", help="MLIR text; - is standard input")
    what = "pass to run; repeatable, in order"
    parser.add_argument("--pass", dest="passes", action="append", default=[], metavar="PASS", help=what)
    what = "print LLVM IR, lowering the remaining func, cf, scf, arith, vector and memref ops first"
    parser.add_argument("--ll", action="store_true", help=what)
    what = "bitwidth of the index type: 32 or 64 (default: 64)"
    parser.add_argument("--index-bitwidth", type=int, choices=(32, 64), default=64, metavar="N", help=what)
    add_target(parser)
    add_compute_capability(parser)
    add_opt_level(parser)
    what = "emit line information for profilers and debuggers (like nvcc -lineinfo)"
    parser.add_argument("--lineinfo", action="store_true", help=what)
    what = "emit full debug information (like nvcc -G); requires --opt 0"
    parser.add_argument("--device-debug", action="store_true", help=what)


def run(options: argparse.Namespace) -> None:
    """Run the passes and print the result."""
    from ..pipeline.opt import run_file

    run_file(options)
