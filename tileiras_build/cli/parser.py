"""The parser of the command line, built from ``COMMANDS``: its help has examples, its errors suggest the nearest name."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ..core.errors import renamed, suggest
from ..core.version import __version__
from .commands import COMMANDS, Command, find

PROGRAM = "tileiras-build"
DESCRIPTION = "Ahead-of-time compiler and build system for CUDA Tile IR kernels (no GPU needed)."
EXAMPLES = (
    ("init my_kernels && cd my_kernels && scons", "create and build a project"),
    ("lower k.tilebc --to ptx --sm sm_90 -o -", "one kernel's PTX"),
    ("COMMAND --help", "options and examples of a command"),
)


class Parser(argparse.ArgumentParser):
    """argparse's parser whose errors are one line and suggest the nearest name."""

    def __init__(self, **options: Any):
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def error(self, message: str) -> NoReturn:
        """Exit with the code for wrong usage."""
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        is_command = isinstance(action, argparse._SubParsersAction)
        what = f"{'unknown command' if is_command else 'invalid value'} {value!r}"
        remedy = suggest(str(value), map(str, action.choices))
        raise argparse.ArgumentError(None if is_command else action, f"{what}; {remedy}")


def build_parser(only: Command | None = None) -> Parser:
    """The parser of all commands, or of ``only`` one."""
    parser = Parser(prog=PROGRAM, description=DESCRIPTION, epilog=_examples("", EXAMPLES))
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    folder, what = (
        Path(__file__).resolve().parents[1] / "build" / "cmake",
        "print the folder of the CMake package and exit",
    )
    parser.add_argument("--cmake-dir", action="version", version=str(folder), help=what)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", dest="name")
    for command in COMMANDS if only is None else (only,):
        about = f"{command.help[0].upper()}{command.help[1:]}."
        epilog = _examples("", command.examples)
        added = commands.add_parser(command.name, help=command.help, description=about, epilog=epilog)
        command.add_options(added)
    return parser


def _examples(indent: str, rows: Sequence[tuple[str, str]]) -> str:
    lines = [line for words, what in rows for line in (f"  {indent}{PROGRAM} {words}", f"  {indent}    {what}")]
    return "\n".join(["examples:", *lines])


_SCRIPT_HINT = {"run": "; put the script's own arguments after --"}


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The options of a command line, without the program's name; exits for wrong usage."""
    command = find(words[0]) if words else None
    parser = build_parser(command)
    if not words:
        parser.exit(2, parser.format_help())
    if command is not None:
        options_parser = parser_of(parser, command)
        if unknown := next(_unknown_options(options_parser, words[1:]), None):
            remedy = _renamed(unknown) or suggest(unknown, _long_options(options_parser))
            options_parser.error(f"unknown option {unknown!r}; {remedy}{_SCRIPT_HINT.get(command.name, '')}")
    options, others = parser.parse_known_args(words)
    if others:
        (parser if command is None else options_parser).error(
            f"unrecognized arguments: {' '.join(others)}{_SCRIPT_HINT.get(words[0], '')}"
        )
    return options


def parser_of(parser: argparse.ArgumentParser, command: Command) -> argparse.ArgumentParser:
    """The parser of one command's options."""
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return commands.choices[command.name]


def _long_options(parser: argparse.ArgumentParser) -> list[str]:
    return [name for name in parser._option_string_actions if name.startswith("--")]


def _renamed(option: str) -> str | None:
    """The sentence with the present spelling of a former option; None if it is not one."""
    from ..pipeline.tuning_parameters import FORMER_NAMES

    present = FORMER_NAMES.get(option.removeprefix("--").replace("-", "_"))
    return None if present is None else renamed("it", f"--{present.replace('_', '-')}")


def _unknown_options(parser: argparse.ArgumentParser, words: Sequence[str]) -> Iterator[str]:
    """Long options that are not an option of the parser or a prefix of one."""
    known = parser._option_string_actions
    for word in words:
        if word == "--":
            return
        name = word.partition("=")[0]
        if name.startswith("--") and " " not in name and not any(option.startswith(name) for option in known):
            yield name
