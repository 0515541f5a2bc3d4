"""The step that exports a Python file's kernels, and the record of its dependencies, which decides whether it runs again.

The record is a file beside the bytecode, ``<first kernel>.reads``, and one of the step's targets. It lists the step's
dependencies; SCons itself knows only the file, and the modules beside it that other steps may make.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import SCons.Node.FS

from ..core.errors import InvalidInput, Location
from ..core.file_io import write_files
from ..core.tracing.dependency_record import SUFFIX, Comparison, Dependency, DependencyRecord, TracedResult
from ..core.tracing.dependency_state import startup_files
from ..core.tracing.ignored_env_vars import IGNORED_ENV_VARS
from ..pipeline.export_calls import EXPORT_CALL, NAMES, NAMES_CALL
from ..pipeline.stages import Stage, source_digest
from ..workers.executor.run_traced import run_traced
from .stage_actions import WorkerAction, explain_suffix, kernel_name, step_timeout

CALL = "tileiras_build.workers.executor.traced_fork_call:call"
# Dependencies whose state the stat of a file or the names in a folder determine; a null build cannot check others.
_FILES, _FOLDERS = frozenset(("contents", "type", "stat")), frozenset(("names", "shadows", "distributions"))


class ExportAction(WorkerAction):
    """Exports the bytecode of every kernel of a Python file, and the record of its dependencies."""

    def __init__(self, stage: Stage, executor: Callable):
        super().__init__(stage, executor, {"stage": stage.name, "code": source_digest(stage)})

    def strfunction(self, target, source, env, executor=None) -> str:
        """The displayed line: stage, file and number of kernels."""
        return f"{self.stage.name:7} {len(_names(target))} of {source[0].name}{explain_suffix(target)}"

    def call(self, executor, target, source, env) -> dict[str, bytes]:
        """Export the kernels that the targets are named after; paths in debug info are relative to the top folder."""
        path, names = source[0].path, _names(target)
        made = self._run_traced(executor, path, names, env)
        missing = [name for name in names if name not in made.files]
        if missing:
            message = (
                f"{', '.join(missing)} not exported (got {', '.join(made.files) or 'nothing'}): "
                "the CASES table changed during the build"
            )
            raise InvalidInput("export-names", message, location=Location(path), remedy="rerun scons")
        files = {name + self.stage.suffix: made.files[name] for name in names}
        return files | {names[0] + SUFFIX: made.record.to_bytes()}

    def _run_traced(self, executor, path: str, names: tuple[str, ...], env) -> TracedResult:
        root = env.Dir("#").get_abspath()
        arguments = (EXPORT_CALL, root, self.stage, path, names, root)
        return run_traced(lambda: executor.run(CALL, *arguments, timeout=step_timeout(env)), path, root)


def _names(targets: Sequence) -> tuple[str, ...]:
    return tuple(kernel_name(node) for node in targets if not node.name.endswith(SUFFIX))


class ExportDependencies:
    """The dependencies of the step that makes some targets: the record at ``path``, compared once per run."""

    def __init__(self, path: str, comparison: Callable[[], Comparison]):
        self._path, self._comparison = Path(path), comparison
        self._change: tuple[str | None] | None = None

    def record(self) -> DependencyRecord | None:
        """The record of the last export; None if there is none."""
        try:
            return DependencyRecord.from_bytes(self._path.read_bytes())
        except OSError:
            return None

    def change(self) -> str | None:
        """Why the step must run, in a few words; None if its dependencies are unchanged."""
        if self._change is None:
            record = self.record()
            missing = "no dependency record"
            self._change = (self._comparison().first_change(record) if record else missing,)
        return self._change[0]

    def made_by_steps(self) -> list:
        """Nodes of its dependencies that other steps of this build make: those are built first."""
        record, places = self.record(), self._comparison().probe.paths
        reads = record.reads if record else ()
        nodes = [_node_at(places.path(read.name)) for read in reads if read.kind == "contents"]
        return [node for node in nodes if node is not None and node.has_builder()]

    def inputs(self) -> tuple[set[str], set[str]] | str:
        """The files and folders whose stats and names determine whether the record is current; or the reason why none do."""
        record, places = self.record(), self._comparison().probe.paths
        if record is None or record.untraced_actions:
            return record.untraced_actions[0] if record else "an export without a dependency record"
        files: set[str] = set()
        folders: set[str] = set()
        for read in record.all_reads():
            if read.kind in _FILES:
                files.add(places.path(read.name))
            elif read.kind in _FOLDERS:
                folders.add(places.path(read.name))
            elif read.kind == "startup":
                folders.add(places.path(read.name))
                files.update(startup_files(places.path(read.name)))
            elif read.kind == "program":
                folders.update(_folders_before(places.path(read.state)))
            elif read.kind in ("candidates", "among"):
                folders.add(places.path(read.name.rpartition("//")[0]))
            elif not _is_checked_every_run(read):
                return f"an export depends on {read.kind} {read.name}"
        return files, folders

    def change_since(self, comparison: Comparison) -> str | None:
        """Like ``change``, with another ``comparison``."""
        record = self.record()
        return comparison.first_change(record) if record else "an export without a dependency record"


def _is_checked_every_run(read: Dependency) -> bool:
    """Whether it depends on the environment, the machine, the search path or missing links, which every run compares."""
    if read.kind == "variable":
        return read.name not in IGNORED_ENV_VARS
    return read.kind in ("path", "place", "machine") or read.kind == "link" and not read.state.startswith("->")


def _folders_before(program: str) -> list[str]:
    """The folders of PATH up to the one where a program was found; another program may appear in them."""
    folders = [os.path.abspath(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    found = os.path.dirname(program)
    return folders[: folders.index(found) + 1] if found in folders else folders


def _node_at(path: str):
    try:
        return SCons.Node.FS.get_default_fs()._lookup(path, None, SCons.Node.FS.Entry, create=False)
    except Exception:
        # SCons has several errors for an unknown path, or a node of another kind.
        return None


# ---- results of user code that only a run of it can determine, stored with its dependency record
def store_lines(path: Path, lines: bytes, record: DependencyRecord) -> None:
    """Store ``lines`` at ``path``."""
    write_files({path: lines + b"\0" + record.to_bytes()})


def stored_lines(path: Path, comparison: Comparison) -> list[str] | None:
    """The lines stored at ``path``; None if there are none, or a dependency has changed."""
    try:
        lines, _, record = path.read_bytes().partition(b"\0")
    except OSError:
        return None
    found = DependencyRecord.from_bytes(record)
    held = found is not None and comparison.first_change(found) is None
    return lines.decode(errors="replace").splitlines() if held else None


# ---- kernels that only a run of their file can determine
CASES = ".cases"


@dataclass(frozen=True)
class ComputedKernelNames:
    """The names of the kernels of a Python file whose table code builds, stored at ``kept`` with their dependencies.

    As long as these are unchanged, the file need not run to construct the graph.
    """

    path: str
    cache_path: Path
    root: str

    def find(self, comparison: Comparison) -> list[str] | None:
        """The stored names; None if the file must run."""
        return stored_lines(self.cache_path, comparison)

    def run(self, executor, timeout: float, keep: bool) -> list[str]:
        """The names from a run of the file, which are stored unless ``keep`` is false."""
        run = lambda: executor.run(CALL, NAMES_CALL, self.root, self.path, timeout=timeout)
        made = run_traced(run, self.path, self.root)
        if keep:
            store_lines(self.cache_path, made.files[NAMES], made.record)
        return made.files[NAMES].decode().splitlines()
