"""``tileiras-build verify FILE --sm SM``: compare compiled kernels (PTX emulator) with the reference interpreter."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..core.errors import Diagnostics, InternalError, InvalidInput, TileirasError, suggest
from .cmd_export import KERNEL_FILE, bytecode_of_file
from .command_options import (
    add_json,
    add_kernel_inputs,
    add_nvcc,
    add_opt_level,
    add_schedule,
    add_tuning,
    schedule_of,
    tuning_of,
)
from .kernel_and_inputs import make_inputs, read_kernels

if TYPE_CHECKING:
    from ..target.targets import Target


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``verify``."""
    add_kernel_inputs(parser, "FILE", KERNEL_FILE)
    parser.add_argument(
        "--sm", required=True, metavar="SM", help="comma-separated targets whose code is emulated, or all"
    )
    add_tuning(parser)
    add_schedule(parser)
    what = "suppress one finding about behavior that the PTX ISA leaves unspecified (docs/emulator.md); repeatable"
    parser.add_argument("--silence", action="append", default=[], metavar="FINDING", help=what)
    add_opt_level(parser)
    add_nvcc(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    """Compare each kernel on the same inputs. Raises InternalError[verify-mismatch]: with ``--json`` for all, else the first."""
    from ..target.targets import parse_targets

    rows = []
    for row in (row for target in parse_targets(options.sm) for row in _compare_file(options, target)):
        rows.append(row)
        if row["agrees"] and not options.json:
            what = "1 array matches" if row["arrays"] == 1 else f"{row['arrays']} arrays match"
            print(f"{row['kernel']} ({row['target']}, grid {tuple(row['grid'])}): {what}")
        elif not options.json:
            raise _mismatch(row)
    if options.json:
        print(json.dumps(rows, indent=2))
    mismatches = Diagnostics()
    for row in rows:
        if not row["agrees"]:
            mismatches.add(_mismatch(row))
    mismatches.raise_if_any()


def _compare_file(options: argparse.Namespace, target: Target) -> Iterator[dict[str, Any]]:
    options.kernel = [options.entry] if options.entry else None
    for data in bytecode_of_file(options, target).values():
        yield from _compare_kernels(options, data, target.name)


def _compare_kernels(options: argparse.Namespace, bytecode: bytes, target: str) -> Iterator[dict[str, Any]]:
    """One JSON object per kernel: its grid, the number of its arrays, and where they differ."""
    from ..driver import compile
    from ..pipeline.schedule.schedule_file import with_file_name
    from ..simulate.interpreter.compare_with_compiled import run_in_emulator
    from ..simulate.interpreter.verify_kernels import compiled_entries
    from ..target.isa.serializer_options import read_level

    silenced, level = _silenced(options.silence), read_level(options.opt)
    module, entries = read_kernels(options, bytecode, variants=not options.arg)
    tuning: dict[str, Any] = tuning_of(options)
    try:
        artifacts = compile(
            bytecode, target, opt_level=level, stop_at="ptx", name=options.file, schedule=schedule_of(options), **tuning
        )
    except TileirasError as error:
        raise with_file_name(error, options.schedule) from error
    for entry in [entry for entry in entries if options.entry or entry in compiled_entries(module, artifacts)]:
        inputs, expected = make_inputs(options, module, entry, _interpret(module, entry, options.max_steps))
        actual = run_in_emulator(artifacts, entry, inputs, silenced, expected.steps)
        differences = [str(difference) for difference in expected.compare(actual)]
        yield {
            "kernel": entry, "target": target, "grid": list(inputs.grid), "arrays": len(inputs.buffers),
            "agrees": not differences, "differences": differences,
        }  # fmt: skip


def _mismatch(row: dict[str, Any]) -> InternalError:
    return InternalError("verify-mismatch", f"{row['kernel']} on {row['target']}: {'; '.join(row['differences'])}")


def _interpret(module, entry: str, steps: int) -> Callable:
    from ..simulate.interpreter.compare_with_compiled import ExpectedMemory

    return lambda inputs: ExpectedMemory(module, entry, inputs, limit=steps)


def _silenced(names: list[str]) -> dict[str, str]:
    """The treatment of the emulator's findings that ``--silence`` names. Raises InvalidInput[finding-unknown]."""
    from ..simulate.emulator.sanitizers.finding_severities import FINDINGS, SILENT

    for name in names:
        if name not in FINDINGS:
            raise InvalidInput("finding-unknown", f"unknown finding {name!r}", remedy=suggest(name, FINDINGS))
    return dict.fromkeys(names, SILENT)
