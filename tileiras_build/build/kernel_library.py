"""Builders from the table of stages, and ``env.KernelLibrary``, which chains them.

A library's nodes are, for each kernel, ``<build_dir>/tilebc/<kernel>.tilebc`` (if it is exported from Python) and, for
each target, ``<build_dir>/<sm>/<kernel>.<stage>`` of every later stage. Nodes are created with as few SCons calls as
possible: for 1,000 kernels x 2 targets the graph has 13,000 of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import SCons.Node.FS
import SCons.Script
from SCons.Builder import Builder

from ..core.errors import InvalidInput, Location, TileirasError
from ..core.tracing.dependency_record import SUFFIX
from ..frontend.cases_table_from_ast import CHOICES, REFERENCES, find_imports, has_table, is_helper, read_rows
from ..pipeline.stages import STAGES, InputFile, Stage
from ..pipeline.tuning_parameters import VARIANTS
from .always_build import COMMANDS, NINJA, REPORT, TUNE, VERIFY, add_graph_file, changes_files, is_requested
from .artifact_node import ArtifactFile, attach_builder
from .build_session import BuildSession, new_comparison
from .decider import has_changed
from .incremental.partial_scons_graph import LibraryAlias, LibraryNodes, library_alias, without_completing
from .incremental.sconscript_trace import TRACE
from .incremental.script_frames import sys_path_of_steps
from .libdevice_subsets import LibdeviceSubsets
from .library_kernels import LibraryKernels
from .library_member import TILECPP, Kernel, is_tilecpp, stem
from .per_kernel_options import Rows
from .progress import BuildStep
from .python_to_bytecode_step import CASES, ComputedKernelNames, ExportAction
from .scons_variables import exit_with_error, is_explaining
from .settings import Settings, read_settings
from .stage_actions import StageAction, step_timeout
from .step_timeline import BUILD

if TYPE_CHECKING:
    from SCons.Builder import BuilderBase

    from .kernel_package import PackageBuilder
    from .tilecpp_kernel_groups import TileCppSources
    from .tune_target import TuneTarget
    from .verify_target import VerifyTarget


def add_builders(env, build: BuildSession, table: tuple[Stage, ...] | None = None) -> None:
    """Add the builders to ``env``: ``KernelLibrary``, and one per stage (``Tileaa``, ``Ptx``, ``Cubin``, …).

    ``table`` replaces the stages (for tests).
    """
    env[BUILD] = build
    env["PRINT_CMD_LINE_FUNC"] = build.progress.show
    env.Decider(has_changed)
    ArtifactFile.explaining = is_explaining(env)
    table = table or STAGES
    chain = GraphBuilder(table, build)
    env.AddMethod(chain.add_library, "KernelLibrary")
    env.AddMethod(_usable_sources, "TileCpp")
    env.AddMethod(chain.add_package, "KernelPackage")
    for position, stage in enumerate(table[1:], 1):
        env.AddMethod(chain.stage_method(table[position - 1], stage), stage.name.capitalize())


@dataclass
class Rule:
    """One stage for one target and one set of options: its builder and the files that it reads besides its artifact.

    ``always`` are those of every artifact, ``requested_inputs`` finds those that one artifact requests. ``settings`` is kept alive
    because rules are found by its identity.
    """

    builder: BuilderBase
    always: list
    requested_inputs: Callable | None
    settings: Settings


class GraphBuilder:
    """Makes the nodes of one table of stages."""

    def __init__(self, table: tuple[Stage, ...], build: BuildSession):
        self.table, self.build = table, build
        self._builders: dict[tuple, object] = {}
        self._helpers: set[str] = set()  # files that were reported as helpers
        self._cut_from: dict[tuple[str, str], list[str]] = {}

    @cached_property
    def files(self) -> TileCppSources:
        """The CUDA Tile C++ files of this chain's libraries."""
        from .tilecpp_kernel_groups import TileCppSources

        return TileCppSources(self.build, self._cached, new_comparison)

    @cached_property
    def _verification(self) -> VerifyTarget:
        from .verify_target import VerifyTarget

        return VerifyTarget(self.build)

    @cached_property
    def _tuning(self) -> TuneTarget:
        from .tune_target import TuneTarget

        return TuneTarget(self.build)

    @cached_property
    def _packages(self) -> PackageBuilder:
        from .kernel_package import PackageBuilder

        return PackageBuilder(self)

    def add_package(self, env, *arguments, **options):
        """``env.KernelPackage``: see ``PackageBuilder.add``."""
        return self._packages.add(env, *arguments, **options)

    def add_library(self, env, name: str, sources: Iterable, sm: str | None = None, kernels: Mapping | None = None):
        """``env.KernelLibrary(name, sources, sm="90,100")``: an alias of the cubins of all kernels for all targets.

        ``sources`` are ``.py`` files with a ``CASES`` table, CUDA Tile C++ (``.cu``) and ``.tilebc`` files, as names or nodes; ``sm``
        defaults to the environment's. ``kernels`` sets options of single kernels: ``{"matmul_*": {"opt": 2}}``. Exits with a
        one-line error for an invalid option or if two kernels share a name.
        """
        try:
            return self._add_library(env, name, sources, sm, kernels or {})
        except TileirasError as error:
            exit_with_error(error)

    def _add_library(self, env, name: str, sources: Iterable, sm: str | None, options: Mapping):
        settings = read_settings(env, sm=sm)
        self.build.build_dirs.append(env.Dir(settings.build_dir).path)
        nodes = _nodes(env, sources)
        members = LibraryKernels(self, env, name, nodes, sm, options)
        alias = library_alias(name, members.folder)
        last = members.selected() if isinstance(alias, LibraryAlias) else None
        if last is None:
            self.build.complete_graph()
            last = members.all()
        if is_requested(COMMANDS):
            from .compile_commands import CommandsAction

            add_graph_file(env, settings.build_dir, CommandsAction, last)
        if is_requested(NINJA):
            from .ninja_file import NinjaAction

            add_graph_file(env, settings.build_dir, NinjaAction, last)
        if is_requested(REPORT):
            from .report_target import add_report

            add_report(env, name, members.folder, last)
        with without_completing(alias):
            made = LibraryNodes(env.Alias(alias, last), members.all)
        if isinstance(alias, LibraryAlias) and self.build.leaves_out_nodes:
            self.build.defer_library(alias, members.all)
        return made

    def kernels_of(self, env, nodes, settings: Settings, options: Rows, read: Callable, taken: set[str]) -> list:
        """The kernels of each file of ``nodes``; CUDA Tile C++ files are read last.

        ``taken`` are names of other kernels and files.
        """
        others = {node: self._kernels(env, node, settings) for node in nodes if not is_tilecpp(node)}
        taken = taken | {kernel.name for made in others.values() for kernel in made}
        taken |= {stem(node, TILECPP) for node in nodes if node not in others}
        return [
            others[node] if node in others else self.files.kernels(env, node, options, taken, read) for node in nodes
        ]

    def _kernels(self, env, node, settings: Settings) -> list[Kernel]:
        first = self.table[0]
        if node.name.endswith(first.suffix):
            return [Kernel(stem(node, first.suffix), node, node, lambda target, settings: node)]
        if not node.name.endswith(".py"):
            message = f"KernelLibrary sources must be .py, {TILECPP} or {first.suffix} files"
            raise InvalidInput("library-source", message, location=Location(str(node)))
        try:
            if is_helper(path := node.srcnode().get_abspath()):
                if not has_table(path, REFERENCES):
                    self._report_helper(node, "no CASES table: treated as a helper module")
                return []
        except TileirasError:
            pass  # the step reports the error
        return self._exported(env, node, settings)

    def _report_helper(self, node, why: str) -> None:
        if not SCons.Script.GetOption("silent") and str(node) not in self._helpers:
            self._helpers.add(str(node))
            print(f"scons: {node}: remark[export-helper]: {why}")

    def _exported(self, env, node, settings: Settings) -> list[Kernel]:
        """The kernels of a Python file, which one step exports."""
        stage = self.table[0]
        path = node.srcnode().get_abspath()
        try:
            names, imports = self._names_of(env, path, settings), find_imports(path)
        except TileirasError:
            # The error belongs to the file: it fails that step, and -k builds the others.
            names, imports = self._names_of_last_build(node) or [Path(path).stem], []
            self.build.all_known = False
        if not names:
            self._report_helper(node, "its CASES table is empty")
            return []
        builder = self._cached(("export",), lambda: Builder(action=ExportAction(stage, self.build.executor)))
        folder = env.Dir(f"{settings.build_dir}/{stage.name}")
        kept = [f"{name}.{sm}" for name, of in _choices(path).items() if name in names for sm in of]
        made = [self.build.artifact(folder, name + stage.suffix) for name in [*names, *kept]]
        for name, bytecode in zip(names, made):
            if bytecode.has_builder() and bytecode.sources[0] is not node:
                raise _duplicate_name_error(name, bytecode.sources[0], node)
        record = self.build.artifact(folder, names[0] + SUFFIX)
        attach_builder(env, builder, [*made, record], node, [env.fs.File(str(path)) for path in imports])
        self.build.remember_reads([*made, record], record.get_abspath())
        self.build.progress.add(made[0], BuildStep(stage.name, "", Path(path).stem))
        by_name = dict(zip([*names, *kept], made, strict=True))
        return [_exported_kernel(name, node, by_name) for name in names]

    def _names_of_last_build(self, node) -> list[str] | None:
        """The kernels that a source had when the last full build of the record ran."""
        return self.build.subset.full_graph.sources.get(node.get_abspath()) if self.build.subset is not None else None

    def _names_of(self, env, path: str, settings: Settings) -> list[str]:
        """The kernels of a Python file: from its text, or from a run of it if code builds its table."""
        rows = read_rows(path)
        if rows is not None:
            return [row.name for row in rows]
        root = env.Dir("#").get_abspath()
        shown = os.path.relpath(path, root).replace(os.sep, "%")
        kept = Path(root, settings.build_dir, self.table[0].name, f"{shown}{CASES}")
        names = ComputedKernelNames(path, kept, root)
        with TRACE.untraced(), sys_path_of_steps():
            # The record of the export has the same dependencies, and tells a later run whether the names are current.
            found = names.find(new_comparison())
            return (
                found if found is not None else names.run(self.build.executor(env), step_timeout(env), changes_files())
            )

    def check_names(self, kernels: list[Kernel], library: str, folder: str) -> None:
        """The kernels of a build folder share one name space."""
        for kernel in kernels:
            path = f"{folder}/{kernel.name}"
            owner = self.build.owners.setdefault(path, str(kernel.origin))
            if owner != str(kernel.origin):
                raise _duplicate_name_error(f"{kernel.name} of library {library}", owner, kernel.origin)

    def add_target(self, env, kernel: Kernel, target, settings: Settings):
        """Add the chain of one kernel for one target; returns the last artifact's node."""
        folder = env.Dir(f"{settings.build_dir}/{target.name}")
        node, previous = kernel.bytecode(target, settings), self.table[0]
        for stage in self.table[1:]:
            made = self._make(env, settings, target, previous, stage, node, folder, kernel.name)
            node, previous = made[0], stage
        return node

    def _make(self, env, settings, target, previous: Stage, stage: Stage, node, folder, name: str):
        rule = self.rule(env, settings, target, previous, stage, folder)
        made = [self.build.artifact(folder, name + suffix) for suffix in (stage.suffix, *stage.side_outputs)]
        attach_builder(env, rule.builder, made, node, rule.always, rule.requested_inputs)
        manifest = made[1] if stage.side_outputs else None
        variants = bool(dict(settings.tuning).get(VARIANTS.name, VARIANTS.default))
        self.build.progress.add(made[0], BuildStep(stage.name, target.name, name), manifest, variants)
        return made

    def verify(self, env, kernels: list[Kernel], own: Mapping[str, Settings]) -> None:
        """Add steps that verify ``kernels``, if this run requests them."""
        if is_requested(VERIFY):
            self._verification.add(env, kernels, own, self.table)

    def tune(self, env, kernels: list[Kernel], own: Mapping[str, Settings]) -> None:
        """Add steps that tune ``kernels``, if this run requests them."""
        if is_requested(TUNE):
            self._tuning.add(env, kernels, own)

    def rule(self, env, settings: Settings, target, previous: Stage, stage: Stage, folder) -> Rule:
        """How ``stage`` makes its artifacts in ``folder``."""
        key = (stage.suffix, target.name, id(settings))
        return self._cached(key, lambda: self._rule(env, settings, target, previous, stage, folder))

    def _rule(self, env, settings: Settings, target, previous: Stage, stage: Stage, folder) -> Rule:
        job = settings.job(target, stage)
        always = [
            self.build.digests.file(env, getattr(job, file.option)) for file in stage.inputs if file.extract is None
        ]
        schedule = settings.schedule if "schedule" in stage.options else None
        if schedule is not None:
            always.append(env.fs.File(schedule))
        cuts = [
            self._libdevice_subsets(env, settings, target, file, file.extract, folder)
            for file in stage.inputs
            if file.extract
        ]
        builder = Builder(
            action=StageAction(previous, stage, job, self.build.executor, cuts, schedule, settings.warnings),
            suffix=stage.suffix,
            src_suffix=previous.suffix,
            **({"source_scanner": cuts[0].scanner()} if cuts else {}),
        )
        return Rule(builder, always, cuts[0].known if cuts else None, settings)

    def _libdevice_subsets(
        self, env, settings: Settings, target, file: InputFile, stage: Stage, folder
    ) -> LibdeviceSubsets:
        job = settings.job(target, stage)
        files = self._cut_from.setdefault((folder.path, file.option), [])
        path = getattr(job, file.option)
        if path not in files:
            files.append(path)
            # The names of the subsets contain the index of the file that they are extracted from.
            self.build.libraries.can_be_partial &= len(files) == 1
        return LibdeviceSubsets(env, file, stage, job, folder, files.index(path))

    def _cached(self, key: tuple, make: Callable):
        if key not in self._builders:
            self._builders[key] = make()
        return self._builders[key]

    def stage_method(self, previous: Stage, stage: Stage) -> Callable:
        """``env.Ptx(source, sm="90")``: one stage of one file, besides the library's nodes."""

        def build_stage(env, source, sm: str | None = None):
            try:
                settings = read_settings(env, sm=sm)
                return [self._one(env, settings, target, previous, stage, source) for target in settings.targets]
            except TileirasError as error:
                exit_with_error(error)

        build_stage.__doc__ = f"Make {stage.suffix} ({stage.description}) from a {previous.suffix} file."
        return build_stage

    def _one(self, env, settings: Settings, target, previous: Stage, stage: Stage, source):
        node = env.arg2nodes(source, env.fs.File)[0]
        name = stem(node, previous.suffix)
        folder = env.Dir(f"{settings.build_dir}/{target.name}")
        return self._make(env, settings, target, previous, stage, node, folder, name)[0]


