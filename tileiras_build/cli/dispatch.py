"""The command ``tileiras-build``: lower files, look at them, list passes and targets, report on a build.

Exit codes: 0 done, 1 invalid input, 2 unsupported or wrong usage, 3 internal error, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from ..core.errors import TileirasError
from .commands import Command, find
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


def _run(given: list[str], ends_process: bool) -> int:
    words, of_script = _split_run(given)
    options = parse(words)
    options.words, options.ends_process = of_script, ends_process
    if options.name != "run":  # what a script prints is its own
        _show_everything(sys.stdout)
    try:
        code = _function(find(options.name))(options)
        sys.stdout.flush()
    except TileirasError as error:
        return _refuse(error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output has seen enough; Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        from .unexpected_errors import diagnostic_of

        return _refuse(diagnostic_of(error, given))
    return code or 0


def _show_everything(stream: TextIO) -> None:
    """Let a stream show characters that its encoding lacks as their numbers, as standard error does."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


def _refuse(error: TileirasError) -> int:
    from ..core.terminal import coloured

    print(coloured(str(error), sys.stderr), file=sys.stderr)
    return error.exit_code


def _function(command: Command | None) -> Callable:
    assert command is not None, "the parser knows the commands of the table"
    module, _, name = command.run.partition(":")
    return getattr(import_module(module), name)


def _split_run(words: list[str]) -> tuple[list[str], list[str]]:
    """The words of the command, and those of the script that ``run`` is to run: what stands after ``--``."""
    if words[:1] != ["run"] or "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]
