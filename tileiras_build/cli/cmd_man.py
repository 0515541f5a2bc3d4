"""``tileiras-build man``: the manual page, in the language of man(7), made from the parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from ..core.knobs import KNOBS
from ..core.version import __version__
from .commands import COMMANDS, Command
from .parser import DESCRIPTION, EXAMPLES, PROGRAM, build_parser, parser_of

EXIT_CODES = (
    (0, "done"),
    (1, "the input is invalid"),
    (2, "not supported, or wrong usage"),
    (3, "an internal error: a fault of this program"),
    (130, "interrupted"),
)
_AS = "Reads the options of NVIDIA's tileiras; its exit codes are those of that program: see tileiras-build as --help."
_DIAGNOSTICS = (
    "A diagnostic is one sentence with an id that stays the same from version to version: "
    "FILE:LINE:COLUMN: error[ID]: what was found; what to do."
)


def print_manual(options: argparse.Namespace) -> None:
    """``man``: print the page."""
    print("\n".join(manual()))


def manual() -> Iterator[str]:
    """The lines of the page."""
    yield f'.TH {PROGRAM.upper()} 1 "" "{PROGRAM} {__version__}" "User Commands"'
    yield from _section("NAME", [f"{_text(PROGRAM)} \\- {_text(DESCRIPTION[0].lower() + DESCRIPTION[1:].rstrip('.'))}"])
    yield from _section("SYNOPSIS", [f"\\fB{_text(PROGRAM)}\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]"])
    yield from _section(
        "DESCRIPTION", [_text(f"{DESCRIPTION} Whole libraries are built by scons(1), with the tool of this package.")]
    )
    yield from _section("COMMANDS", [])
    parser = build_parser()
    for row in COMMANDS:
        yield from _command(row, parser_of(parser, row))
    yield from _section("EXAMPLES", _examples(EXAMPLES))
    yield from _section("DIAGNOSTICS", [_text(_DIAGNOSTICS)])
    yield from _section("EXIT STATUS", _listed((str(code), what) for code, what in EXIT_CODES))
    yield from _section("ENVIRONMENT", _listed((knob.name, f"{knob.help} (default: {knob.default})") for knob in KNOBS))
    yield from _section("SEE ALSO", ["scons(1), ptxas(1)"])


def _section(title: str, lines: Sequence[str] | Iterator[str]) -> Iterator[str]:
    yield f".SH {title}"
    yield from lines


def _command(row: Command, parser: argparse.ArgumentParser) -> Iterator[str]:
    formatter = argparse.HelpFormatter(parser.prog, width=10_000)
    formatter.add_usage(None, parser._actions, parser._mutually_exclusive_groups, prefix="")
    yield f".SS {_text(row.name)}"
    yield _text(f"{row.help[0].upper()}{row.help[1:]}.")
    yield ".PP"
    yield _text(" ".join(formatter.format_help().split()))
    if row.name == "as":
        yield from (".PP", _text(_AS))
    yield from _listed((_spelling(action), action.help or "") for action in parser._actions)
    yield from (".PP", "Examples:", *_examples(row.examples))


def _spelling(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else str(action.metavar or "{" + ",".join(map(str, action.choices or ())) + "}")
    if not action.option_strings:
        return value
    return ", ".join(f"{name} {value}".rstrip() for name in action.option_strings)


def _listed(rows) -> Iterator[str]:
    for name, what in rows:
        yield from (".TP", f"\\fB{_text(name)}\\fR", _text(what))


def _examples(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    for words, what in rows:
        yield from (".TP", f"\\fB{_text(f'{PROGRAM} {words}')}\\fR", _text(what))


def _text(text: str) -> str:
    """Text as the page spells it: nothing in it is a request or an escape."""
    escaped = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
