"""A null or small build, without the dependency graph: compares by stat what the last build read or wrote.

A build that succeeds writes a record of every file that it depends on or that it wrote (size, inode, mode, times of
modification and of change, in ns), of every folder that the build scripts list, and of the command line, the environment
and the interpreter. The next run compares them before it constructs the graph, and is done if they all agree. The time
of change cannot be set back, so no edit is missed. The states were taken before the build read the files, so no edit
during the build is missed either. In any doubt there is no record, or it is not used, and the build checks every node.

If the only files that changed belong to some kernels (their sources, what was read for them, their artifacts), the build
constructs and checks the nodes of those kernels (``partial_scons_graph.py``); the others are current according to the record.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import SCons.Node
import SCons.Node.Alias
import SCons.Node.FS
import SCons.Node.Python
import SCons.Script

from ...core.code_digest import PACKAGE, installed
from ...core.tracing.dependency_record import Comparison
from ...core.tracing.dependency_state import Probe
from ...core.tracing.machine_facts import FACTS
from ...core.tracing.portable_paths import PortablePaths
from ...pipeline.stages import adopt_digests, known_digests
from ..artifact_node import ArtifactFile, matches
from ..watch import report_files_to_watcher
from . import build_record
from .build_record import BuildRecord, Files, FullGraph, Owners
from .fs_queries import QUERIES, is_same_kind, query
from .partial_scons_graph import AffectedSubset, owners_of
from .sconscript_purity import ScriptEffects
from .sconscript_trace import IGNORED_ENV_VARS, SConscriptTrace, file_state, folder_state, variable

MAX_RECORDS = 4  # records: one per command line
_TICK = 0.05  # seconds, more than the clock tick of file times
_OPTIONS = frozenset(("-Q", "-k", "-s", "--keep-going", "--silent", "--quiet"))
_FORMAT = (
    "key",
    "names",
    "folders",
    "variables",
    "arguments",
    "queries",
    "digests",
    "digests_by_path",
    "whole",
    "shared",
    sorted(QUERIES),
)
_FILE_QUERIES = ("kind", "stat-or-kind", "state")  # the state of a file determines their results
_DONE = (SCons.Node.up_to_date, SCons.Node.executed)


class _NotRecordable(Exception):
    """The reason why a run is not recorded, as a clause that follows "because"."""


@dataclass(frozen=True)
class BuildState:
    """The change since the last build: nothing, with the names of its targets; or files of some kernels, ``subset``.

    Neither: every node must be checked. ``digests`` are rows of ``DigestCache``, which are valid in any case.
    """

    names: list[str] | None = None
    subset: AffectedSubset | None = None
    digests: dict[str, list] = field(default_factory=dict)


@dataclass(frozen=True)
class FinishedBuild:
    """A successful build: all nodes of libraries, the other nodes that SCons has visited, and when, by the monotonic clock, the
    last step ended (None: there was none).

    ``whole`` is None if the next run must check every kernel; ``part`` are the checked kernels, None for all;
    ``digests`` are rows of ``DigestCache``.
    """

    artifacts: list
    visited: list
    last_step: float | None
    full_graph: FullGraph | None
    subset: AffectedSubset | None
    digests: dict[str, list]


class NullBuild:
    """The null-build check of one run, whose records are in ``folder``."""

    def __init__(self, trace: SConscriptTrace, folder: Path):
        self.trace, self.folder, self._code = trace, folder, ScriptEffects()
        with trace.untraced():
            self.key = None if _unusual_options() else _invocation_digest()
            trace.add_scripts()
            for path in _code_files():
                trace.add_file(path)
            for name in installed().folders:
                trace.add_folder(os.path.join(PACKAGE, name))

    def _path(self, key: str) -> Path:
        """The record of the command line with this key."""
        return self.folder / f".build_record-{key[:16]}"

    def compare(self) -> BuildState:
        """The change since the last build of this command line."""
        if self.key is None or self.trace.untraceable:
            return BuildState()
        with self.trace.untraced():
            record = build_record.read(self._path(self.key))
            if record is None or record.head["key"] != self.key:
                return BuildState()
            contents = record.head["digests_by_path"]
            if not self._is_current(record.head):
                return BuildState(digests=contents)
            installed().note()
            changed = record.changed()
            if not changed:
                return BuildState(record.head["names"])
            sources = record.sources_of(changed)
            if sources is None:
                return BuildState(digests=contents)
            # The record contains the stat of all code, and the names in the folders of libraries.
            adopt_digests(record.head["digests"])
            return BuildState(subset=AffectedSubset(sources, record), digests=contents)

    def _is_current(self, record: dict) -> bool:
        """Whether the command line, the environment and all queries are unchanged; only contents of files may differ."""
        if record["arguments"] not in (None, _visible_command_line()):
            return False
        if any(variable(name) != value for name, value in record["variables"].items()):
            return False
        if any(folder_state(path) != state for path, state in record["folders"].items()):
            return False
        return all(query(how, path) == answer for how, path, answer in record["queries"])

    def notify_watch(self) -> None:
        """Send the record's files to the watcher, if nothing else is checked."""
        if report_files_to_watcher.is_listening() and self.key is not None:
            record = build_record.read(self._path(self.key))
            report_files_to_watcher.send((str(self.folder),), record.paths if record is not None else ())

    def has_work(self) -> bool:
        """Whether there certainly is work: nothing was ever built here, or a record of this command line is outdated."""
        if self.key is None or self.trace.untraceable:
            return False
        with self.trace.untraced():
            return self._path(self.key).exists() or not self.folder.exists()

    def write_record(self, run: FinishedBuild) -> str | None:
        """Record a successful build; returns the reason if it is not recorded."""
        try:
            key = self._check_run(run.visited)
            if run.last_step is not None:
                # A file that is written again within a clock tick would keep its time.
                time.sleep(max(0.0, run.last_step + _TICK - time.monotonic()))
            names, made = _built_targets(), _made_paths(run.artifacts, run.visited)
            # With libraries in variant directories only, this folder contains nothing but the record.
            with suppress(OSError):
                self.folder.mkdir(parents=True, exist_ok=True)
            self._check_folders(made.union(map(str, (self.folder, *self.folder.parents))))
            files = self._current_files(run.artifacts, run.visited) | self._current_reads(run.artifacts)
            asked = list(self._current_queries(made, files, run.subset))
        except _NotRecordable as doubt:
            return str(doubt)
        head = {
            "key": key,
            "names": names,
            "queries": asked,
            "folders": self.trace.folders,
            "variables": self.trace.variables,
            "digests": known_digests(),
            "digests_by_path": run.digests,
            "arguments": _visible_command_line() if self._code.reads_command_line else None,
        }
        whole = None if self._code.reads_node_stats else run.full_graph
        owners = self._owners(run, whole) if whole is not None else {}
        self._write(key, _record(head, files, owners, whole, run.subset))
        return None

    def _owners(self, run: FinishedBuild, full_graph: FullGraph) -> dict[str, set[str]]:
        """The sources that files belong to. A missing file that build scripts query may affect them in any way."""
        made = (node for node in run.artifacts if node.state in _DONE)
        owners, asked = owners_of(made, self.trace.read_by_scripts), self.trace.queried_by_scripts
        return {path: found for path, found in owners.items() if path in full_graph.sources or path not in asked}

    def _check_run(self, visited: list) -> str:
        """The key of this command line, if its run may be recorded."""
        if self.trace.untraceable:
            raise _NotRecordable(self.trace.untraceable)
        if self.key is None:
            raise _NotRecordable("a command-line option disables it")
        if self.trace.detected_tools and any(map(_is_made_by_tools, visited)):
            raise _NotRecordable("there are targets of other SCons tools")
        # The folders where SCons searched for them were not traced.
        if any(_is_made(node) and not isinstance(node, ArtifactFile) and node.implicit for node in visited):
            raise _NotRecordable("there are implicit dependencies found by SCons scanners")
        self._code = self.trace.code()
        if self._code.untraceable:
            raise _NotRecordable(self._code.untraceable)
        return self.key

    def _check_folders(self, made: set[str]) -> None:
        """New files in a folder must be outputs of this build; the record contains the folder with them."""
        for path, before in self.trace.folders.items():
            names = folder_state(path)
            changed = {os.path.join(path, name) for name in set(names).symmetric_difference(before)}
            if changed - made:
                raise _NotRecordable(f"{min(changed - made)} changed during the build")
            self.trace.folders[path] = names

    def _current_files(self, artifacts: list, visited: list) -> dict[str, tuple | None]:
        """Path and state of every file; each is still in the state that the build read or wrote."""
        found: dict[str, tuple | None] = {}
        for path, before in self.trace.files.items():
            found[path] = file_state(path)
            if found[path] != before:
                raise _NotRecordable(f"{path} changed during the build")
        inputs = set(visited)
        for node in artifacts:
            if node.always_build:
                raise _NotRecordable(f"{node} is always built")
            if node.state in _DONE:
                inputs.update(node.sources, node.depends or ())
                info = node.get_ninfo()
                _add_file_state(found, node, lambda stat, info=info: matches(info, stat))
        for node in inputs:
            if not isinstance(node, ArtifactFile):
                _add_input(found, node)
        return found

    def _current_reads(self, artifacts: list) -> dict[str, tuple | None]:
        """Path and state of the dependencies of exports, each still in the state that was read."""
        found: dict[str, tuple | None] = {}
        exports = {node.reads for node in artifacts if node.reads is not None and node.state in _DONE}
        for reads in exports:
            if isinstance(inputs := reads.inputs(), str):
                raise _NotRecordable(inputs)
            files, folders = inputs
            found |= {path: file_state(path) for path in files - found.keys()}
            for folder in folders:
                self.trace.add_folder(folder)
        # After the states were taken, so that later changes are found.
        now = Comparison(Probe(PortablePaths(os.getcwd())))
        if change := next(filter(None, (reads.change_since(now) for reads in exports)), None):
            raise _NotRecordable(change)
        return found

    def _current_queries(self, made: set[str], files: Files, subset: AffectedSubset | None) -> Iterator[tuple]:
        """The other queries of the build scripts, whose results are unchanged; without those that the files' states determine."""
        unknown = {path for how, path in self.trace.queries if how in _FILE_QUERIES and files.get(path) is None}
        recorded = subset.record.present(unknown) if subset is not None else set()
        for (how, path), before in self.trace.queries.items():
            now = query(how, path)
            # Scripts see from a node's stat whether it exists.
            if now != before and not (how == "stat-or-kind" and path in made and is_same_kind(now, before)):
                raise _NotRecordable(f"{path} changed during the build")
            if how not in _FILE_QUERIES or path in unknown and path not in recorded:
                yield how, path, now

    def _write(self, key: str, record: BuildRecord) -> None:
        with suppress(Exception):
            old = sorted(self.folder.glob(".build_record-*"), key=os.path.getmtime)
            for path in [path for path in old if path != self._path(key)][: -MAX_RECORDS + 1]:
                path.unlink()
            build_record.write(self._path(key), record)


