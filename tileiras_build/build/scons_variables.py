"""The options of a build (``build_options.py``) as SCons variables with the project's defaults, and their errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from typing import NoReturn

import SCons.Node.FS
import SCons.Script
from SCons.Variables import Variables

from ..config.build_options import CHECKS, DEFAULTS, OPTIONS, yes_no
from ..config.former_names import FORMER_NAMES, suggest_option
from ..config.pyproject_table import as_text, read_table
from ..core.errors import InvalidInput, TileirasError
from ..core.terminal import coloured
from .incremental.sconscript_trace import TRACE

_instances: list[Variables] = []  # of this run, with the options that the project added
_EXPLICIT = "TILEIRAS_GIVEN"  # of an environment: its explicit options, as texts


class BuildVariables(Variables):
    """The options. An environment's own values take precedence over the command line and the defaults."""

    def Update(self, env, args: Mapping[str, str] | None = None) -> None:
        """Set all values in ``env``, each checked. Exits with a one-line error for an invalid value."""
        if _EXPLICIT not in env:
            try:
                _reject_former_names(env)
                env[_EXPLICIT] = {name: option_text(name, env[name]) for name in DEFAULTS if env.get(name) is not None}
            except TileirasError as error:
                exit_with_error(error)
        super().Update(env, {**(self.args if args is None else args), **env[_EXPLICIT]})


def _reject_former_names(env) -> None:
    """Raise InvalidInput[option-unknown] if the environment was created with an option's former name."""
    for name in FORMER_NAMES:
        if name in env:
            message = f"unknown option {name} of an environment"
            raise InvalidInput("option-unknown", message, remedy=suggest_option(name, DEFAULTS))


def option_text(name: str, value: object) -> str:
    """An environment's value of an option, in the form of the command line; raises InvalidInput[option-value]."""
    text = value.get_internal_path() if isinstance(value, SCons.Node.FS.Base) else as_text(name, value)
    if text is None and isinstance(value, os.PathLike):
        text = os.fspath(value)
    if isinstance(text, str):
        return text
    message = f"construction variable {name} has unsupported type {type(value).__name__}"
    raise InvalidInput("option-value", message, remedy="use a string, integer, boolean or list")


def variables(arguments: dict[str, str]) -> Variables:
    """The options for ``Environment(variables=…)``; ``arguments`` is SCons' ARGUMENTS. A project may add its own. Values passed
    to the environment (``Environment(…, opt=1)``) take precedence.

    Exits with a one-line error if pyproject.toml has an unknown key or an invalid value.
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
    """The options in pyproject.toml of the project's top folder; raises InvalidInput for unknown keys."""
    return read_table(SCons.Node.FS.get_default_fs().Dir("#").get_abspath(), dict.fromkeys(CHECKS, _check))


def _check(name: str, text: str) -> None:
    # The build itself creates its folder, so its existence is not recorded.
    with TRACE.untraced() if name == "build_dir" else nullcontext():
        CHECKS[name](name, text)


def add_defaults(env) -> None:
    """Set the options that ``env`` has no value for, as if it had been created with ``variables``."""
    if all(name in env for name in DEFAULTS):
        return
    variables(SCons.Script.ARGUMENTS).Update(env)


def known_variables() -> list[Variables]:
    """All variables of the run, ours with the project's own."""
    return _instances


def _validator(name: str, value: str, env) -> None:
    try:
        _check(name, value)
    except TileirasError as error:
        exit_with_error(error)


def exit_with_error(error: TileirasError) -> NoReturn:
    """Exit with one diagnostic. SCons' own UserError would add a stack line."""
    print(coloured(f"scons: *** {error}", sys.stderr), file=sys.stderr)
    sys.exit(error.exit_code)


def is_explaining(env) -> bool:
    """Whether the build explains why each step runs (``explain=1``)."""
    return yes_no("explain", env.get("explain", "no"))


def is_pruning(env) -> bool:
    """Whether the build removes orphaned artifacts (``prune=1``)."""
    return yes_no("prune", env.get("prune", "no"))
