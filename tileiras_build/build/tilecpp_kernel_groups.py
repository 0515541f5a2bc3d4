"""The CUDA Tile C++ files of a library: the nodes of their bytecode, and kernels with their own options.

nvcc compiles a whole file, and its kernels go through the stages together. If ``kernels=`` sets options of single kernels
(``{"scale<float, 256>": {"opt": 2}}``, ``{"scale": …}`` for all instances of a template), the kernels with the same options
become a group, named ``<file>-<its first kernel in C>``, whose bytecode a step selects from the file's. Only nvcc knows the
kernels of a file: it runs before the graph is constructed, for the first target, and its result is stored in
``<build_dir>/tilebc/<file>.entries`` for as long as its dependencies are unchanged.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from SCons.Builder import Builder

from ..core.errors import TileirasError
from ..core.file_io import read_file
from ..core.tracing.dependency_record import Comparison
from ..pipeline.stages import TILEBC, Stage, source_digest
from ..target.targets import Target
from . import tilecpp_step
from .artifact_node import attach_builder
from .incremental.sconscript_trace import TRACE
from .incremental.script_frames import sys_path_of_steps
from .library_member import Kernel, stem
from .per_kernel_options import Rows, matching, options_of
from .progress import BuildStep
from .python_to_bytecode_step import store_lines, stored_lines
from .settings import Settings
from .stage_actions import WorkerAction, explain_suffix, kernel_name, step_timeout

ENTRIES = ".entries"
KERNEL_GROUP = Stage(
    TILEBC.suffix,
    "a subset of the kernels of a CUDA Tile C++ file",
    "tileiras_build.frontend.tilecpp.extract_kernels:select_kernels",
    sources=("pipeline/stages.py",),
    libraries=("python", "xdsl"),
)


@dataclass(frozen=True)
class KernelGroup:
    """Kernels of one file with the same options: their symbols, and those of ``all`` kernels of the file."""

    name: str
    entries: tuple[str, ...]
    all: tuple[str, ...]


class KernelGroupAction(WorkerAction):
    """Selects the bytecode of one group from that of its file, for one target."""

    def __init__(self, group: KernelGroup, target: Target, executor):
        self.group, self.target = group, target
        signature = {
            "stage": KERNEL_GROUP.name,
            "code": source_digest(KERNEL_GROUP),
            "target": target.name,
            "options": {"kernels": group.entries},
        }
        super().__init__(KERNEL_GROUP, executor, signature)

    def strfunction(self, target, source, env, executor=None) -> str:
        """The displayed line: stage, target and group."""
        return f"{self.stage.name:7} {self.target.name:7} {kernel_name(target[0])}{explain_suffix(target)}"

    def call(self, executor, target, source, env) -> dict[str, bytes]:
        """Select in a worker."""
        path, part = source[0].path, self.group
        arguments = (read_file(path), part.entries, part.all, path, self.target.name)
        return {target[0].name: executor.run(KERNEL_GROUP.edge, *arguments, timeout=step_timeout(env))}


class TileCppSources:
    """Creates the nodes; ``cached`` stores builders by their keys, ``comparison`` compares records with the current state."""

    def __init__(self, build, cached: Callable, comparison: Callable[[], Comparison]):
        self.build, self._cached, self._comparison = build, cached, comparison
        self.for_target: dict[object, Callable[[Target], object]] = {}  # bytecode of one target -> that of another

    def kernels(self, env, node, given: Rows, taken: Collection[str], read: Callable[..., Settings]) -> list[Kernel]:
        """The groups of a file, by the rows ``given``; the whole file if all of its kernels have the same options.

        A key in ``taken``, names of kernels and files, matches only that kernel or file.
        """
        name = stem(node, tilecpp_step.SUFFIX)
        rows = {key: row for key, row in given.items() if key == name or key not in taken}
        own = matching(rows, [name])
        settings = read(**options_of(rows, own))
        whole = Kernel(name, node, node, lambda target, _: self.compiled(env, node, settings, target))
        asking = [key for key in rows if key not in own]
        if not asking or node.has_builder():
            return [whole]
        from ..frontend.tilecpp.extract_kernels import kernel_file_name

        groups = self._groups(rows, name, self._entries(env, node, settings))
        if len(groups) < 2:
            return [replace(whole, called=(name, *called)) for called, _ in groups] or [whole]
        symbols = tuple(symbol for _, group in groups for symbol in group)
        return [
            self._group_kernel(
                env,
                node,
                settings,
                KernelGroup(kernel_file_name(name, group, symbols), tuple(group), symbols),
                (name, *called),
            )
            for called, group in groups
        ]

    def _groups(self, rows: Rows, name: str, entries: Sequence[str]) -> list[tuple[tuple[str, ...], list[str]]]:
        """(the name of one of them, symbols) of kernels that the same rows match."""
        from ..frontend.tilecpp.extract_kernels import demangled_names

        found: dict[tuple[str, ...], tuple[tuple[str, ...], list[str]]] = {}
        for symbol in entries:
            called = demangled_names(symbol)
            group = found.setdefault(matching(rows, [name, *called]), (called, []))
            group[1].append(symbol)
        return list(found.values())

    def _group_kernel(self, env, node, settings: Settings, group: KernelGroup, called: tuple[str, ...]) -> Kernel:
        return Kernel(
            group.name, node, node, lambda target, _: self._picked_bytecode(env, node, settings, group, target), called
        )

    def _picked_bytecode(self, env, node, settings: Settings, group: KernelGroup, target: Target):
        source = self.compiled(env, node, settings, target)
        made = self.build.artifact(source.dir, group.name + KERNEL_GROUP.suffix)
        if not made.has_builder():
            key = (KERNEL_GROUP.edge, target.name, group)
            builder = self._cached(key, lambda: Builder(action=KernelGroupAction(group, target, self.build.executor)))
            attach_builder(env, builder, [made], source)
            self.build.progress.add(made, BuildStep(KERNEL_GROUP.name, target.name, group.name))
            self.for_target[made] = partial(self._picked_bytecode, env, node, settings, group)
        return made

    def compiled(self, env, node, settings: Settings, target: Target):
        """The node of the bytecode of a file for ``target``, which nvcc compiles."""
        folder = env.Dir(f"{settings.build_dir}/{target.name}")
        name = stem(node, tilecpp_step.SUFFIX)
        made = [self.build.artifact(folder, file) for file in tilecpp_step.output_names(name)]
        if made[0].has_builder():
            return made[0]
        action = self._action(env, settings, target)
        builder = self._cached(("builder", *_key(action)), lambda: Builder(action=action))
        attach_builder(env, builder, made, node)
        self.build.remember_reads(made, made[1].get_abspath())
        self.build.progress.add(made[0], BuildStep(TILEBC.name, target.name, name))
        self.for_target[made[0]] = partial(self.compiled, env, node, settings)
        return made[0]

    def _action(self, env, settings: Settings, target: Target) -> tilecpp_step.CompileAction:
        action = tilecpp_step.CompileAction(target, settings, env.Dir("#").get_abspath(), self.build.executor)
        return self._cached(_key(action), lambda: action)

    # ---- the kernels of a file
    def _entries(self, env, node, settings: Settings) -> list[str]:
        """The symbols of a file's kernels; none if nvcc fails, which the step reports."""
        action, root = self._action(env, settings, settings.targets[0]), env.Dir("#").get_abspath()
        shown = os.path.relpath(node.srcnode().get_abspath(), root).replace(os.sep, "%")
        kept = Path(root, settings.build_dir, TILEBC.name, f"{shown}{ENTRIES}")
        with TRACE.untraced(), sys_path_of_steps():
            found = _read_entries(kept, action, self._comparison())
            if found is not None:
                return found
            try:
                return self._run_nvcc(env, node, action, kept)
            except TileirasError:
                self.build.all_known = False
                return []

    def _run_nvcc(self, env, node, action: tilecpp_step.CompileAction, cache_path: Path) -> list[str]:
        from ..frontend.tilecpp.extract_kernels import kernels_of

        made = action.compile(self.build.executor(env), node.path, env)
        action.made[node.path] = made
        entries = kernels_of(made.files[TILEBC.suffix])
        if self.build.makes_files:
            store_lines(cache_path, "\n".join([_digest(action), *entries]).encode(), made.record)
        return entries


def _key(action: tilecpp_step.CompileAction) -> tuple:
    return tilecpp_step.TILECPP.edge, action.target.name, action.signature


def _digest(action: tilecpp_step.CompileAction) -> str:
    return hashlib.sha256(action.signature).hexdigest()


def _read_entries(cache_path: Path, action: tilecpp_step.CompileAction, comparison: Comparison) -> list[str] | None:
    """The stored symbols; None if nvcc must run."""
    digest, *entries = stored_lines(cache_path, comparison) or [""]
    return entries if digest == _digest(action) else None
