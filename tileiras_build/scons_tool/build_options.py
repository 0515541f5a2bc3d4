"""The options of a build (``project_options.py``) as SCons knows them: variables with the project's defaults, and its errors."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import NoReturn

import SCons.Node.FS
import SCons.Script
from SCons.Variables import Variables

from ..errors import TileirasError
from ..project_file import read_table
from ..project_options import CHECKS, DEFAULTS, OPTIONS
from ..terminal import coloured
from .reading import READING

_made: list[Variables] = []  # of this run, with what the project has added to them


def variables(arguments: dict[str, str]) -> Variables:
    """The options for ``Environment(variables=…)``; ``arguments`` is SCons' ARGUMENTS. A project may add its own.

    Ends SCons with one sentence where pyproject.toml has a key or a value that is none of these options'.
    """
    try:
        project = project_defaults()
    except TileirasError as error:
        fail(error)
    result = Variables(args=arguments)
    rows = [(row.name, row.help, project.get(row.name, row.default), _validator) for row in OPTIONS]
    result.AddVariables(*rows)
    _made.append(result)
    return result


def project_defaults() -> dict[str, str]:
    """What pyproject.toml of the project's top folder says of OPTIONS; raises InvalidInput where it says anything else."""
    return read_table(SCons.Node.FS.get_default_fs().Dir("#").get_abspath(), dict.fromkeys(CHECKS, _check))


def _check(name: str, text: str) -> None:
    # The build itself makes its folder: that it is there is no change.
    with READING.aside() if name == "build_dir" else nullcontext():
        CHECKS[name](name, text)


def complete(env) -> None:
    """Give ``env`` the options that it has no value for, as if it had been made with ``variables``."""
    if all(name in env for name in DEFAULTS):
        return
    given = {name: env[name] for name in DEFAULTS if name in env}
    variables(SCons.Script.ARGUMENTS).Update(env)
    for name, value in given.items():
        env[name] = value


def known_variables() -> list[Variables]:
    """All that were made, ours and the project's own in them."""
    return _made


def _validator(name: str, value: str, env) -> None:
    try:
        _check(name, value)
    except TileirasError as error:
        fail(error)


def fail(error: TileirasError) -> NoReturn:
    """End SCons with one diagnostic. SCons' own UserError would add a stack line."""
    print(coloured(f"scons: *** {error}", sys.stderr), file=sys.stderr)
    sys.exit(error.exit_code)
