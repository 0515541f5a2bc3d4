"""The options of a build (``build_options.py``) as SCons knows them: variables with the project's defaults, and its errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from typing import NoReturn

import SCons.Node.FS
import SCons.Script
from SCons.Variables import Variables

from ..config.build_options import CHECKS, DEFAULTS, OPTIONS
from ..config.former_names import FORMER_NAMES, suggest_option
from ..config.pyproject_table import as_text, read_table
from ..core.errors import InvalidInput, TileirasError
from ..core.terminal import coloured
from .incremental.sconscript_trace import TRACE

_instances: list[Variables] = []  # of this run, with what the project has added to them
_EXPLICIT = "TILEIRAS_GIVEN"  # of an environment: the options that it was made with, as texts


class BuildVariables(Variables):
    """The options, whose values in an environment are those that it was made with, then those of the command line and defaults."""

    def Update(self, env, args: Mapping[str, str] | None = None) -> None:
        """Give ``env`` all values, each checked. Ends SCons with one sentence where one cannot be."""
        if _EXPLICIT not in env:
            try:
                _reject_former_names(env)
                env[_EXPLICIT] = {name: option_text(name, env[name]) for name in DEFAULTS if env.get(name) is not None}
            except TileirasError as error:
                exit_with_error(error)
        super().Update(env, {**(self.args if args is None else args), **env[_EXPLICIT]})


def _reject_former_names(env) -> None:
    """Raise InvalidInput[option-unknown] where the environment was made with an option's former name."""
    for name in FORMER_NAMES:
        if name in env:
            message = f"unknown option {name} of an environment"
            raise InvalidInput("option-unknown", message, remedy=suggest_option(name, DEFAULTS))


def option_text(name: str, value: object) -> str:
    """What an environment says of an option, as the command line would; raises InvalidInput[option-value]."""
    text = value.get_internal_path() if isinstance(value, SCons.Node.FS.Base) else as_text(name, value)
    if text is None and isinstance(value, os.PathLike):
        text = os.fspath(value)
    if isinstance(text, str):
        return text
    message = f"construction variable {name} has unsupported type {type(value).__name__}"
    raise InvalidInput("option-value", message, remedy="use a string, integer, boolean or list")


def variables(arguments: dict[str, str]) -> Variables:
    """The options for ``Environment(variables=…)``; ``arguments`` is SCons' ARGUMENTS. A project may add its own. What the
    environment is made with (``Environment(…, opt=1)``) goes before both.

    Ends SCons with one sentence where pyproject.toml has a key or a value that is none of these options'.
    """
    try:
        project = project_defaults()
    except TileirasError as error:
        exit_with_error(error)
    result = BuildVariables(args=arguments)
    rows = [(row.name, row.help, project.get(row.name, row.default), _validator) for row in OPTIONS]
    result.AddVariables(*rows)
    _instances.append(result)
    return result


def project_defaults() -> dict[str, str]:
    """What pyproject.toml of the project's top folder says of OPTIONS; raises InvalidInput where it says anything else."""
    return read_table(SCons.Node.FS.get_default_fs().Dir("#").get_abspath(), dict.fromkeys(CHECKS, _check))


def _check(name: str, text: str) -> None:
    # The build itself makes its folder: that it is there is no change.
    with TRACE.untraced() if name == "build_dir" else nullcontext():
        CHECKS[name](name, text)


def add_defaults(env) -> None:
    """Give ``env`` the options that it has no value for, as if it had been made with ``variables``."""
    if all(name in env for name in DEFAULTS):
        return
    variables(SCons.Script.ARGUMENTS).Update(env)


def known_variables() -> list[Variables]:
    """All that were made, ours and the project's own in them."""
    return _instances


def _validator(name: str, value: str, env) -> None:
    try:
        _check(name, value)
    except TileirasError as error:
        exit_with_error(error)


def exit_with_error(error: TileirasError) -> NoReturn:
    """End SCons with one diagnostic. SCons' own UserError would add a stack line."""
    print(coloured(f"scons: *** {error}", sys.stderr), file=sys.stderr)
    sys.exit(error.exit_code)
