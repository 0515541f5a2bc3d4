"""The record of a successful build for the next null build: what it read and wrote, checked against the files as they are now."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import SCons.Node
import SCons.Node.Alias
import SCons.Node.FS
import SCons.Node.Python
import SCons.Script

from ...core.tracing.dependency_record import Comparison
from ...core.tracing.dependency_state import Probe
from ...core.tracing.portable_paths import PortablePaths
from ...pipeline.stages import known_digests
from ..artifact_node import ArtifactFile, matches
from . import build_record
from .build_record import FullGraph
from .fs_queries import SEARCH, STATE, is_same_kind, query, stat_state
from .null_build import AffectedSubset, NullBuild, visible_command_line
from .partial_scons_graph import owners_of
from .sconscript_purity import ScriptEffects

MAX_RECORDS = 4  # records: one per command line
_TICK = 0.05  # seconds, more than the clock tick of file times
_BY_STATE = ("kind", "stat-or-kind")  # queries whose results the state of a file determines
_DONE = (SCons.Node.up_to_date, SCons.Node.executed)
_Files = dict[str, list[int] | None]


class _NotRecordable(Exception):
    """The reason why a run is not recorded, as a clause that follows "because"."""


@dataclass(frozen=True)
class FinishedBuild:
    """A successful build: all nodes of libraries, the other nodes that SCons has visited, and when, by the monotonic clock, the
    last step ended (None: there was none).

    ``full_graph`` is None if the next run must check every kernel; ``subset`` are the checked kernels, None for all;
    ``digests`` are rows of ``DigestCache``.
    """

    artifacts: list
    visited: list
    last_step: float | None
    full_graph: FullGraph | None
    subset: AffectedSubset | None
    digests: dict[str, list]


def record_build(null_build: NullBuild, run: FinishedBuild) -> str | None:
    """Write the record of ``run``; returns the reason if it is not recorded."""
    try:
        _Recorder(null_build, run).write()
    except _NotRecordable as doubt:
        return str(doubt)
    return None


class _Recorder:
    """The record of one build. Its methods raise _NotRecordable."""

    def __init__(self, null_build: NullBuild, run: FinishedBuild):
        self._null_build, self._trace, self._run = null_build, null_build.trace, run
        self._effects = self._check_run()

    def write(self) -> None:
        """Check what the build has read and written, and write its record."""
        run, folder = self._run, self._null_build.folder
        if run.last_step is not None:
            # A file that is written again within a clock tick would keep its time.
            time.sleep(max(0.0, run.last_step + _TICK - time.monotonic()))
        names, made = _built_targets(), _made_paths(run.artifacts, run.visited)
        # With libraries in variant directories only, this folder contains nothing but the record.
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        files = self._files() | self._files_of_exports()
        queries = list(self._queries(made.union(map(str, (folder, *folder.parents))), files))
        head = {
            "key": self._null_build.key,
            "names": names,
            "queries": queries,
            "stage_digests": known_digests(),
            "file_digests": run.digests,
            "arguments": visible_command_line() if self._effects.reads_command_line else None,
        }
        self._write(head, files)

    def _write(self, head: dict, files: _Files) -> None:
        graph = None if self._effects.reads_node_stats else self._run.full_graph
        owners = self._owners(graph) if graph is not None else {}
        if (part := self._run.subset) is None:
            record = build_record.record_of(head, files, owners, graph)
        else:
            joined = _with_queries_of(part.record.head, head)
            record = replace(part.record.with_subset(part.sources, joined, files, owners), full_graph=graph)
        path = self._null_build.path
        with suppress(Exception):
            old = sorted(path.parent.glob(".build_record-*"), key=os.path.getmtime)
            for other in [other for other in old if other != path][: -MAX_RECORDS + 1]:
                other.unlink()
            build_record.write(path, record)

    def _owners(self, full_graph: FullGraph) -> dict[str, set[str]]:
        """The sources that files belong to. A missing file that build scripts query may affect them in any way."""
        made = (node for node in self._run.artifacts if node.state in _DONE)
        owners, asked = owners_of(made, self._trace.read_by_scripts), self._trace.queried_by_scripts
        return {path: found for path, found in owners.items() if path in full_graph.sources or path not in asked}

    def _check_run(self) -> ScriptEffects:
        """The effects of the build scripts, if their run may be recorded."""
        trace, visited = self._trace, self._run.visited
        if trace.untraceable:
            raise _NotRecordable(trace.untraceable)
        if self._null_build.key is None:
            raise _NotRecordable("a command-line option disables it")
        if trace.detected_tools and any(map(_is_made_by_tools, visited)):
            raise _NotRecordable("there are targets of other SCons tools")
        # The folders where SCons searched for them were not traced.
        if any(_is_made(node) and not isinstance(node, ArtifactFile) and node.implicit for node in visited):
            raise _NotRecordable("there are implicit dependencies found by SCons scanners")
        effects = ScriptEffects.of(trace.sources())
        if effects.untraceable:
            raise _NotRecordable(effects.untraceable)
        return effects

    def _files(self) -> _Files:
        """Path and state of every file; each is still in the state that the build read or wrote."""
        found: _Files = {}
        for path, before in self._trace.files().items():
            found[path] = query(STATE, path)
            if found[path] != before:
                raise _NotRecordable(f"{path} changed during the build")
        inputs = set(self._run.visited)
        for node in self._run.artifacts:
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

    def _files_of_exports(self) -> _Files:
        """Path and state of the dependencies of exports, each still in the state that was read."""
        found: _Files = {}
        exports = {node.reads for node in self._run.artifacts if node.reads is not None and node.state in _DONE}
        for reads in exports:
            if isinstance(inputs := reads.inputs(), str):
                raise _NotRecordable(inputs)
            files, folders = inputs
            found |= {path: query(STATE, path) for path in files - found.keys()}
            for folder in folders:
                self._trace.add_folder(folder)
        # After the states were taken, so that later changes are found.
        now = Comparison(Probe(PortablePaths(os.getcwd())))
        if change := next(filter(None, (reads.change_since(now) for reads in exports)), None):
            raise _NotRecordable(change)
        return found

    def _queries(self, made: set[str], files: _Files) -> Iterator[tuple]:
        """The other queries, whose results are unchanged; without those that the files' states determine."""
        answers = {query: answer for query, answer in self._trace.answers.items() if query[0] != STATE}
        unknown = {path for how, path in answers if how in _BY_STATE and files.get(path) is None}
        part = self._run.subset
        recorded = part.record.present(unknown) if part is not None else set()
        for (how, path), before in answers.items():
            now = query(how, path)
            if now != before and not _is_made_here(how, path, before, now, made):
                raise _NotRecordable(f"{path} changed during the build")
            if how not in _BY_STATE or path in unknown and path not in recorded:
                yield how, path, now


def _is_made_here(how: str, path: str, before: list | None, now: list | None, made: set[str]) -> bool:
    """Whether the outputs of this build, ``made``, explain another answer than before, on which no script depends."""
    if how == SEARCH:
        return made.issuperset(os.path.join(path, name) for name in set(now or ()).symmetric_difference(before or ()))
    # Scripts see from a node's stat whether it exists.
    return how == "stat-or-kind" and path in made and is_same_kind(now, before)


def _with_queries_of(before: dict, head: dict) -> dict:
    """The head of an incremental run, with the queries of the full run for the other kernels' sources."""
    queries = {(how, path): answer for how, path, answer in [*before["queries"], *head["queries"]]}
    return head | {"queries": [(how, path, answer) for (how, path), answer in queries.items()]}


def _add_file_state(found: dict, node, is_right) -> None:
    path = node.get_abspath()
    try:
        stat = os.stat(path)
    except OSError:
        raise _NotRecordable(f"{path} changed during the build") from None
    if not is_right(stat):
        raise _NotRecordable(f"{path} changed during the build")
    found[path] = stat_state(stat)


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
