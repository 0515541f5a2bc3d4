"""``scons commands``: every stage command of the build, as ``<build_dir>/compile_commands.json``.

The form is that of Clang's "JSON Compilation Database Format Specification": a list of {directory, file, output,
arguments}. Run in order from the folder that they name, the commands make the build's artifacts.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from ..core.file_io import write_files
from ..driver import lower_command
from .always_build import COMMANDS, GraphAction
from .python_to_bytecode_step import ExportAction
from .scons_variables import project_defaults
from .stage_actions import StageAction, kernel_name
from .tilecpp_kernel_groups import KernelGroupAction
from .tilecpp_step import CompileAction


class CommandsAction(GraphAction):
    """Writes the commands of the final artifacts of libraries. Its signature reads the whole graph."""

    alias, file_name = COMMANDS, "compile_commands.json"

    def write(self, path: str, env) -> None:
        """Write the list."""
        rows = list(commands(self.last, env.Dir("#").get_abspath()))
        write_files({Path(path): (json.dumps(rows, indent=1) + "\n").encode()})


def commands(last: Iterable, top: str) -> Iterator[dict]:
    """The commands that make the artifacts ``last``, each once, in dependency order."""
    project = project_defaults()
    for made in chains(last):
        if (arguments := _arguments(made, project)) is not None:
            yield {"directory": top, "file": made.sources[0].path, "output": made.path, "arguments": arguments}


def chains(last: Iterable) -> Iterator:
    """The nodes that are built for the artifacts ``last``, each once and after its source."""
    seen: set = set()
    for node in last:
        chain = []
        while node.has_builder() and node not in seen:
            seen.add(node)
            chain.append(node)
            node = node.sources[0]
        yield from reversed(chain)


def _arguments(node, project: Container[str]) -> list[str] | None:
    """The command of one artifact; None if no stage makes it. ``project``: the options with defaults in the project."""
    action, source = node.builder.action, node.sources[0].path
    if isinstance(action, ExportAction):
        kernel = ["--kernel", kernel_name(node), "--root", "."]
        return ["tileiras-build", "export", source, "-o", node.dir.path, *kernel]
    if isinstance(action, CompileAction):
        return _compile_command(action, source, node.dir.path)
    if isinstance(action, KernelGroupAction):
        of_file = node.sources[0]
        kernels = [word for symbol in action.group.entries for word in ("--kernel", symbol)]
        return [*_compile_command(of_file.builder.action, of_file.sources[0].path, node.dir.path), *kernels]
    return stage_command(node, project) if isinstance(action, StageAction) else None


def stage_command(node, project: Container[str]) -> list[str]:
    """The command of an artifact that a stage makes."""
    action = node.builder.action
    paths = [word for option in action.stage.input_options for word in (f"--{option}", getattr(action.job, option))]
    return [
        *lower_command(node.sources[0].path, action.stage, action.job, project, action.schedule),
        *paths,
        "-o",
        node.path,
    ]


def _compile_command(action: CompileAction, source: str, folder: str) -> list[str]:
    own = action.settings
    words = [f"--instantiate={kernel}" for kernel in own.instantiate]
    words += [f"--nvcc-flags={shlex.join(own.nvcc_flags)}"] if own.nvcc_flags else []
    words += ["--nvcc", own.nvcc] if own.nvcc else []
    return ["tileiras-build", "export", source, "-o", folder, "--root", ".", "--sm", action.target.name, *words]
