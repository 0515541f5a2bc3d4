"""Refuses unknown options and targets of the command line, and suggests a known name."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable

import SCons.Node.Alias
import SCons.Node.FS
import SCons.Script

from ..config.build_options import DEFAULTS
from ..config.former_names import suggest_option
from ..core.errors import InvalidInput, suggest
from .incremental.sconscript_purity import parse
from .scons_variables import known_variables

_ALL = frozenset(("ARGLIST",))  # give a script every option, whatever its name


def reject_unknown_options(scripts: Iterable[str]) -> None:
    """Raise InvalidInput[option-unknown] for ``name=value`` that no build script can have read.

    ``scripts`` are the sources of the build scripts and of their imports: a script that reads ARGUMENTS itself names its
    options there.
    """
    known = list(dict.fromkeys([*DEFAULTS, *(option.key for one in known_variables() for option in one.options)]))
    unknown = [name for name in SCons.Script.ARGUMENTS if name not in known]
    if not unknown:
        return
    named = {word for path in scripts for word in _script_words(path)}
    for name in unknown:
        if name not in named and named.isdisjoint(_ALL):
            raise InvalidInput("option-unknown", f"unknown option {name}=", remedy=suggest_option(name, known))


def _script_words(path: str) -> set[str]:
    """The strings and names in a script; none if it is not Python, which other checks report."""
    try:
        tree = parse(path)
    except (OSError, SyntaxError, ValueError):
        return set()
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return texts | {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def reject_unknown_targets(folder: str) -> None:
    """Raise InvalidInput[target-unknown] for a target that is neither an alias, a file, nor the output of a step.

    Names of files are relative to ``folder``.
    """
    aliases = SCons.Node.Alias.default_ans
    for name in map(str, SCons.Script.COMMAND_LINE_TARGETS):
        if aliases.lookup(name) is None and not _is_file(os.path.join(folder, name), name):
            known = sorted({*aliases.keys(), "verify", "tune", "report", "commands"})
            raise InvalidInput("target-unknown", f"unknown target {name!r}", remedy=suggest(name, known))


def _is_file(path: str, name: str) -> bool:
    """Whether it exists, or a step makes it, or a part of it is a pattern or a node that SCons must look up itself."""
    if os.path.exists(path) or name.startswith(("#", "@")) or os.path.isabs(name):
        return True
    try:
        node = SCons.Node.FS.get_default_fs().Entry(path, create=False)
    except Exception:  # SCons' own errors have no common class
        return False
    return node is not None
