"""A run that constructs and checks the nodes of some kernels, as no file of the others has changed.

The record of the last build (``build_record.py``) yields the sources whose files have changed. The graph then contains only
the chains of these sources; the others are known to be current. That holds only while SCons alone uses the nodes: if a
build script requests the nodes of a library, all are created, and the run continues as an ordinary one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager

import SCons.Node
import SCons.Node.Alias
import SCons.Util

from ...core.tracing.dependency_state import is_installed, is_standard
from ..artifact_node import ArtifactFile
from ..python_to_bytecode_step import ExportDependencies
from .build_record import FullGraph


class LibraryAlias(SCons.Node.Alias.Alias):
    """The alias of a library, whose build folder is ``folder``. ``complete`` adds all of its nodes if a build script requests
    them.
    """

    __slots__ = ("_sources", "complete", "folder")

    def __init__(self, name: str, folder: str):
        self.complete: Callable[[], None] | None = None
        self.folder = folder
        super().__init__(name)

    @property
    def sources(self) -> list:
        """The last artifacts of all kernels; while SCons walks the graph, those that this run checks."""
        if self.complete is not None:
            self.complete()
        return self._sources

    @sources.setter
    def sources(self, nodes: list) -> None:
        self._sources = nodes

    def get_state(self) -> int:
        """SCons' state of the node. SCons calls it when it begins to walk the graph, after the build scripts are read."""
        self.complete = None
        return super().get_state()

    def is_untouched(self) -> bool:
        """Whether nodes are left out, and the build scripts have neither requested them nor added anything."""
        more = (self._sources, self.depends, self.prerequisites, self.side_effects, self.ignore, self.always_build)
        return self.complete is not None and not any(more) and getattr(self, "executor", None) is None

    def replace_sources(self, nodes: Iterable) -> None:
        """Set ``nodes`` as all sources, in this order."""
        self.complete = None
        self._sources = []
        self.sources_set.clear()
        self.add_source(list(nodes))
        self.reset_executor()


class LibraryNodes(SCons.Util.NodeList):
    """The result of ``env.KernelLibrary``: the alias, whose name other libraries may share; ``kernels`` returns the last artifacts
    of this library's own kernels.
    """

    def __init__(self, nodes: Iterable, kernels: Callable[[], list]):
        super().__init__(nodes)
        self.kernels = kernels


def library_alias(name: str, folder: str) -> LibraryAlias | SCons.Node.Alias.Alias:
    """The node of the alias ``name``, a LibraryAlias unless a build script created it before."""
    return SCons.Node.Alias.default_ans.setdefault(name, LibraryAlias(name, folder))


@contextmanager
def without_completing(alias: SCons.Node.Alias.Alias) -> Iterator[None]:
    """Access an alias within the tool without completing it."""
    complete, alias.complete = getattr(alias, "complete", None), None
    yield
    alias.complete = complete


def only_artifacts(visited: Iterable) -> bool:
    """Whether steps make only artifacts of libraries among the nodes that SCons has visited."""
    return all(isinstance(node, SCons.Node.Alias.Alias) or not node.has_builder() for node in visited)


class Libraries:
    """The libraries of a run: information for later runs, and how to create the nodes that this run left out.

    ``divisible`` is False if the nodes of a kernel depend on which other kernels exist.
    """

    def __init__(self):
        self.can_be_partial = True
        self._sources: dict[str, list[str]] = {}
        self._deferred: dict[LibraryAlias, list[Callable[[], list]]] = {}

    def add(self, names: Mapping[str, list[str]], *, is_complete: bool) -> None:
        """Add the kernels of a library by the path of their source; not ``whole``: there are sources elsewhere."""
        self._sources |= names
        self.can_be_partial &= is_complete

    def defer(self, alias: LibraryAlias, make: Callable[[], list]) -> None:
        """Register ``make``, which returns all nodes of the library ``alias``."""
        self._deferred.setdefault(alias, []).append(make)

    def complete(self) -> None:
        """Create all nodes that were left out."""
        for alias, makers in self._deferred.items():
            alias.replace_sources([node for make in makers for node in make()])
        self._deferred.clear()

    def full_graph(self, cubins: int) -> FullGraph | None:
        """The information for a run of some kernels; None if such a run is impossible."""
        return FullGraph(self._sources, cubins) if self.can_be_partial and self._sources else None


def source_of_each(nodes: Iterable) -> Iterator[tuple[SCons.Node.Node, str]]:
    """(artifact, the path of its source) for each of ``nodes``."""
    known: dict[SCons.Node.Node, str] = {}

    def origin(node) -> str:
        if not isinstance(node, ArtifactFile):
            return node.get_abspath()
        if node not in known:
            known[node] = origin(node.sources[0])
        return known[node]

    for node in nodes:
        yield node, origin(node)


def owners_of(artifacts: Iterable, by_scripts: Container[str]) -> dict[str, set[str]]:
    """The sources that files belong to: artifacts, the sources themselves, and the dependencies of their export.

    Installed files, and files that the build scripts read (``read_by_scripts``), belong to all.
    """
    found: dict[str, set[str]] = defaultdict(set)
    exports: set[ExportDependencies] = set()
    for node, source in source_of_each(artifacts):
        paths = [node.get_abspath(), source]
        # All artifacts of one export share a record.
        if node.reads is not None and node.reads not in exports:
            exports.add(node.reads)
            paths += _read_by(node)
        for path in paths:
            if path not in by_scripts and not is_installed(path) and not is_standard(path):
                found[path].add(source)
    return found


def _read_by(node) -> Iterator[str]:
    """The dependencies of the step that makes ``node``, according to SCons and its record."""
    yield from (found.get_abspath() for found in node.depends)
    if not isinstance(inputs := node.reads.inputs(), str):
        yield from inputs[0]
