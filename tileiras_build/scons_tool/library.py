"""``generate``: builders from the table of stages, and ``env.KernelLibrary``, which chains them.

A library's nodes are, for each kernel, ``<build_dir>/tilebc/<kernel>.tilebc`` (where it is made from Python) and, for
each target, ``<build_dir>/<sm>/<kernel>.<stage>`` of every later stage. Nodes are made with the fewest SCons calls that
do it: at 1,000 kernels x 2 targets the graph has 13,000 of them.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import SCons.Node.FS
import SCons.Script
from SCons.Builder import Builder

from ..bytecode.case_table import REFERENCES, find_imports, is_helper, mentions, read_rows
from ..errors import InvalidInput, Location, TileirasError
from ..executor import Executor
from ..executor.once import Once
from ..pipeline.stages import STAGES, InputFile, Stage
from ..reads.looking import Looking
from ..reads.places import Places
from ..reads.record import Comparison
from ..reports.timeline import Recorder
from . import commands, packages, report, tilecpp
from .actions import StageAction, step_timeout
from .artifact import ArtifactFile, attach, make_artifact
from .cuts import Cuts
from .decider import has_changed
from .exports import CASES, SUFFIX, BuiltNames, ExportAction, ExportReads
from .kernel import Kernel, stem
from .kernel_options import Rows, check_files, check_options, settings_by_kernel
from .orphans import describe, find_orphans, remove_orphans
from .progress import BelowLine, Progress, Step
from .reading import READING, path_of_steps
from .records import Records, lock_folder
from .running import start_executor, warm_up
from .settings import DEFAULTS, Settings, fail, is_explaining, is_pruning, read_settings
from .shortcut import Shortcut, say_up_to_date
from .tilecpp_files import TileCppFiles
from .timing import BUILD, keep_timeline
from .verification import Verification, is_wanted

_ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
PATIENCE = 0.8  # seconds for running steps to end after a signal
_INTERRUPTED = 2  # SCons' exit status of an interrupted build
_current: Build | None = None


def exists(env) -> bool:
    """SCons asks whether the tool can be used: it needs nothing but this package."""
    return True


def generate(env, table: tuple[Stage, ...] = STAGES, executor: Executor | None = None) -> None:
    """Add the builders to ``env``: ``KernelLibrary``, and one per stage (``Tileaa``, ``Ptx``, ``Cubin``, …).

    ``table`` replaces the stages (tests do); ``executor`` the local worker pool.
    """
    # The graph lives as long as SCons does: collecting it costs a fifth of a build that has nothing to do.
    gc.disable()
    # By default SCons takes a file of three days ago for unchanged where its time stamp is, even if it was set back.
    SCons.Script.SetOption("max_drift", -1)
    build = _build_of_this_run(env, executor)
    env[BUILD] = build
    env["PRINT_CMD_LINE_FUNC"] = build.progress.show
    env.Decider(has_changed)
    ArtifactFile.explaining = is_explaining(env)
    chain = Chain(table, build)
    env.AddMethod(chain.add_library, "KernelLibrary")
    env.AddMethod(tilecpp.usable_sources, "TileCpp")
    packages.add_methods(env, chain)
    for position, stage in enumerate(table[1:], 1):
        env.AddMethod(chain.stage_method(table[position - 1], stage), stage.name.capitalize())


def _build_of_this_run(env, executor: Executor | None) -> Build:
    """One per process: environments share the workers and the counts. Ends SCons if there is nothing to do."""
    global _current
    if _current is None:
        folder = Path(env.Dir("#").get_abspath(), str(env.get("build_dir", DEFAULTS["build_dir"])))
        shortcut = Shortcut(READING, folder)
        # What is up to date says nothing of files that nothing is made from any more.
        pruning = is_pruning(env)
        names = None if pruning else shortcut.holds()
        if not names and _changes_files() and lock_folder(env.Dir("#").get_abspath()):
            names = None if pruning else shortcut.holds()
        if names:
            say_up_to_date(names)
            sys.exit(0)
        _current = Build(shortcut, executor, pruning)
        _current.attach()
        if executor is None and _changes_files() and shortcut.misses():
            with READING.aside():
                warm_up(env)
    return _current


def _changes_files() -> bool:
    return not any(map(SCons.Script.GetOption, ("no_exec", "question", "help")))


def new_comparison() -> Comparison:
    """What compares records with what is there at this moment."""
    return Comparison(Looking(Places(SCons.Node.FS.get_default_fs().Dir("#").get_abspath())))


class Build:
    """What the environments of one SCons run share: the executor and the progress display.

    ``rest`` are functions that make, of the nodes that are not lost, what SCons has not made since others are; they say what is missing.
    """

    def __init__(self, shortcut: Shortcut, executor: Executor | None = None, pruning: bool = False):
        self.shortcut, self.pruning = shortcut, pruning
        self.artifacts: list = []
        self.visited: list = []
        self._executor = Once(start_executor, executor)
        self.progress = Progress(sys.stdout)
        self.recorder = Recorder()
        self.records = Records()
        self._begun = False
        self.build_dirs: list[str] = []
        self.interrupted = False
        self.all_known = True  # the names of all kernels
        self._at_end: list[TileirasError] = []
        self.rest: list[Callable[[set], str]] = []

    @property
    def makes_files(self) -> bool:
        """Whether this run of SCons makes anything."""
        return _changes_files()

    def attach(self) -> None:
        """Hook into SCons' progress and exit."""
        SCons.Script.Progress(self.evaluated)
        self.records.attach()
        if sys.stdout.isatty():
            sys.stdout = BelowLine(sys.stdout, self.progress.end_line)
            sys.stderr = BelowLine(sys.stderr, self.progress.end_line)
        self._watch_interrupts()
        atexit.register(self.finish)

    def artifact(self, folder, name: str):
        """The node of the artifact ``name`` in ``folder``."""
        node = make_artifact(folder, name, self.settled)
        self.artifacts.append(node)
        return node

    @cached_property
    def comparison(self) -> Comparison:
        """What compares records of exports with what is there in this run."""
        return new_comparison()

    def remember_reads(self, nodes: list, path: str) -> None:
        """The record at ``path`` tells what the step that makes ``nodes`` has read."""
        reads = ExportReads(path, lambda: self.comparison)
        for node in nodes:
            if isinstance(node, ArtifactFile):
                node.reads = reads

    def evaluated(self, node) -> None:
        """SCons has looked at ``node``, or will build it."""
        if not self._begun:
            self._begun = True
            # SCons asks it for its cache in the threads that run steps, where two would make it at once.
            SCons.Script.DefaultEnvironment(tools=[])
        READING.stop()
        if not isinstance(node, ArtifactFile):
            self.visited.append(node)
        self.progress.evaluated(node)
        self.records.step()

    def settled(self, node) -> None:
        """``node`` is current, and SCons will not look at it."""
        self.progress.settled(node)

    def _watch_interrupts(self) -> None:
        """On Ctrl-C SCons waits for the running steps; end them, or that can take minutes.

        SCons installs its signal handlers later and over ours; the wakeup descriptor hears of signals all the same.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        heard, written = os.pipe()
        os.set_blocking(written, False)
        signal.set_wakeup_fd(written, warn_on_full_buffer=False)
        threading.Thread(target=self._end_on_signal, args=(heard,), daemon=True).start()

    def _end_on_signal(self, heard: int) -> None:
        while numbers := os.read(heard, 64):
            if _ENDING.intersection(numbers):
                self.interrupted = True
                threading.Thread(target=self._executor.interrupt, daemon=True).start()
                self._leave_stuck_steps()

    def _leave_stuck_steps(self) -> None:
        """End the process where steps wait on: for a file system, say, that does not answer."""
        until = time.monotonic() + PATIENCE
        while self.progress.running:
            if time.monotonic() > until:
                print("\nscons: Build interrupted; steps that do not end are left.", file=sys.stderr, flush=True)
                os._exit(_INTERRUPTED)
            time.sleep(0.02)

    def executor(self, env) -> Executor:
        """The executor, started at the first step that needs one."""
        return self._executor.get(env)

    def finish(self) -> None:
        """At exit: show the summary and end the workers. Ctrl-C leaves the rest."""
        with suppress(KeyboardInterrupt):
            self._finish()

    def _finish(self) -> None:
        self._executor.close()
        option = SCons.Script.GetOption
        quiet = self.interrupted or option("no_exec") or option("clean") or option("silent")
        if self.build_dirs and not quiet:
            self.progress.summarize(SCons.Script.GetBuildFailures(), self.build_dirs[0])
            self.progress.add_line(self._executor.summary())
        if not quiet or self.pruning:
            self._look_for_orphans(quiet)
        if self.build_dirs and not (option("no_exec") or option("clean")):
            keep_timeline(self.recorder, self.progress.steps, self.build_dirs[0], option("num_jobs"))
        if self.build_dirs and not quiet and SCons.Script.GetBuildFailures():
            self._end_with_failures()
        if self.build_dirs and not self.interrupted and not SCons.Script.Main.exit_status:
            doubt = self.shortcut.keep(self.artifacts, self.visited, bool(self.progress.built))
            if doubt and ArtifactFile.explaining:
                print(f"scons: the next run will check every node: {doubt}")

    def say_at_end(self, error: TileirasError) -> None:
        """Say ``error`` after the failures that it follows from."""
        self._at_end.append(error)

    def _end_with_failures(self) -> None:
        """Make the rest of what cannot be whole, with -k, and say what is missing."""
        lost = self.progress.lost_nodes(SCons.Script.GetBuildFailures())
        if SCons.Script.GetOption("keep_going"):
            for make in self.rest:
                self.progress.add_line(make(lost))
        for error in self._at_end:
            self.progress.add_line(str(error))

    def _look_for_orphans(self, quiet: bool) -> None:
        """Name or remove them, if the build scripts were read to their end, so that all kernels are known."""
        if not (self._begun and self.all_known) or self.interrupted or not _changes_files():
            return
        orphans = find_orphans(self.build_dirs, self.artifacts, self.pruning)
        said = remove_orphans(orphans) if self.pruning else describe(orphans)
        self.progress.add_line("" if quiet else said)


@dataclass
class Rule:
    """One stage for one target and one set of options: its builder and the files that it reads besides its artifact.

    ``always`` are those of every artifact, ``asked`` finds those that one asks for. ``settings`` are kept alive: rules are found by their identity.
    """

    builder: object
    always: list
    asked: Callable | None
    settings: Settings


class Chain:
    """Makes the nodes of one table of stages."""

    def __init__(self, table: tuple[Stage, ...], build: Build):
        self.table, self.build = table, build
        self._builders: dict[tuple, object] = {}
        self._owners: dict[str, str] = {}
        self._helpers: set[str] = set()  # files that have been named as helpers
        self._cut_from: dict[tuple[str, str], list[str]] = {}
        self._verification = Verification(build) if is_wanted() else None
        self.files = TileCppFiles(build, self._cached, new_comparison)

    def add_library(self, env, name: str, sources: Iterable, sm: str | None = None, kernels: Mapping | None = None):
        """``env.KernelLibrary(name, sources, sm="90,100")``: an alias of the cubins of all kernels for all targets.

        ``sources`` are ``.py`` files with a ``CASES`` table, CUDA Tile C++ (``.cu``) and ``.tilebc`` files, as names or nodes; ``sm`` defaults
        to the environment's. ``kernels`` gives single ones options of their own: ``{"matmul_*": {"opt": 2}}``. Ends
        SCons with one sentence where an option is wrong or two kernels share a name.
        """
        try:
            return self._add_library(env, name, sources, sm, kernels or {})
        except TileirasError as error:
            fail(error)

    def _add_library(self, env, name: str, sources: Iterable, sm: str | None, options: Mapping):
        settings = read_settings(env, sm=sm)
        folder = env.Dir(settings.build_dir).path
        self.build.build_dirs.append(folder)
        nodes = [node for source in env.Flatten([sources]) for node in env.arg2nodes(source, env.fs.File)]
        read = lambda **given: read_settings(env, **{"sm": sm} | given)
        check_options(name, options)
        kernels = self._kernels_of(env, nodes, settings, options, read)
        self._check_names(kernels, name, folder)
        later = None if self.build.all_known else self.build.say_at_end
        own = settings_by_kernel(name, kernels, options, read, later)
        check_files(name, options, kernels, [stem(node, tilecpp.SUFFIX) for node in nodes if _is_tilecpp(node)])
        by_target = {target: None for kernel in kernels for target in own[kernel.name].targets}
        last = [
            self._add_target(env, kernel, target, own[kernel.name])
            for target in by_target
            for kernel in kernels
            if target in own[kernel.name].targets
        ]
        if self._verification is not None:
            self._verification.add(env, kernels, own, self.table)
        if commands.CommandsAction.is_wanted():
            commands.add_commands(env, settings.build_dir, last)
        if report.ReportAction.is_wanted():
            report.add_report(env, folder, last)
        return env.Alias(name, last)

    def _kernels_of(self, env, nodes, settings: Settings, options: Rows, read: Callable) -> list[Kernel]:
        """The kernels of all files, in the order of the files; CUDA Tile C++ files are the last to be looked into."""
        others = {node: self._kernels(env, node, settings) for node in nodes if not _is_tilecpp(node)}
        taken = {kernel.name for made in others.values() for kernel in made}
        taken |= {stem(node, tilecpp.SUFFIX) for node in nodes if node not in others}
        made = (
            others[node] if node in others else self.files.kernels(env, node, options, taken, read) for node in nodes
        )
        return [kernel for kernels in made for kernel in kernels]

    def _kernels(self, env, node, settings: Settings) -> list[Kernel]:
        first = self.table[0]
        if node.name.endswith(first.suffix):
            return [Kernel(stem(node, first.suffix), node, node, lambda target, settings: node)]
        if not node.name.endswith(".py"):
            message = f"a kernel library is made from .py, {tilecpp.SUFFIX} and {first.suffix} files"
            raise InvalidInput("library-source", message, location=Location(str(node)))
        try:
            if is_helper(path := node.srcnode().get_abspath()):
                if not mentions(path, REFERENCES):
                    self._say_helper(node, "no CASES table, so this is a module that kernels import")
                return []
        except TileirasError:
            pass  # the step says what is wrong with it
        return self._exported(env, node, settings)

    def _say_helper(self, node, why: str) -> None:
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
            # The same error is the file's own: it fails that step, and -k builds the others.
            names, imports = [Path(path).stem], []
            self.build.all_known = False
        if not names:
            self._say_helper(node, "its CASES table is empty")
            return []
        builder = self._cached(("export",), lambda: Builder(action=ExportAction(stage, self.build.executor)))
        folder = env.Dir(f"{settings.build_dir}/{stage.name}")
        made = [self.build.artifact(folder, name + stage.suffix) for name in names]
        record = self.build.artifact(folder, names[0] + SUFFIX)
        attach(env, builder, [*made, record], node, [env.fs.File(str(path)) for path in imports])
        self.build.remember_reads([*made, record], record.get_abspath())
        self.build.progress.add(made[0], Step(stage.name, "", Path(path).stem))
        return [_exported_kernel(name, node, bytecode) for name, bytecode in zip(names, made, strict=True)]

    def _names_of(self, env, path: str, settings: Settings) -> list[str]:
        """The kernels of a Python file: from its text, or where code builds its table from a run of it."""
        rows = read_rows(path)
        if rows is not None:
            return [row.name for row in rows]
        root = env.Dir("#").get_abspath()
        shown = os.path.relpath(path, root).replace(os.sep, "%")
        kept = Path(root, settings.build_dir, self.table[0].name, f"{shown}{CASES}")
        names = BuiltNames(path, kept, root)
        with READING.aside(), path_of_steps():
            # The record of the export, which reads the same, tells a later run whether they hold.
            found = names.find(new_comparison())
            return (
                found if found is not None else names.ask(self.build.executor(env), step_timeout(env), _changes_files())
            )

    def _check_names(self, kernels: list[Kernel], library: str, folder: str) -> None:
        """Kernels of a build folder share one name space."""
        for kernel in kernels:
            path = f"{folder}/{kernel.name}"
            owner = self._owners.setdefault(path, str(kernel.origin))
            if owner != str(kernel.origin):
                message = f"kernel {kernel.name} of library {library} is made from {owner} and from {kernel.origin}"
                raise InvalidInput(
                    "library-name", message, remedy="rename one, or give the libraries their own build_dir"
                )

    def _add_target(self, env, kernel: Kernel, target, settings: Settings):
        """The chain of one kernel for one target; returns the last artifact's node."""
        folder = env.Dir(f"{settings.build_dir}/{target.name}")
        node, previous = kernel.bytecode(target, settings), self.table[0]
        for stage in self.table[1:]:
            made = self._make(env, settings, target, previous, stage, node, folder, kernel.name)
            node, previous = made[0], stage
        return node

    def _make(self, env, settings, target, previous: Stage, stage: Stage, node, folder, name: str):
        rule = self._cached(
            (stage.suffix, target.name, id(settings)),
            lambda: self._rule(env, settings, target, previous, stage, folder),
        )
        made = [self.build.artifact(folder, name + suffix) for suffix in (stage.suffix, *stage.side_products)]
        attach(env, rule.builder, made, node, rule.always, rule.asked)
        manifest = made[1] if stage.side_products else None
        self.build.progress.add(made[0], Step(stage.name, target.name, name), manifest)
        return made

    def _rule(self, env, settings: Settings, target, previous: Stage, stage: Stage, folder) -> Rule:
        job = settings.job(target, stage)
        always = [env.fs.File(getattr(job, file.option)) for file in stage.inputs if file.cut is None]
        cuts = [self._cuts(env, settings, target, file, file.cut, folder) for file in stage.inputs if file.cut]
        builder = Builder(
            action=StageAction(previous, stage, job, self.build.executor, cuts),
            suffix=stage.suffix,
            src_suffix=previous.suffix,
            **({"source_scanner": cuts[0].scanner()} if cuts else {}),
        )
        return Rule(builder, always, cuts[0].known if cuts else None, settings)

    def _cuts(self, env, settings: Settings, target, file: InputFile, stage: Stage, folder) -> Cuts:
        job = settings.job(target, stage)
        files = self._cut_from.setdefault((folder.path, file.option), [])
        path = getattr(job, file.option)
        if path not in files:
            files.append(path)
        return Cuts(env, file, stage, job, folder, files.index(path))

    def _cached(self, key: tuple, make: Callable):
        if key not in self._builders:
            self._builders[key] = make()
        return self._builders[key]

    def stage_method(self, previous: Stage, stage: Stage) -> Callable:
        """``env.Ptx(source, sm="90")``: one stage of one file, beside the library's nodes."""

        def build_stage(env, source, sm: str | None = None):
            try:
                settings = read_settings(env, sm=sm)
                return [self._one(env, settings, target, previous, stage, source) for target in settings.targets]
            except TileirasError as error:
                fail(error)

        build_stage.__doc__ = f"Make {stage.suffix} ({stage.description}) from a {previous.suffix} file."
        return build_stage

    def _one(self, env, settings: Settings, target, previous: Stage, stage: Stage, source):
        node = env.arg2nodes(source, env.fs.File)[0]
        name = stem(node, previous.suffix)
        folder = env.Dir(f"{settings.build_dir}/{target.name}")
        return self._make(env, settings, target, previous, stage, node, folder, name)[0]


def _is_tilecpp(node) -> bool:
    return node.name.endswith(tilecpp.SUFFIX)


def _exported_kernel(name: str, file, bytecode) -> Kernel:
    return Kernel(name, bytecode, file, lambda target, settings: bytecode)