def _with_record(head: dict, part: AffectedSubset) -> dict:
    """The queries of a partial run, and those of the full run for the other kernels' sources."""
    before = part.record.head
    asked = {(how, path): answer for how, path, answer in [*before["queries"], *head["queries"]]}
    joined = {name: before[name] | head[name] for name in ("folders", "variables")}
    return head | joined | {"queries": [(how, path, answer) for (how, path), answer in asked.items()]}


def _record(
    head: dict, files: Files, owners: Owners, whole: FullGraph | None, part: AffectedSubset | None
) -> BuildRecord:
    if part is None:
        return build_record.record_of(head, files, owners, whole)
    made = part.record.with_subset(part.sources, _with_record(head, part), files, owners)
    return made if whole is not None else replace(made, full_graph=None)


def print_up_to_date(names: list[str]) -> None:
    """SCons' message for each target that is up to date."""
    if not SCons.Script.GetOption("silent"):
        for name in names:
            print(f"scons: `{name}' is up to date.")


def _add_file_state(found: dict, node, is_right) -> None:
    path = node.get_abspath()
    try:
        stat = os.stat(path)
    except OSError:
        raise _NotRecordable(f"{path} changed during the build") from None
    if not is_right(stat):
        raise _NotRecordable(f"{path} changed during the build")
    found[path] = (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino, stat.st_mode)