def _usable_sources(env, sources: Iterable) -> list:
    """``env.TileCpp``."""
    from .tilecpp_step import available_sources

    return available_sources(env, sources)


def _nodes(env, sources: Iterable) -> list:
    """The nodes of sources, which are names or nodes. To flatten a list of nodes takes as long as to create them."""
    if isinstance(sources, list) and all(isinstance(source, SCons.Node.Node) for source in sources):
        return list(sources)
    return env.arg2nodes([sources], env.fs.File)


def _duplicate_name_error(kernel: str, one: object, other: object) -> InvalidInput:
    """The error for two files of a build folder with a kernel of the same name."""
    message = f"kernel {kernel} is defined in both {one} and {other}"
    return InvalidInput("library-name", message, remedy="rename one, or use different build_dir")


def _exported_kernel(name: str, file, made: Mapping[str, object]) -> Kernel:
    """A kernel of a Python file; its bytecode for a GPU is that of the point chosen for it, or of its default."""
    bytecode = made[name]
    return Kernel(name, bytecode, file, lambda target, settings: made.get(f"{name}.{target.generation}", bytecode))


def _choices(path: str) -> Mapping[str, Mapping[str, object]]:
    """The choices beside a Python file; none from an invalid file, which the export reports."""
    if not os.path.exists(os.path.splitext(path)[0] + CHOICES):
        return {}
    from ..frontend.tuning_choices import read_choices

    try:
        return read_choices(path)
    except TileirasError:
        return {}
