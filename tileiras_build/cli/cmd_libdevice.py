"""``tileiras-build libdevice FILE``: list the libdevice functions that a kernel links, or write them into its .ll."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..core.file_io import read_file, write_files
from .command_options import LIBDEVICE_HELP, add_target


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``libdevice``."""
    parser.add_argument("file", metavar="FILE", help="bytecode, or a file of any stage up to .ll")
    add_target(parser)
    parser.add_argument("--libdevice", metavar="PATH", help=LIBDEVICE_HELP)
    parser.add_argument("--pin", metavar="OUT.ll", help="write a self-contained .ll with libdevice linked in")


def run(options: argparse.Namespace) -> None:
    """Print the functions with their dependencies; ``--pin`` writes the self-contained .ll."""
    from ..driver import lower
    from ..libdevice.resolve_linked_library import with_blob_note
    from ..pipeline.job import Job
    from ..pipeline.stages import stage_of_file
    from ..pipeline.text_encoding import decode
    from ..target.targets import find_target
    from ..workers.executor.forked_executor import ForkedExecutor

    source, target = stage_of_file(options.file), find_target(options.sm)
    data = read_file(options.file)
    if source.name != "ll":
        data = lower(data, source.name, "ll", Job(target), name=options.file)[".ll"]
    arguments = decode(data, options.file), options.libdevice, target.number
    print(ForkedExecutor().run("tileiras_build.reports.linked_libdevice:linked_table", *arguments))
    if options.pin:
        write_files({Path(options.pin): with_blob_note(data.decode(), options.libdevice).encode()})
