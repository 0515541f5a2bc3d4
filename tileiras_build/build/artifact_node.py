"""Nodes of artifacts that find out from SCons' own records that they are current, at a tenth of SCons' general cost.

SCons asks the state of each child before it visits the child. An artifact answers this first query by comparing
itself with its record in ``.sconsign.dblite``: the same action signature, the same dependencies with the same contents,
and a file with the recorded size and time. If all of that holds, the node is up to date and SCons skips it; in any other
case SCons checks and builds it like every node.

An artifact differs from SCons' File nodes in two ways. Its time stamp is the time of its last change (ctime), which has the
resolution of the file system and cannot be set, instead of the modification time in whole seconds. And the target's own file
is compared: a file that a killed build, another build or a person left in its place is rebuilt.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence

import SCons.Node
import SCons.Node.FS
import SCons.Script
from SCons.Errors import BuildError
from SCons.Executor import Executor
from SCons.SConsign import SConsignEntry

from ..core.file_io import write_error
from .explain import explain_rebuild, parse_signature
from .incremental.compact_sconsign import peek
from .incremental.sconscript_trace import TRACE

_NO_STATE, _UP_TO_DATE = SCons.Node.no_state, SCons.Node.up_to_date


class ArtifactFile(SCons.Node.FS.File):
    """The node of one artifact. ``requested_inputs`` maps names to the nodes that its source requests.

    ``scan_later``: the file did not exist when SCons scanned it for requested inputs.
    ``written`` is the signature of what this run's step wrote here, None before.
    ``reads`` is the dependency record of a step that runs user code.
    """

    __slots__ = ("on_current", "reads", "reason", "requested_inputs", "scan_later", "was_visited", "written")
    explaining = False
    # Moves the outdated file of a node elsewhere, before its step runs.
    keep_replaced: Callable[[ArtifactFile], None] | None = None

    def diskcheck_match(self) -> None:
        """Do nothing: the check costs a system call, and a folder in this place fails the step that writes here."""

    def getmtime(self) -> float | None:
        """When the file was last changed, in seconds with their fraction. That time cannot be set back."""
        found = self.stat()
        return found.st_ctime if found else None

    def get_state(self) -> int:
        """SCons' state of the node; the first query decides nodes that are current."""
        if self.state == _NO_STATE and not self.was_visited:
            # One step makes all of them, so they are current together.
            _mark_current(getattr(self, "target_peers", None) or (self,))
        return self.state

    def prepare(self) -> None:
        """Create the folder, or remove the outdated files of the step. Raises BuildError."""
        if self.keep_replaced is not None and self.get_state() != _UP_TO_DATE:
            self.keep_replaced(self)
        try:
            super().prepare()
        except BuildError as error:
            # SCons repeats the system's message, and does not name the step if a folder cannot be created.
            failure = write_error(OSError(error.status, error.errstr), self.get_path())
            raise BuildError(self, str(failure)) from None

    def is_up_to_date(self) -> bool:
        """SCons' check of all dependencies, and whether the file is the recorded one."""
        # SCons updates its records of the dependencies during the check, so the check must always run.
        current = super().is_up_to_date() and self.is_as_recorded() and self.changed_dependency() is None
        if self.explaining and not current:
            # Before SCons removes the file and the record.
            self.reason = explain_rebuild(self)
        return current

    def visited(self) -> None:
        """Record the contents of each artifact after SCons has visited it, also of artifacts without dependents."""
        found = self.get_csig()
        super().visited()
        if self.scan_later:
            self._let_parents_scan()
        if self.written not in (None, found):
            # Another program has written the file since, so the record of the step's output does not describe it.
            self.ninfo.csig, self.ninfo.timestamp = self.written, None

    def _let_parents_scan(self) -> None:
        """Mark the node as unscanned, as SCons does after a step; for a current file SCons assumes that it was scanned."""
        self.scan_later = False
        self._memo.pop("get_found_includes", None)
        for parent in self.waiting_parents:
            parent.implicit = None

    def is_as_recorded(self) -> bool:
        """Whether the file has the size and time, or else the contents, of the last build's result."""
        recorded = self.get_stored_info().ninfo
        if matches(recorded, self.stat()):
            return True
        csig = getattr(recorded, "csig", None)
        return csig is not None and self.exists() and csig == self.get_content_hash()

    def changed_dependency(self) -> str | None:
        """The change in what the step read, in a few words; None if there is none."""
        return self.reads.change() if self.reads is not None else None


def make_artifact(folder, name: str, on_current) -> SCons.Node.FS.File:
    """The node of the file ``name`` in ``folder`` (a Dir node): an ArtifactFile unless SCons already has a node for it."""
    if name in folder.entries:
        return folder.File(name)
    node = folder.root._lookup_abs(f"{folder.get_labspath()}/{name}", ArtifactFile)
    node.requested_inputs, node.was_visited, node.scan_later, node.on_current = _none, False, False, on_current
    node.reads = node.written = None
    return node


def _none(names: Iterable[str]) -> list:
    return []


