"""``tileiras-build dis FILE [-g]``: print the textual form of Tile IR bytecode."""

from __future__ import annotations

import argparse

from ..core.file_io import read_file


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``dis``."""
    parser.add_argument("file", metavar="FILE.tilebc", help="Tile IR bytecode")
    parser.add_argument("-g", dest="locations", action="store_true", help="print source locations")


def run(options: argparse.Namespace) -> None:
    """Print the module in the public dialect's textual form."""
    from ..ir.bytecode import disassemble

    text = disassemble(read_file(options.file), locations=options.locations, name=options.file)
    print(text.rstrip("\n"))
