"""``tileiras-build tune FILE [--sm SM]``: choose among the points of a kernel's space by the model or a GPU, and write the choices beside the file."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from ..core.errors import InvalidInput, Location, suggest
from ..core.file_io import read_file
from .command_options import DEFAULT_TARGET, add_json, add_opt_level, add_tuning, tuning_of

_SHOWN = 5  # points of a kernel
_BY_MODEL = "tileiras_build.tuning.tune_kernels:tune_kernels"
_BY_GPU = "tileiras_build.tuning.time_on_gpu:tune_on_gpu"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``tune``."""
    parser.add_argument("file", metavar="FILE", help="a Python file (cuTile) with cases that have tune=Tune({...})")
    what = f"comma-separated targets or GPUs (default: {DEFAULT_TARGET})"
    parser.add_argument("--sm", metavar="SM", default=DEFAULT_TARGET, help=what)
    parser.add_argument("--kernel", action="append", metavar="NAME", help="only this kernel; repeatable (default: all)")
    parser.add_argument(
        "--gpu", action="store_true", help="time the points on this machine's GPU, which --sm must name"
    )
    parser.add_argument("-n", "--dry-run", action="store_true", help="print the ranking, and write no choices")
    add_opt_level(parser)
    add_tuning(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    """Rank the points of each kernel for each target, and keep the best."""
    from ..target.isa.serializer_options import read_level
    from ..target.targets import parse_targets
    from ..tuning.tune_kernels import COLUMNS, GPU, HOW, MODEL, keep, ranking, table_row
    from ..workers.executor.forked_executor import ForkedExecutor

    read_file(options.file)
    _check_kernels(options)
    compiled_with: dict[str, Any] = {"opt_level": read_level(options.opt)} | tuning_of(options)
    results: list[dict[str, Any]] = []
    for target in parse_targets(options.sm):
        arguments = (options.file, target.name, options.kernel, compiled_with)
        results += ForkedExecutor().run(_BY_GPU if options.gpu else _BY_MODEL, *arguments)
    told = [] if options.dry_run else keep(options.file, results)
    if options.json:
        print(json.dumps(results, indent=2))
        return
    from ..core.terminal import print_table

    print_table(COLUMNS, [table_row(row) for row in results], sys.stdout)
    for row in results:
        print(f"\n{row['kernel']} on {row['target']}:", *ranking(row, _SHOWN), sep="\n")
    print("", *told, f"times are {HOW[GPU if options.gpu else MODEL]}", sep="\n")


def _check_kernels(options: argparse.Namespace) -> None:
    """Raise InvalidInput[tune-space] where a requested case, or every case, has no space."""
    from ..frontend.export_cutile import load_cases

    known = {case.name: case.tune is not None for case in load_cases(options.file)}
    tuned = [name for name, has_space in known.items() if has_space]
    for name in options.kernel or ():
        if name not in tuned:
            what = "has no space to tune" if name in known else "does not exist"
            raise _error(
                options.file, f"case {name!r} {what}", suggest(name, tuned) if tuned else "give it tune=Tune({...})"
            )
    if not tuned:
        raise _error(options.file, "no case has a space to tune", "give one tune=Tune({...})")


def _error(file: str, found: str, remedy: str) -> InvalidInput:
    return InvalidInput("tune-space", found, location=Location(file), remedy=remedy)
