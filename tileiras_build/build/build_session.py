"""The shared state of all environments of one SCons run: the executor, the progress display, and the work at exit."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property

import SCons.Node.FS
import SCons.Script

from ..core.errors import TileirasError
from ..core.tracing.dependency_record import Comparison
from ..core.tracing.dependency_state import Probe
from ..core.tracing.portable_paths import PortablePaths
from ..reports.build_timeline import Recorder
from ..workers.executor import Executor
from ..workers.executor.lazy_executor import LazyExecutor
from .always_build import changes_files
from .artifact_node import ArtifactFile, make_artifact
from .dry_run import DryRun, is_plain_dry_run
from .incremental.digest_cache import DigestCache
from .incremental.null_build import BuildState, NullBuild, print_up_to_date
from .incremental.partial_scons_graph import Libraries, only_artifacts
from .incremental.record_build import FinishedBuild, record_build
from .incremental.sconscript_trace import TRACE
from .orphaned_artifacts import describe, find_orphans, remove_orphans
from .progress import Progress, ProgressSafeStream
from .python_to_bytecode_step import ExportDependencies
from .replaced_artifacts import ReplacedArtifacts
from .scons_variables import exit_with_error
from .sconsign_writer import SconsignWriter, open_sconsign
from .select_executor import start_executor
from .step_timeline import store_timeline
from .unknown_targets import reject_unknown_options, reject_unknown_targets
from .watch import report_files_to_watcher

_END_SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
SHUTDOWN_TIMEOUT = 0.8  # seconds for running steps to end after a signal
_INTERRUPTED = 2  # SCons' exit status of an interrupted build


def new_comparison() -> Comparison:
    """A new comparison of records with the current state."""
    return Comparison(Probe(PortablePaths(SCons.Node.FS.get_default_fs().Dir("#").get_abspath())))


class BuildSession:
    """The shared state of all environments of one SCons run.

    ``state`` is the change since the last run; ``subset`` the kernels that this run checks, None for all.
    ``rest`` are functions for outputs that SCons did not build because other steps failed: each builds its output from the
    remaining nodes, and returns what is missing. ``deferred`` are functions that declare what needs the nodes of all kernels.
    """

    def __init__(self, null_build: NullBuild, executor: Executor | None, pruning: bool, state: BuildState):
        self.null_build, self.pruning, self.subset = null_build, pruning, state.subset
        self.dry_run = DryRun() if is_plain_dry_run() else None
        self.digests = DigestCache(state.digests)
        self.libraries = Libraries()
        self.artifacts: list = []
        self.visited: list = []
        self._executor = LazyExecutor(start_executor, executor)
        cubins = self.subset.full_graph.cubins if self.subset is not None else None
        self.progress = Progress(sys.stdout, cubins, dry=not self.makes_files)
        self.recorder = Recorder()
        self.records = SconsignWriter()
        self.replaced = ReplacedArtifacts(null_build.folder)
        self._begun = False
        self.build_dirs: list[str] = []
        self.packages: set[str] = set()  # names of packages
        self.owners: dict[str, str] = {}  # kernel (by folder and name) -> its source
        self.interrupted = False
        self.all_known = True  # whether the names of all kernels are known
        self._at_end: list[TileirasError] = []
        self.rest: list[Callable[[set], str]] = []
        self.deferred: list[Callable[[], object]] = []

    @property
    def makes_files(self) -> bool:
        """Whether this run of SCons builds anything."""
        return changes_files()

    def attach(self) -> None:
        """Hook into SCons' progress and exit."""
        SCons.Script.Progress(self.evaluated)
        self._check_before_build()
        self.records.attach()
        if sys.stdout.isatty():
            sys.stdout = ProgressSafeStream(sys.stdout, self.progress.end_line)
            sys.stderr = ProgressSafeStream(sys.stderr, self.progress.end_line)
        self._watch_interrupts()
        atexit.register(self.finish)

    def keep_replaced(self) -> None:
        """Keep what steps replace, for a build that goes back to earlier options."""
        ArtifactFile.keep_replaced = self.replaced.keep

    def artifact(self, folder, name: str):
        """The node of the artifact ``name`` in ``folder``."""
        node = make_artifact(folder, name, self.skipped)
        self.artifacts.append(node)
        return node

    @cached_property
    def comparison(self) -> Comparison:
        """The comparison of export records with the current state, shared by this run."""
        return new_comparison()

    def remember_reads(self, nodes: list, path: str) -> None:
        """Register the record at ``path`` as the dependencies of the step that makes ``nodes``."""
        reads = ExportDependencies(path, lambda: self.comparison)
        for node in nodes:
            if isinstance(node, ArtifactFile):
                node.reads = reads

    def evaluated(self, node) -> None:
        """SCons has checked ``node``, or will build it."""
        if not self._begun:
            self._begun = True
            # SCons creates its cache on demand in the threads that run steps, where two might create it at once.
            SCons.Script.DefaultEnvironment(tools=[])
        TRACE.stop()
        if not isinstance(node, ArtifactFile):
            self.visited.append(node)
        self.progress.evaluated(node)
        self.records.step()

    def _check_before_build(self) -> None:
        """Check names and records after the build scripts are read: later SCons treats an exit as a failed step."""
        main = SCons.Script.Main
        build = main._build_targets

        def check_and_build(fs, options, targets, target_top):
            steps = self._dry_run_steps()
            self._reject_invalid_command_line(target_top)
            if steps is None:
                return build(fs, options, targets, target_top)
            self._show_dry_run(steps)
            return SCons.Script.DEFAULT_TARGETS

        main._build_targets = check_and_build

    def _dry_run_steps(self) -> list[str] | None:
        """The steps that a dry run shows; None if SCons decides them, with all nodes."""
        if self.dry_run is None:
            return None
        TRACE.stop()
        steps = self.dry_run.steps()
        if steps is None:
            self.complete_graph()
        return steps

    def _show_dry_run(self, steps: list[str]) -> None:
        """Print ``steps`` as SCons would."""
        display = SCons.Script.Main.progress_display
        display("scons: Building targets ...")
        self.progress.show_all(steps)
        if not steps:
            print_up_to_date(list(map(str, SCons.Script.DEFAULT_TARGETS)))
        display("scons: done building targets.")

    @property
    def leaves_out_nodes(self) -> bool:
        """Whether libraries have no nodes for some kernels."""
        return self.subset is not None or self.dry_run is not None

    def _reject_invalid_command_line(self, target_top: str | None) -> None:
        """Exit for unknown options and targets, and if the records cannot be written.

        Targets are relative to ``target_top``, the folder of the project where SCons was started (``-u``, ``-U``, ``-D``).
        """
        with TRACE.untraced():
            try:
                reject_unknown_options(TRACE.sources())
                # A run of some kernels has no nodes of the others.
                if self.subset is None:
                    reject_unknown_targets(target_top or "")
                open_sconsign()
            except TileirasError as error:
                exit_with_error(error)

    def skipped(self, node) -> None:
        """``node`` is current, and SCons will not visit it."""
        self.progress.skipped(node)

    def _watch_interrupts(self) -> None:
        """On Ctrl-C SCons waits for the running steps; end them, as that can take minutes.

        SCons installs its signal handlers later and replaces ours; the wakeup descriptor still reports signals.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        heard, written = os.pipe()
        os.set_blocking(written, False)
        signal.set_wakeup_fd(written, warn_on_full_buffer=False)
        threading.Thread(target=self._end_on_signal, args=(heard,), daemon=True).start()

    def _end_on_signal(self, heard: int) -> None:
        while signals := os.read(heard, 64):
            if _END_SIGNALS.intersection(signals):
                self.interrupted = True
                threading.Thread(target=self._executor.interrupt, daemon=True).start()
                self._leave_stuck_steps()

    def _leave_stuck_steps(self) -> None:
        """End the process if steps do not end, for example on a file system that does not respond."""
        until = time.monotonic() + SHUTDOWN_TIMEOUT
        while self.progress.running:
            if time.monotonic() > until:
                print(
                    "\nscons: Build interrupted; steps that did not stop were abandoned.", file=sys.stderr, flush=True
                )
                os._exit(_INTERRUPTED)
            time.sleep(0.02)

    def executor(self, env) -> Executor:
        """The executor, started for the first step that needs one."""
        return self._executor.get(env)

    def shows_failure(self, node) -> bool:
        """Whether the summary prints the failure of ``node`` where SCons prints it, too: to the same terminal, pipe or file."""
        return node in self.progress.steps and not SCons.Script.GetOption("silent") and os.path.sameopenfile(1, 2)

    def finish(self) -> None:
        """At exit: show the summary and end the workers. After Ctrl-C only end them."""
        with suppress(KeyboardInterrupt):
            self._finish()

    def _finish(self) -> None:
        self._executor.close()
        self.replaced.close(keep=not (self.pruning or SCons.Script.GetOption("clean")))
        if not self._begun:
            return
        self._notify_watch()
        option = SCons.Script.GetOption
        quiet = self.interrupted or option("no_exec") or option("clean") or option("silent")
        if self.build_dirs and not quiet:
            self.progress.summarize(SCons.Script.GetBuildFailures(), self.build_dirs[0])
            self.progress.add_line(self._executor.summary())
            self.progress.add_line(self.replaced.summary())
        elif self.interrupted:
            self.progress.print_failures(SCons.Script.GetBuildFailures())
        if not quiet or self.pruning:
            self._report_orphans(quiet)
        if self.build_dirs and not (option("no_exec") or option("clean")):
            store_timeline(self.recorder, self.progress.steps, self.build_dirs[0], option("num_jobs"))
        if self.build_dirs and not quiet and SCons.Script.GetBuildFailures():
            self._finish_after_failures()
        if self.build_dirs and not self.interrupted and not SCons.Script.Main.exit_status:
            reason = record_build(self.null_build, self._run())
            if reason and ArtifactFile.explaining:
                self.progress.stream.write(f"scons: the next run will check every node, because {reason}\n")

    def _notify_watch(self) -> None:
        """Send the watch message, if a watcher listens."""
        if report_files_to_watcher.is_listening():
            before = self.subset.record.paths if self.subset is not None else ()
            files = (*self.null_build.trace.files(), *before, *report_files_to_watcher.files_of(self.artifacts))
            report_files_to_watcher.send((str(self.null_build.folder), *self.build_dirs), files)

    def _run(self) -> FinishedBuild:
        """This run, for the record."""
        whole = None
        if self.subset is not None:
            whole = self.subset.full_graph
        elif self.all_known and self.progress.is_large and only_artifacts(self.visited):
            whole = self.libraries.full_graph(self.progress.current_cubins())
        return FinishedBuild(
            self.artifacts, self.visited, self.progress.last_step, whole, self.subset, self.digests.rows()
        )

    def defer_library(self, alias, make: Callable[[], list]) -> None:
        """``make`` returns all nodes of the library ``alias``, which has those of this run."""
        self.libraries.defer(alias, make)
        alias.complete = self.complete_graph

    def complete_graph(self) -> None:
        """Create the nodes of all kernels."""
        self.subset = self.progress.total_cubins = self.dry_run = None
        self.libraries.complete()
        deferred, self.deferred = self.deferred, []
        for make in deferred:
            make()

    def report_at_end(self, error: TileirasError) -> None:
        """Report ``error`` after the failures that caused it."""
        self._at_end.append(error)

    def _finish_after_failures(self) -> None:
        """With -k, build partial outputs after failures, and report what is missing."""
        lost = self.progress.lost_nodes(SCons.Script.GetBuildFailures())
        if SCons.Script.GetOption("keep_going"):
            for make in self.rest:
                self.progress.add_line(make(lost))
        for error in self._at_end:
            self.progress.add_line(str(error))

    def _report_orphans(self, quiet: bool) -> None:
        """Report or remove orphans, if the build scripts were read to their end, so that all kernels are known."""
        known = self._begun and self.all_known and self.subset is None
        if not known or self.interrupted or not changes_files():
            return
        orphans = find_orphans(self.build_dirs, self.artifacts, self.pruning)
        said = remove_orphans(orphans) if self.pruning else describe(orphans)
        self.progress.add_line("" if quiet else said)
