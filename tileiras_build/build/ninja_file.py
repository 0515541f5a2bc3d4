"""``scons ninja``: the graph as ``<build_dir>/build.ninja``, for ``ninja -f build/build.ninja`` in the project's folder.

An edge is a stage of a kernel for a target, made by the same command as in ``compile_commands.json``. What a command reads is in
the dependency file that it writes (``-MF``), and every edge depends on the code of this package. Ninja runs ``scons ninja``
again if a build script changes; it does not see that a folder has a new kernel.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from ..core.code_digest import installed
from ..core.errors import Location, Unsupported
from ..core.file_io import write_files
from .always_build import NINJA, GraphAction
from .compile_commands import chains, stage_command
from .incremental.sconscript_trace import TRACE
from .python_to_bytecode_step import ExportAction
from .scons_variables import project_defaults
from .stage_actions import StageAction, kernel_name

_CODE = "tileiras_build"  # the phony target of the package's code
_HEAD = f"""# Written by `scons {NINJA}`.
ninja_required_version = 1.10

rule lower
  command = $words
  depfile = $dependencies
  deps = gcc
  description = $shown

rule scons
  command = scons $words
  generator = 1

"""


class NinjaAction(GraphAction):
    """Writes the graph of the final artifacts of libraries."""

    alias, file_name = NINJA, "build.ninja"

    def write(self, path: str, env) -> None:
        """Write the file; raises Unsupported[ninja-step] for a kernel whose dependencies no command reports."""
        write_files({Path(path): "".join(ninja_text(self.last, path)).encode(errors="surrogateescape")})


def ninja_text(last: Iterable, path: str) -> Iterator[str]:
    """The file at ``path`` that makes the artifacts ``last``, in parts."""
    yield _HEAD
    yield _edge([_CODE], "phony", installed().paths)
    yield _edge([path], "scons", sorted(map(os.path.relpath, TRACE.sources())), words=shlex.join(sys.argv[1:]))
    project = project_defaults()
    for node in chains(last):
        # A kernel of a Python file is exported by the command of its first stage, which lists what the file reads.
        if not isinstance(node.builder.action, ExportAction):
            yield _stage_edge(node, project)
    yield f"default {' '.join(_escaped(node.path) for node in last)}\n"


def _stage_edge(node, project: Container[str]) -> str:
    if not isinstance(node.builder.action, StageAction):
        message = "the step that makes this file reports no dependencies to ninja"
        raise Unsupported("ninja-step", message, location=Location(node.path), remedy="build it with scons")
    command, source = stage_command(node, project), node.sources[0]
    if source.has_builder() and isinstance(source.builder.action, ExportAction):
        source = source.sources[0]
        # A file name may begin with a dash.
        file = f"./{source.path}" if source.path.startswith("-") else source.path
        command[command.index(node.sources[0].path)] = file
        command += ["--kernel", kernel_name(node)]
    dependencies = f"{node.path}.d"
    words = shlex.join([*command, "-MF", dependencies])
    # SCons leaves the attribute of a single target unset.
    made = [peer.path for peer in getattr(node, "target_peers", None) or [node]]
    return _edge(made, "lower", [source.path], [_CODE], words=words, dependencies=dependencies, shown=node.path)


def _edge(made: Iterable[str], rule: str, sources: Iterable[str], implicit: Iterable[str] = (), **values: str) -> str:
    """A build statement with its variables."""
    needs = [*map(_escaped, sources), *(["|"] if implicit else []), *map(_escaped, implicit)]
    lines = [f"build {' '.join(map(_escaped, made))}: {rule} {' '.join(needs)}"]
    lines += [f"  {name} = {value.replace('$', '$$')}" for name, value in values.items()]
    return "\n".join([*lines, "", ""])


def _escaped(path: str) -> str:
    """A path as ninja reads it."""
    return path.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")
