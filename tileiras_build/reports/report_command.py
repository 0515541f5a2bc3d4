"""The command ``tileiras-build report``: kernels of a build as a table, HTML, CSV or JSON, or their changes since an earlier report."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ..core.cpu_count import cpu_count
from ..core.errors import InvalidInput, suggest
from ..core.terminal import print_table
from ..simulate.estimate.estimate_kernel import Problem
from .build_diff import changed_documents, changes, header, metrics_of, summary
from .build_history import read_history
from .collect_rows import EstimateProblems, KernelRow, read_rows, values_of
from .html_report import Baseline, ReportForm, write_report
from .report_csv_json import csv_text, json_text, read_baseline
from .report_paths import history_path
from .resource_usage import HEADER, ResourceRow, print_resources, read_folder


def run(options: argparse.Namespace) -> None:
    """Print or write the report in the requested form.

    Raises the errors of reading, InvalidInput[report-against] for ``--csv`` with ``--against``, [report-html] for
    HTML options without ``--html``, [report-grid] for ``--set`` without ``--grid``.
    """
    _check_form(options)
    folder, problems = Path(options.folder), _problems(options)
    if options.html:
        _write_page(folder, options, problems)
    elif options.against:
        _print_changes(folder, options, problems)
    elif options.json or options.csv:
        rows = read_rows(folder, problems=problems)
        print(csv_text(rows) if options.csv else json_text(rows), end="")
    elif problems.wanted:
        rows = read_rows(folder, problems=problems)
        print_table((*HEADER, "estimate", "limited by"), [(*_resources(row).cells, *_estimate(row)) for row in rows])
    else:
        print_resources(read_folder(folder))


def _problems(options: argparse.Namespace) -> EstimateProblems:
    if options.grid:
        return EstimateProblems(Problem.read(options.settings, options.grid), options.estimate)
    if options.settings:
        raise InvalidInput("report-grid", "--set requires --grid", remedy="give --grid X,Y,Z")
    return EstimateProblems(None, options.estimate)


def _write_page(folder: Path, options: argparse.Namespace, problems: EstimateProblems) -> None:
    baseline = None if options.against is None else _read_against(folder, options.against)
    form = ReportForm(options.pages, options.label, cpu_count())
    print(write_report(folder, Path(options.html), baseline=baseline, problems=problems, form=form))


def _check_form(options: argparse.Namespace) -> None:
    for name in ("pages", "label"):
        if getattr(options, name) and not options.html:
            message = f"--{name} requires --html PAGE"
            raise InvalidInput("report-html", message, remedy="add --html PAGE")


def _read_against(folder: Path, name: str) -> Baseline:
    """The baseline: a file written with --json, or a build labelled with --label."""
    path = Path(name)
    if not path.exists():
        history = read_history(history_path(folder))
        number = history.named(name)
        if number is not None:
            return Baseline(name, history.at(number))
        if known := sorted({one.name for one in history.builds if one.name}):
            message = f"no file and no build labelled {name!r}"
            raise InvalidInput("report-baseline", message, remedy=suggest(name, known))
    return Baseline(path.name, values_of(read_baseline(path)))


def _print_changes(folder: Path, options: argparse.Namespace, problems: EstimateProblems) -> None:
    if options.csv:
        remedy = "use --json"
        raise InvalidInput("report-against", "--csv cannot be combined with --against", remedy=remedy)
    before = metrics_of(_read_against(folder, options.against).rows)
    now = metrics_of(values_of(read_rows(folder, problems=problems)))
    # Estimates are compared only if both reports have them.
    estimated = all(any(one.microseconds is not None for one in measures.values()) for measures in (before, now))
    if options.json:
        print(json.dumps(changed_documents(before, now, estimated), indent=2))
        return
    if rows := changes(before, now, estimated):
        print_table(header(estimated), rows)
        print()
    print(summary(before, now, estimated))


def _resources(row: KernelRow) -> ResourceRow:
    return ResourceRow(row.kernel, row.target, row.registers, row.shared, row.stack, row.spill_stores, row.spill_loads)


def _estimate(row: KernelRow) -> tuple[str, str]:
    return ("-" if row.microseconds is None else f"{row.microseconds:.1f} us"), row.estimate_limit or "-"
