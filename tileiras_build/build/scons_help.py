"""The text of ``scons -h``: every option with its value and origin, and the targets."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import SCons.Script
from SCons.Variables import Variables

from ..config.pyproject_table import FILE_NAME
from .parallel_jobs import describe_jobs
from .scons_variables import known_variables, project_defaults

TARGETS = (
    ("(nothing)", "default targets of the project"),
    ("verify", "check every kernel against the interpreter and against its reference function"),
    ("tune", "choose constants and hints of kernels with a Tune, by the cost model or on a GPU"),
    ("report", "HTML report: registers, shared memory, spills, changes since the last report"),
    ("package", "build the packages; `install` copies them to prefix="),
    ("commands", "write compile_commands.json"),
    ("ninja", "write build.ninja, for `ninja -f build/build.ninja`"),
)
_INDENT = " " * 14


def help_text(env) -> str:
    """The text for an environment and all options of the run, each once."""
    lines = ["", "scons [name=value ...] [target ...]", "", "options, current value and its source:", ""]
    seen: set[str] = set()
    for variables in known_variables():
        for option in variables.options:
            if option.key not in seen:
                seen.add(option.key)
                lines += _option(env, variables, option)
    lines += [f"  {'-j N':11} {describe_jobs()}", f"{_INDENT}parallel jobs", ""]
    lines += [f"Project defaults are set in [tool.tileiras] in {FILE_NAME}.", "", "targets:", ""]
    lines += [f"  {name:11} {what}" for name, what in TARGETS]
    return "\n".join([*lines, "", ""])


def _option(env, variables: Variables, option) -> Iterator[str]:
    value = env.get(option.key, option.default)
    yield f"  {option.key:11} {value if str(value) else '(empty)'}  [{_value_origin(variables, option, value)}]"
    yield textwrap.fill(str(option.help), 100, initial_indent=_INDENT, subsequent_indent=_INDENT)


def _value_origin(variables: Variables, option, value: object) -> str:
    if SCons.Script.ARGUMENTS.get(option.key) == value:
        return "command line"
    if value != option.default:
        return "SConstruct"
    return FILE_NAME if option.key in project_defaults() else "default"