def _add_input(found: dict, node) -> None:
    """Add a node that is not an artifact: a source, or something else that the build script builds."""
    if isinstance(node, (SCons.Node.Alias.Alias, SCons.Node.Python.Value)) and not node.always_build:
        return
    if not isinstance(node, SCons.Node.FS.File) or node.always_build:
        raise _NotRecordable(f"{node} is always built")
    if node.has_builder():
        info = node.get_ninfo()
        _add_file_state(found, node, lambda stat: _matches_scons_info(info, stat))
        return
    # A node of a variant directory, or of a repository's, may have only another node's file, until it is built.
    real = node.rfile()
    if real is not node:
        found[node.get_abspath()] = None
    # SCons caches the stat from before it read the file; a new one would hide an edit during the build.
    seen = real._memo.get("stat")
    _add_file_state(found, real, lambda stat: seen is not None and _same_file(seen, stat))


def _matches_scons_info(info, stat) -> bool:
    """SCons' own records of other steps' files have whole seconds."""
    return getattr(info, "timestamp", None) == int(stat.st_mtime) and info.size == stat.st_size


def _same_file(seen, stat) -> bool:
    return (seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino) == (
        stat.st_mtime_ns,
        stat.st_ctime_ns,
        stat.st_size,
        stat.st_ino,
    )


