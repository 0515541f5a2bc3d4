"""``tileiras-build report``: what built kernels are like, as a table, a page or for programs; or how they differ from an earlier report."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ..errors import InvalidInput


def run(options: argparse.Namespace) -> None:
    """Print or write what is asked for. Raises the errors of reading, InvalidInput[report-against] for CSV of changes."""
    folder = Path(options.folder)
    if options.html:
        _write_page(folder, options)
    elif options.against:
        _print_changes(folder, options)
    elif options.json or options.csv:
        _print_rows(folder, options)
    else:
        from .resources import print_resources, read_folder

        print_resources(read_folder(folder))


def _write_page(folder: Path, options: argparse.Namespace) -> None:
    from .export import read_baseline
    from .page import Baseline, write_report

    against = Path(options.against) if options.against else None
    baseline = None if against is None else Baseline(against.name, read_baseline(against))
    print(write_report(folder, Path(options.html), baseline=baseline))


def _print_rows(folder: Path, options: argparse.Namespace) -> None:
    from .collect import read_rows
    from .export import csv_text, json_text

    rows = read_rows(folder)
    print(csv_text(rows) if options.csv else json_text(rows), end="")


def _print_changes(folder: Path, options: argparse.Namespace) -> None:
    from ..terminal import print_table
    from .changes import changed_documents, changes, header, summary
    from .collect import read_rows
    from .export import measures_of, read_baseline

    if options.csv:
        remedy = "leave --csv or --against out, or ask for --json"
        raise InvalidInput("report-against", "changes are not written as CSV", remedy=remedy)
    before, now = measures_of(read_baseline(Path(options.against))), measures_of(read_rows(folder))
    if options.json:
        print(json.dumps(changed_documents(before, now), indent=2))
        return
    rows = changes(before, now, with_estimate=False)
    if rows:
        print_table(header(with_estimate=False), rows)
        print()
    print(summary(before, now, with_estimate=False))
