"""A dry run (``scons -n``) of libraries, decided from SCons' records, without a node for each artifact of a stage.

SCons takes a node, a record and a visit for each step: a minute and a gigabyte for 80,000 of them. Here a chain of artifacts
is compared with the records of its folder: a step would run if its artifact is missing, its action has another signature, or
an input has other contents than recorded. Those are the rules of ``artifact_node.py``; as there, the artifact of a step that
would run counts with its present contents. Where the records do not tell (a file that was changed since, an export that would
run, a target besides libraries), SCons decides everything.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import SCons.Node
import SCons.Node.FS
import SCons.Script
from SCons.SConsign import SConsignEntry

from .artifact_node import ArtifactFile, are_same, matches
from .decider import has_changed
from .incremental.compact_sconsign import peek
from .incremental.null_build import options_of_command_line
from .incremental.partial_scons_graph import LibraryAlias

if TYPE_CHECKING:
    from SCons.Node.FS import FileBuildInfo

    from ..pipeline.stages import Stage
    from ..target.targets import Target
    from .kernel_library import Rule
    from .library_kernels import LibraryKernels
    from .stage_actions import StageAction

_OPTIONS = frozenset(("-n", "--no-exec", "--just-print", "--dry-run", "--recon", "-Q", "-k", "--keep-going"))
_MISSING = ""  # in place of the signature of a file's contents


class _Undecided(Exception):
    """The records do not tell whether a step would run."""


def is_plain_dry_run() -> bool:
    """Whether this run shows the steps of the default targets, and does nothing else."""
    option = SCons.Script.GetOption
    plain = option("no_exec") and not any(map(option, ("question", "clean", "help", "silent")))
    return plain and not SCons.Script.COMMAND_LINE_TARGETS and _OPTIONS.issuperset(options_of_command_line())


class DryRun:
    """The libraries of a dry run whose artifacts have no nodes."""

    def __init__(self):
        self._chains: list[_Chain] = []

    def add(self, library: LibraryKernels) -> bool:
        """Whether the library's artifacts need no nodes before the build scripts are read."""
        # SCons looks for folders where the script that reads a library is.
        at_top = SCons.Node.FS.get_default_fs().getcwd() is SCons.Node.FS.get_default_fs().Top
        if ArtifactFile.explaining or not at_top:
            return False
        rows: dict[tuple[int, Target], tuple[SCons.Node.FS.Dir, list[_Row]]] = {}
        for kernel, target, own in library.chains():
            key = id(own), target
            if key not in rows:
                folder, rules = library.rules(target, own)
                rows[key] = folder, [_row(stage, rule) for stage, rule in rules]
            self._chains.append(_Chain(kernel.name, kernel.bytecode(target, own), *rows[key]))
        return True

    def steps(self) -> list[str] | None:
        """The displayed lines of the steps that would run, in order; None if SCons must decide."""
        if not _only_libraries(SCons.Script.DEFAULT_TARGETS):
            return None
        steps = _Steps()
        try:
            return [line for chain in self._chains for line in steps.of_chain(chain)]
        except _Undecided:
            return None


def _only_libraries(targets: list) -> bool:
    """Whether ``targets`` are aliases of libraries, and the build scripts have added nothing to them."""
    return bool(targets) and all(isinstance(node, LibraryAlias) and node.is_untouched() for node in targets)


class _File:
    """A file with SCons' record of it, and the signature of its contents."""

    def __init__(self, path: str, entry: SConsignEntry | None, csig: str | None = None):
        self.path, self.entry, self._csig = path, entry, csig
        self.build: FileBuildInfo | None = getattr(entry, "binfo", None)

    def contents(self) -> str:
        """The signature, _MISSING without a file. Raises _Undecided if the file is not as recorded."""
        if self._csig is None:
            self._csig = self._recorded()
        return self._csig

    def _recorded(self) -> str:
        try:
            found = os.stat(self.path)
        except OSError:
            return _MISSING
        if self.entry is None or not matches(self.entry.ninfo, found):
            raise _Undecided
        return self.entry.ninfo.csig