def _built_targets() -> list[str]:
    """The names of the targets of this run."""
    targets = list(SCons.Script.BUILD_TARGETS or SCons.Script.DEFAULT_TARGETS)
    for target in targets:
        node = target if isinstance(target, SCons.Node.Node) else _find(str(target))
        if node is None or node.get_state() not in _DONE:
            raise _NotRecordable(f"{target} was not built")
    if not targets:
        raise _NotRecordable("there is no target")
    return [str(target) for target in targets]


def _find(name: str):
    alias = SCons.Node.Alias.default_ans.lookup(name)
    with suppress(Exception):
        return alias or SCons.Node.FS.get_default_fs().Entry(name, create=False)
    return None


def _is_made(node) -> bool:
    return isinstance(node, SCons.Node.FS.File) and node.has_builder()


def _is_made_by_tools(node) -> bool:
    """Whether compilers that SCons detected on this machine may make it."""
    return _is_made(node) and any(name in (node.env or ()) for name in ("CC", "CXX", "LINK", "AR"))


def _made_paths(artifacts: list, visited: list) -> set[str]:
    """The outputs of the build: files, and the folders for them."""
    made = {node.get_abspath() for node in visited if _is_made(node)}
    for folder in {node.dir for node in artifacts}:
        path = Path(folder.get_abspath())
        made.update(map(str, (path, *path.parents)))
    return made | {node.get_abspath() for node in artifacts}


def _command_line() -> list[str]:
    """The command line, after SCons' own arguments."""
    return [*os.environ.get("SCONSFLAGS", "").split(), *sys.argv[1:]]


def _visible_command_line() -> list[str]:
    """The part of the command line that a build script can see, and the number of jobs."""
    return [*_command_line(), str(SCons.Script.GetOption("num_jobs"))]


def _split_options() -> tuple[list[str], list[str]]:
    """The command line without the number of jobs: options, and the rest."""
    options: list[str] = []
    rest: list[str] = []
    arguments = iter(_command_line())
    for argument in arguments:
        if argument in ("-j", "--jobs"):
            next(arguments, None)
        elif not re.fullmatch(r"-j\d+|--jobs=\d+", argument):
            (options if argument.startswith("-") else rest).append(argument)
    return options, rest


def _unusual_options() -> bool:
    return not _OPTIONS.issuperset(_split_options()[0])


def _invocation_digest() -> str:
    """A digest of the command line, the environment and the interpreter."""
    environment = {name: value for name, value in os.environ.items() if name not in IGNORED_ENV_VARS}
    machine = [fact() for fact in FACTS.values()]
    asked = [_FORMAT, _split_options()[1], sorted(environment.items()), os.getcwd(), sys.version, sys.path, machine]
    return hashlib.sha256(json.dumps(asked).encode(errors="surrogateescape")).hexdigest()


def _code_files() -> list[str]:
    """The files of all code of the build: loaded modules, and all of this package for the workers."""
    modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    package = [os.path.join(PACKAGE, path) for path in installed().files]
    return [os.path.abspath(path) for path in (*modules, *package) if path]
