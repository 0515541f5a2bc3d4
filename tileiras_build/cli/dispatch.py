"""Dispatch of ``tileiras-build``: parse the command line, run the command, print its diagnostic.

Exit codes: 0 done, 1 invalid input, 2 unsupported or wrong usage, 3 internal error, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from ..core.errors import TileirasError
from .commands import find
from .parser import parse


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; diagnostics go to standard error, one line each. Returns the exit code.

    ``as`` reads its own command line, and so does a link to this program that is named ``tileiras``.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    called_tileiras = arguments is None and Path(sys.argv[0]).name == "tileiras"
    if called_tileiras or words[:1] == ["as"]:
        from .cmd_as import main as assemble

        if called_tileiras:
            return assemble(words, sys.argv[0])
        return assemble(words[1:], in_project=True)
    return _run(words, arguments is None)


def _run(arguments: list[str], ends_process: bool) -> int:
    words, script_arguments = _split_script_arguments(arguments)
    options = parse(words)
    options.script_arguments, options.ends_process = script_arguments, ends_process
    if options.name != "run":  # a script chooses the encoding of its output
        _escape_unencodable(sys.stdout)
    command = find(options.name)
    assert command is not None, "the parser accepts only commands of the table"
    try:
        code = command.run(options)
        sys.stdout.flush()
    except TileirasError as error:
        return _print_error(error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader closed the pipe; without this Python reports it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        from .unexpected_errors import diagnostic_of

        return _print_error(diagnostic_of(error, arguments))
    return code or 0


def _escape_unencodable(stream: TextIO) -> None:
    """Let a stream print characters that its encoding lacks as escapes, as standard error does."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


def _print_error(error: TileirasError) -> int:
    from ..core.terminal import coloured, explain_hint

    text = str(error)
    print(coloured(text, sys.stderr), file=sys.stderr)
    if error.id != "explain-id":
        sys.stderr.write(explain_hint(text, sys.stderr))
    return error.exit_code


def _split_script_arguments(words: list[str]) -> tuple[list[str], list[str]]:
    """The command line, and the arguments of the script for ``run``: those after ``--``."""
    if words[:1] != ["run"] or "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]