@dataclass(frozen=True)
class _Row:
    """A stage of one target with one set of options: the suffixes of its files, its action and the action's signature."""

    suffixes: tuple[str, ...]
    rule: Rule
    action: StageAction
    signature: str


def _row(stage: Stage, rule: Rule) -> _Row:
    action = rule.builder.action
    return _Row((stage.suffix, *stage.side_outputs), rule, action, action.signature_hash)


@dataclass(frozen=True)
class _Chain:
    """The artifacts of one kernel in the folder of a target."""

    kernel: str
    bytecode: SCons.Node.Node
    folder: SCons.Node.FS.Dir
    rows: list[_Row]

    def files(self, row: _Row) -> list[_File]:
        """The files of a stage. Raises _Undecided if a build script has used a node of them."""
        names = [self.kernel + suffix for suffix in row.suffixes]
        if any(name in self.folder.entries for name in names):
            raise _Undecided
        records = self.folder.sconsign().entries
        return [_File(f"{self.folder.path}/{name}", peek(records, name)) for name in names]

    def source(self) -> _File:
        """The bytecode. Raises _Undecided where a step would make it, or it is missing."""
        node = self.bytecode
        if node.has_builder():
            is_there = isinstance(node, ArtifactFile) and node.get_state() == SCons.Node.up_to_date
        else:
            is_there = isinstance(node, SCons.Node.FS.File) and node.stat() is not None
        if not is_there:
            raise _Undecided
        return _File(str(node), None, node.get_csig())


class _Steps:
    """The steps of chains, each once."""

    def __init__(self):
        self._seen: set[tuple[SCons.Node.FS.Dir, str] | SCons.Node.Node] = set()

    def of_chain(self, chain: _Chain) -> Iterator[str]:
        """The lines of the steps that would run for a chain."""
        if not self._is_new((chain.folder, chain.kernel)):
            return
        source = chain.source()
        for row in chain.rows:
            files = chain.files(row)
            yield from self._of_requests(row.rule, files[0], source)
            if _would_run(row, files, source):
                yield row.action.line(chain.kernel)
            source = files[0]

    def _of_requests(self, rule: Rule, file: _File, source: _File) -> Iterator[str]:
        """The steps that extract what the step of ``file`` has requested of its input files."""
        if rule.requested_inputs is None:
            return
        if file.build is None and source.contents() != _MISSING:
            raise _Undecided
        for node in _requested(rule, file.build):
            if self._is_new(node) and node.get_state() != SCons.Node.up_to_date:
                yield node.builder.action.strfunction([node], node.sources, node.env)

    def _is_new(self, key: tuple[SCons.Node.FS.Dir, str] | SCons.Node.Node) -> bool:
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new


def _requested(rule: Rule, build: FileBuildInfo | None) -> list[ArtifactFile]:
    """The nodes that a recorded step has requested."""
    names = list(map(str, getattr(build, "bimplicit", ())))
    if not names:
        return []
    nodes = rule.requested_inputs(names) if rule.requested_inputs is not None else []
    if len(nodes) != len(names):
        raise _Undecided
    return nodes


def _would_run(row: _Row, files: list[_File], source: _File) -> bool:
    """Whether the step that makes ``files`` would run."""
    return any(_is_outdated(row, file, source) for file in files)


def _is_outdated(row: _Row, file: _File, source: _File) -> bool:
    build = file.build
    if build is None or getattr(build, "bactsig", None) != row.signature:
        return True
    return file.contents() == _MISSING or _have_inputs_changed(row.rule, build, source)


def _have_inputs_changed(rule: Rule, build: FileBuildInfo, source: _File) -> bool:
    if list(map(str, build.bsources)) != [source.path] or any(node.has_builder() for node in rule.always):
        raise _Undecided
    if source.contents() != build.bsourcesigs[0].csig:
        # What it requests may have changed, too.
        if rule.requested_inputs is not None and source.contents() != _MISSING:
            raise _Undecided
        return True
    if not are_same(rule.always, build.bdepends, build.bdependsigs):
        return True
    nodes = _requested(rule, build)
    return any(has_changed(node, None, info) for node, info in zip(nodes, build.bimplicitsigs, strict=True))