def attach_builder(
    env, builder, targets: list, source, depends: Sequence = (), requested_inputs: Callable | None = None
) -> None:
    """A fast equivalent of ``builder(env, targets, source)`` for plain nodes, at a fifth of the time."""
    cwd = env.fs.getcwd()
    for node in targets:
        if node.has_builder():
            # Defined twice in one SConstruct: SCons reports it.
            builder(env, targets, [source])
            return
        node.cwd = cwd
        node.builder_set(builder)
        node.env_set(env)
        node.add_source([source])
        node.set_explicit(True)
        if depends:
            node.add_dependency(list(depends))
        if requested_inputs is not None and isinstance(node, ArtifactFile):
            node.requested_inputs = requested_inputs
    if len(targets) > 1:
        # The executor of a single target is created on demand, which is rare.
        executor = Executor(builder.action, env, [], targets, [source])
        for node in targets:
            node.target_peers = targets
            node.set_executor(executor)


def _mark_current(nodes) -> None:
    # The build scripts have been read: SCons walks the graph.
    TRACE.stop()
    for node in nodes:
        if isinstance(node, ArtifactFile):
            node.was_visited = True
            _add_dependencies(node)
    if all(may_skip_check(node) and is_current(node) for node in nodes):
        for node in nodes:
            node.state = _UP_TO_DATE
            node.on_current(node)


def _add_dependencies(node: ArtifactFile) -> None:
    """Build what other steps make of what the step has read first, whether or not the build script declares it."""
    made = node.reads.made_by_steps() if node.reads is not None else []
    new = [file for file in made if file not in node.depends and file not in node.sources]
    if new:
        node.add_dependency(new)


class _TopTargets:
    """The nodes named as targets. SCons reports for each that it is up to date, so it must visit them itself."""

    paths: frozenset[str] | None = None

    @classmethod
    def contain(cls, node) -> bool:
        if cls.paths is None:
            named = [*SCons.Script.BUILD_TARGETS, *SCons.Script.DEFAULT_TARGETS]
            cls.paths = frozenset(os.path.normpath(str(target).removeprefix("#")) for target in named)
        return str(node) in cls.paths or node.get_abspath() in cls.paths


_FULL_CHECK_OPTIONS = ("clean", "cache_force", "climb_up")


def may_skip_check(node) -> bool:
    """Whether the run is an ordinary build and the node has nothing that only SCons can check."""
    if not isinstance(node, ArtifactFile):
        return False
    plain = not (node.always_build or node.prerequisites or node.side_effects or node.ignore)
    return plain and _is_ordinary_run() and not _TopTargets.contain(node)


def _is_ordinary_run() -> bool:
    option = SCons.Script.GetOption
    return not SCons.Node.interactive and not any(option(name) for name in _FULL_CHECK_OPTIONS)


def is_current(node: ArtifactFile) -> bool:
    """Whether record, dependencies and file agree; if so, the node gets the recorded info."""
    entry = record_of(node)
    if entry is None or not matches(entry.ninfo, node.stat()):
        return False
    record = entry.binfo
    if getattr(record, "bactsig", None) != action_signature(node) or not _same_children(node, record):
        return False
    if node.changed_dependency() is not None:
        return False
    node.ninfo = entry.ninfo
    return True


def record_of(node: SCons.Node.FS.File) -> SConsignEntry | None:
    """The record of the last build for the file of ``node``; read-only."""
    return peek(node.dir.sconsign().entries, node.name)


def recorded_signature(folder, name: str) -> dict | None:
    """The signature of our step that made the file ``name`` in ``folder``; None if no such step did."""
    build = getattr(peek(folder.sconsign().entries, name), "binfo", None)
    return parse_signature(str(getattr(build, "bact", "")))


def matches(recorded, found: os.stat_result | None) -> bool:
    """Whether ``found`` is a file with the size and time of change of the node info ``recorded``."""
    if found is None or getattr(recorded, "timestamp", None) != found.st_ctime:
        return False
    return recorded.size == found.st_size and stat.S_ISREG(found.st_mode)


def action_signature(node) -> str | None:
    """SCons' signature of the node's action; None if the build script has changed the action."""
    executor = getattr(node, "executor", None)
    action = node.builder.action
    if executor is not None and (
        executor.pre_actions or executor.post_actions or executor.action_list not in ([action], action)
    ):
        return None
    return action.signature_hash


def _same_children(node, record) -> bool:
    implicit = list(map(str, record.bimplicit))
    return (
        are_same(node.sources, record.bsources, record.bsourcesigs)
        and are_same(node.depends, record.bdepends, record.bdependsigs)
        and (not implicit or are_same(node.requested_inputs(implicit), implicit, record.bimplicitsigs))
    )


def are_same(nodes: list, names: list, infos: list) -> bool:
    """Whether dependencies have the recorded names and contents."""
    if len(nodes) != len(names):
        return False
    return all(
        str(node) == str(name) and _same_contents(node, info)
        for node, name, info in zip(nodes, names, infos, strict=True)
    )


def _same_contents(node, info) -> bool:
    csig = getattr(info, "csig", None)
    if isinstance(node, ArtifactFile):
        return csig is not None and node.get_state() == _UP_TO_DATE and node.get_csig() == csig
    if node.has_builder() or not isinstance(node, SCons.Node.FS.File):
        return False
    # SCons caches the stat here, before the contents are read.
    return csig is not None and node.stat() is not None and node.get_csig() == csig
