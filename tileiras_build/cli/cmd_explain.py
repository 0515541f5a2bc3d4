"""``tileiras-build explain``: what an id of an error, a remark or a finding means, and how to fix it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from textwrap import fill

from ..core.error_index.explanations import KINDS, Explanation, explanations
from ..core.errors import InvalidInput, nearest

_WIDTH = 100
_SPAN = re.compile(r"`([^`]+)`")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("id", nargs="?", help="an id, as in error[ID] (default: list all)")


def run(options: argparse.Namespace) -> None:
    """Print one explanation, or all ids with their first sentence."""
    rows = explanations()
    if options.id is None:
        print("\n".join(_index(rows.values())))
        return
    found = re.sub(r"^.*\[(.+)\].*$", r"\1", options.id)
    if found not in rows:
        near = nearest(found, rows)
        remedy = "`tileiras-build explain` lists all" if near is None else f"did you mean {near}?"
        raise InvalidInput("explain-id", f"unknown id {found!r}", remedy=remedy)
    print("\n\n".join(_paragraphs(rows[found])))


def _index(rows: Iterable[Explanation]) -> Iterator[str]:
    """The ids by area; each file of the index is one area."""
    for area, of_area in groupby(rows, lambda row: row.area):
        yield f"{area}:"
        yield from (f"  {row.id:28} {_plain(row.what)}" for row in of_area)


def _paragraphs(row: Explanation) -> Iterator[str]:
    yield f"{row.id} ({KINDS[row.kind]})"
    yield fill(_plain(row.what), _WIDTH)
    if row.why:
        yield fill(f"Why: {_plain(row.why)}", _WIDTH)
    yield fill(f"Fix: {_plain(row.fix)}", _WIDTH)
    if row.example:
        yield "\n".join(f"    {line}" for line in ["Example:", *row.example.splitlines()])


def _plain(text: str) -> str:
    """The text without the marks of code that documents show in another font."""
    return _SPAN.sub(r"\1", text)
