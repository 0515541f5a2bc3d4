"""``tileiras-build report``: what built kernels are like, as a table, a page or for programs; or how they differ from an earlier report."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ..errors import InvalidInput
from ..estimate.builds import Problem
from ..terminal import print_table
from .changes import changed_documents, changes, header, summary
from .collect import Row, read_rows
from .export import csv_text, json_text, measures_of, read_baseline
from .page import Baseline, write_report
from .resources import HEADER, ResourceRow, print_resources, read_folder


def run(options: argparse.Namespace) -> None:
    """Print or write what is asked for.

    Raises the errors of reading, InvalidInput[report-against] for CSV of changes, [report-grid] for ``--set`` without ``--grid``.
    """
    folder, problem = Path(options.folder), _problem(options)
    if options.html:
        _write_page(folder, options, problem)
    elif options.against:
        _print_changes(folder, options, problem)
    elif options.json or options.csv:
        rows = read_rows(folder, problem=problem)
        print(csv_text(rows) if options.csv else json_text(rows), end="")
    elif problem:
        rows = read_rows(folder, problem=problem)
        print_table((*HEADER, "estimate", "limited by"), [(*_resources(row).cells, *_estimate(row)) for row in rows])
    else:
        print_resources(read_folder(folder))


def _problem(options: argparse.Namespace) -> Problem | None:
    if options.grid:
        return Problem.read(options.settings, options.grid)
    if options.settings:
        raise InvalidInput("report-grid", "--set is for estimates, which need --grid", remedy="give --grid X,Y,Z")
    return None


def _write_page(folder: Path, options: argparse.Namespace, problem: Problem | None) -> None:
    against = Path(options.against) if options.against else None
    baseline = None if against is None else Baseline(against.name, read_baseline(against))
    print(write_report(folder, Path(options.html), baseline=baseline, problem=problem))


def _print_changes(folder: Path, options: argparse.Namespace, problem: Problem | None) -> None:
    if options.csv:
        remedy = "leave --csv or --against out, or ask for --json"
        raise InvalidInput("report-against", "changes are not written as CSV", remedy=remedy)
    before = measures_of(read_baseline(Path(options.against)))
    now = measures_of(read_rows(folder, problem=problem))
    # A report without estimates differs in none.
    estimated = all(any(one.microseconds is not None for one in measures.values()) for measures in (before, now))
    if options.json:
        print(json.dumps(changed_documents(before, now, estimated), indent=2))
        return
    if rows := changes(before, now, estimated):
        print_table(header(estimated), rows)
        print()
    print(summary(before, now, estimated))


def _resources(row: Row) -> ResourceRow:
    return ResourceRow(row.kernel, row.target, row.registers, row.shared, row.stack, row.spill_stores, row.spill_loads)


def _estimate(row: Row) -> tuple[str, str]:
    return ("-" if row.microseconds is None else f"{row.microseconds:.1f} us"), row.estimate_limit or "-"
