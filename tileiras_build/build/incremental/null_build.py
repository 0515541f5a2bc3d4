"""A null or small build, without the dependency graph: compares by stat what the last build read or wrote.

A build that succeeds writes a record (``record_build.py``) of every file that it depends on or that it wrote (size, inode,
mode, times of modification and of change, in ns), of what its build scripts have queried, and of the command line, the
environment and the interpreter. The next run compares them before it imports what constructs the graph, and is done if they
all agree. The time of change cannot be set back, so no edit is missed. The states were taken before the build read the files,
so no edit during the build is missed either. In any doubt there is no record, or it is not used, and the build checks every
node.

If the only files that changed belong to some kernels (their sources, what was read for them, their artifacts), the build
constructs and checks the nodes of those kernels (``partial_scons_graph.py``); the others are current according to the record.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import SCons.Script

from ...core.code_digest import PACKAGE, installed
from ...core.tracing.machine_facts import FACTS
from ..watch import report_files_to_watcher
from . import build_record
from .build_record import BuildRecord, FullGraph
from .fs_queries import QUERIES, query
from .sconscript_trace import IGNORED_ENV_VARS, SConscriptTrace

_OPTIONS = frozenset(("-Q", "-k", "-s", "--keep-going", "--silent", "--quiet"))
_FORMAT = ("key", "names", "arguments", "queries", "stage_digests", "file_digests", sorted(QUERIES))


@dataclass(frozen=True)
class AffectedSubset:
    """The sources, by absolute path, whose kernels a run checks; ``record`` is that of the last full build."""

    sources: frozenset[str]
    record: BuildRecord

    @property
    def full_graph(self) -> FullGraph:
        """The record's information on all kernels."""
        assert self.record.full_graph is not None, "the record has no full graph"
        return self.record.full_graph

    def contains(self, node) -> bool:
        """Whether the run checks the kernels of a source's node."""
        return node.get_abspath() in self.sources

    def names_outside(self, nodes: Iterable) -> set[str]:
        """The kernels of the sources ``nodes`` of a library that the run does not check."""
        others = (node for node in nodes if not self.contains(node))
        return {name for node in others for name in self.full_graph.sources.get(node.get_abspath(), ())}

    def agrees(self, names: Mapping[str, list[str]]) -> bool:
        """Whether sources still have the same kernels; ``names`` by path."""
        return all(self.full_graph.sources.get(path) == found for path, found in names.items())


@dataclass(frozen=True)
class BuildState:
    """The change since the last build: nothing, with the names of its targets; or files of some kernels, ``subset``.

    Neither: every node must be checked. ``digests`` are rows of ``DigestCache``, which are valid in any case.
    """

    names: list[str] | None = None
    subset: AffectedSubset | None = None
    digests: dict[str, list] = field(default_factory=dict)


class NullBuild:
    """The null-build check of one run, whose records are in ``folder``; ``key`` is that of its command line, None without
    a record.
    """

    def __init__(self, trace: SConscriptTrace, folder: Path):
        self.trace, self.folder = trace, folder
        with trace.untraced():
            self.key = None if _unusual_options() else _invocation_digest()
            trace.add_scripts()
            self._add_package()
            self.add_loaded_modules()
            for name in installed().folders:
                trace.add_folder(os.path.join(PACKAGE, name))

    def _add_package(self) -> None:
        """Record the files of all of this package: the workers import it."""
        for path in installed().paths:
            self.trace.add_file(path)

    def add_loaded_modules(self) -> None:
        """Record the files of the modules that this process has loaded by now."""
        with self.trace.untraced():
            for module in list(sys.modules.values()):
                if path := getattr(module, "__file__", None):
                    self.trace.add_file(os.path.abspath(path))

    @property
    def path(self) -> Path:
        """The record of this command line."""
        return self.folder / f".build_record-{(self.key or '')[:16]}"

    def compare(self) -> BuildState:
        """The change since the last build of this command line."""
        if self.key is None or self.trace.untraceable:
            return BuildState()
        with self.trace.untraced():
            record = build_record.read(self.path)
            if record is None or record.head["key"] != self.key:
                return BuildState()
            digests = record.head["file_digests"]
            if not self._is_current(record.head):
                return BuildState(digests=digests)
            # Before the comparison, which then holds for the code that the digests of stages describe.
            installed().note()
            if (sources := record.changed_sources()) is None:
                return BuildState(digests=digests)
            if not sources:
                return BuildState(record.head["names"])
            from ...pipeline.stages import adopt_digests

            # The record contains the stat of all code, and the names in the folders of libraries.
            adopt_digests(record.head["stage_digests"])
            return BuildState(subset=AffectedSubset(sources, record), digests=digests)

    @staticmethod
    def _is_current(head: dict) -> bool:
        """Whether the command line, the environment and all queries are unchanged; only contents of files may differ."""
        if head["arguments"] not in (None, visible_command_line()):
            return False
        return all(query(how, path) == answer for how, path, answer in head["queries"])

    def notify_watch(self) -> None:
        """Send the record's files to the watcher, if nothing else is checked."""
        if report_files_to_watcher.is_listening() and self.key is not None:
            record = build_record.read(self.path)
            report_files_to_watcher.send((str(self.folder),), record.paths if record is not None else ())

    def has_work(self) -> bool:
        """Whether there certainly is work: nothing was ever built here, or a record of this command line is outdated."""
        if self.key is None or self.trace.untraceable:
            return False
        with self.trace.untraced():
            return self.path.exists() or not self.folder.exists()


def print_up_to_date(names: list[str]) -> None:
    """SCons' message for each target that is up to date."""
    if not SCons.Script.GetOption("silent"):
        for name in names:
            print(f"scons: `{name}' is up to date.")


def _command_line() -> list[str]:
    """The command line, after SCons' own arguments."""
    return [*os.environ.get("SCONSFLAGS", "").split(), *sys.argv[1:]]


def visible_command_line() -> list[str]:
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


def options_of_command_line() -> list[str]:
    """The options of the command line, without the number of jobs."""
    return _split_options()[0]


def _unusual_options() -> bool:
    return not _OPTIONS.issuperset(options_of_command_line())


def _invocation_digest() -> str:
    """A digest of the command line, the environment and the interpreter."""
    environment = {name: value for name, value in os.environ.items() if name not in IGNORED_ENV_VARS}
    machine = [fact() for fact in FACTS.values()]
    asked = [_FORMAT, _split_options()[1], sorted(environment.items()), os.getcwd(), sys.version, sys.path, machine]
    return hashlib.sha256(json.dumps(asked).encode(errors="surrogateescape")).hexdigest()
