"""The parser of the command line, made from the rows of ``table.py``: with examples, and with what was likely meant."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from ..core.errors import suggest
from ..core.version import __version__
from .commands import COMMANDS, Command, find

PROGRAM = "tileiras-build"
DESCRIPTION = "An open compiler for CUDA Tile IR, made for building libraries of GPU kernels."
EXAMPLES = (
    ("init my_kernels && cd my_kernels && scons", "a project, built"),
    ("lower k.tilebc --to ptx --sm sm_90 -o -", "one kernel's PTX"),
    ("COMMAND --help", "the options of a command, with examples"),
)


class Parser(argparse.ArgumentParser):
    """argparse's parser; what it refuses is one line and, where a name is near, what was meant."""

    def __init__(self, **options: Any):
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def error(self, message: str) -> NoReturn:
        """End with the exit code of wrong usage."""
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        is_command = isinstance(action, argparse._SubParsersAction)
        what = f"{value!r} is {'not a command' if is_command else 'not a valid value'}"
        remedy = suggest(str(value), map(str, action.choices))
        raise argparse.ArgumentError(None if is_command else action, f"{what}; {remedy}")


def build_parser(only: Command | None = None) -> Parser:
    """The parser of all commands, or one that knows the options of ``only`` alone."""
    parser = Parser(prog=PROGRAM, description=DESCRIPTION, epilog=_examples("", EXAMPLES))
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", dest="name")
    for row in COMMANDS if only is None else (only,):
        about = f"{row.help[0].upper()}{row.help[1:]}."
        added = commands.add_parser(row.name, help=row.help, description=about, epilog=_examples("", row.examples))
        row.add_options(added)
    return parser


def _examples(indent: str, rows: Sequence[tuple[str, str]]) -> str:
    lines = [line for words, what in rows for line in (f"  {indent}{PROGRAM} {words}", f"  {indent}    {what}")]
    return "\n".join(["examples:", *lines])


_OWN = {"run": "; a script's own arguments follow after --"}


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The options of a command line, without the program's name; ends the program where it is wrong."""
    row = find(words[0]) if words else None
    parser = build_parser(row)
    if not words:
        parser.exit(2, parser.format_help())
    if row is not None:
        of_command = parser_of(parser, row)
        if unknown := next(_unknown_options(of_command, words[1:]), None):
            known = [name for name in of_command._option_string_actions if name.startswith("--")]
            of_command.error(f"there is no option {unknown}; {suggest(unknown, known)}{_OWN.get(row.name, '')}")
    options, others = parser.parse_known_args(words)
    if others:
        (parser if row is None else of_command).error(
            f"unrecognized arguments: {' '.join(others)}{_OWN.get(words[0], '')}"
        )
    return options


def parser_of(parser: argparse.ArgumentParser, row: Command) -> argparse.ArgumentParser:
    """The parser of one command's options."""
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return commands.choices[row.name]


def _unknown_options(parser: argparse.ArgumentParser, words: Sequence[str]) -> Iterator[str]:
    """Long options that the parser does not know, nor by their beginning."""
    known = parser._option_string_actions
    for word in words:
        if word == "--":
            return
        name = word.partition("=")[0]
        if name.startswith("--") and " " not in name and not any(option.startswith(name) for option in known):
            yield name
