"""``tileiras-build man``: the manual page in man(7) markup, generated from the parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from ..core.knobs import KNOBS
from ..core.version import __version__
from .commands import COMMANDS, Command
from .parser import DESCRIPTION, EXAMPLES, PROGRAM, build_parser, parser_of

EXIT_CODES = (
    (0, "done"),
    (1, "invalid input"),
    (2, "unsupported input or usage error"),
    (3, "internal compiler error (a bug)"),
    (130, "interrupted"),
)
_AS = "Reads the options of NVIDIA's tileiras; its exit codes are those of that program: see tileiras-build as --help."
_DIAGNOSTICS = "Each diagnostic has a stable id: FILE:LINE:COLUMN: error[ID]: problem; remedy."


def run(options: argparse.Namespace) -> None:
    """Print the page."""
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
    for command in COMMANDS:
        yield from _command(command, parser_of(parser, command))
    yield from _section("EXAMPLES", _examples(EXAMPLES))
    yield from _section("DIAGNOSTICS", [_text(_DIAGNOSTICS)])
    yield from _section("EXIT STATUS", _listed((str(code), what) for code, what in EXIT_CODES))
    yield from _section("ENVIRONMENT", _listed((knob.name, f"{knob.help} (default: {knob.default})") for knob in KNOBS))
    yield from _section("SEE ALSO", ["scons(1), ptxas(1)"])


def _section(title: str, lines: Sequence[str] | Iterator[str]) -> Iterator[str]:
    yield f".SH {title}"
    yield from lines


def _command(command: Command, parser: argparse.ArgumentParser) -> Iterator[str]:
    formatter = argparse.HelpFormatter(parser.prog, width=10_000)
    formatter.add_usage(None, parser._actions, parser._mutually_exclusive_groups, prefix="")
    yield f".SS {_text(command.name)}"
    yield _text(f"{command.help[0].upper()}{command.help[1:]}.")
    yield ".PP"
    yield _text(" ".join(formatter.format_help().split()))
    if command.name == "as":
        yield from (".PP", _text(_AS))
    yield from _listed((_spelling(action), action.help or "") for action in parser._actions)
    yield from (".PP", "Examples:", *_examples(command.examples))


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
    """Text escaped for the page: it contains no requests or escapes."""
    escaped = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
