"""A run that makes and checks the nodes of some kernels, since nothing that belongs to the others has changed.

The record of the last build (``build_record.py``) says which sources' files have changed since. The graph then has the
chains of these sources alone; the other kernels stand by the record. That holds only for what SCons alone looks at: a
build script that asks a library for its nodes gets all of them, and the run is an ordinary one from there on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import SCons.Node
import SCons.Node.Alias
import SCons.Util

from ...core.tracing.state_probe import is_installed, is_standard
from ..artifact_node import ArtifactFile
from ..export_step import ExportDependencies
from .build_record import BuildRecord, FullGraph


@dataclass(frozen=True)
class AffectedSubset:
    """The sources, by absolute path, whose kernels a run looks at; ``record`` is of the last build of all."""

    sources: frozenset[str]
    record: BuildRecord

    @property
    def full_graph(self) -> FullGraph:
        """What the record knows of all kernels."""
        assert self.record.full_graph is not None, "the record has no full graph"
        return self.record.full_graph

    def contains(self, node) -> bool:
        """Whether the kernels of a source's node are looked at."""
        return node.get_abspath() in self.sources

    def names_outside(self, nodes: Iterable) -> set[str]:
        """The kernels of those of ``nodes``, sources of a library, that are not looked at."""
        others = (node for node in nodes if not self.contains(node))
        return {name for node in others for name in self.full_graph.sources.get(node.get_abspath(), ())}

    def agrees(self, names: Mapping[str, list[str]]) -> bool:
        """Whether sources still have the kernels that they had; ``names`` by path."""
        return all(self.full_graph.sources.get(path) == found for path, found in names.items())


class LibraryAlias(SCons.Node.Alias.Alias):
    """The alias of a library, whose build folder is ``folder``. ``complete`` gives it all of its nodes where a build script
    asks for them."""

    __slots__ = ("_sources", "complete", "folder")

    def __init__(self, name: str, folder: str):
        self.complete: Callable[[], None] | None = None
        self.folder = folder
        super().__init__(name)

    @property
    def sources(self) -> list:
        """The last artifacts of all kernels; when SCons walks the graph, those that this run looks at."""
        if self.complete is not None:
            self.complete()
        return self._sources

    @sources.setter
    def sources(self, nodes: list) -> None:
        self._sources = nodes

    def get_state(self) -> int:
        """SCons' state of the node. It asks when it begins to walk the graph; the build scripts are read."""
        self.complete = None
        return super().get_state()

    def replace_sources(self, nodes: Iterable) -> None:
        """Let ``nodes`` be all of them, in this order."""
        self.complete = None
        self._sources = []
        self.sources_set.clear()
        self.add_source(list(nodes))
        self.reset_executor()


class LibraryNodes(SCons.Util.NodeList):
    """What ``env.KernelLibrary`` returns: the alias, whose name other libraries may share; ``kernels`` gives the last artifacts
    of this one's own kernels."""

    def __init__(self, nodes: Iterable, kernels: Callable[[], list]):
        super().__init__(nodes)
        self.kernels = kernels


def library_alias(name: str, folder: str) -> LibraryAlias | SCons.Node.Alias.Alias:
    """The node of the alias ``name``, that of a library unless a build script has made it before."""
    return SCons.Node.Alias.default_ans.setdefault(name, LibraryAlias(name, folder))


@contextmanager
def without_completing(alias: SCons.Node.Alias.Alias) -> Iterator[None]:
    """For this tool's own look at an alias, which asks for no more nodes than it has."""
    complete, alias.complete = getattr(alias, "complete", None), None
    yield
    alias.complete = complete


def only_artifacts(visited: Iterable) -> bool:
    """Whether nothing that SCons has looked at, besides artifacts of libraries, is made by a step."""
    return all(isinstance(node, SCons.Node.Alias.Alias) or not node.has_builder() for node in visited)


class Libraries:
    """The libraries of a run: what a later run must know of them, and how they get the nodes that this one left out.

    ``divisible`` is False where the nodes of a kernel depend on which others there are.
    """

    def __init__(self):
        self.can_be_partial = True
        self._sources: dict[str, list[str]] = {}
        self._deferred: dict[LibraryAlias, list[Callable[[], list]]] = {}

    def add(self, names: Mapping[str, list[str]], *, is_complete: bool) -> None:
        """Note the kernels of a library by the path of their source; not ``whole``: sources lie elsewhere."""
        self._sources |= names
        self.can_be_partial &= is_complete

    def defer(self, alias: LibraryAlias, make: Callable[[], list]) -> None:
        """``make`` gives all nodes of the library ``alias``, which has some."""
        self._deferred.setdefault(alias, []).append(make)

    def complete(self) -> None:
        """Make all nodes that were left out."""
        for alias, makers in self._deferred.items():
            alias.replace_sources([node for make in makers for node in make()])
        self._deferred.clear()

    def full_graph(self, cubins: int) -> FullGraph | None:
        """What a run of some kernels must know; None where there can be none."""
        return FullGraph(self._sources, cubins) if self.can_be_partial and self._sources else None


def source_of_each(nodes: Iterable) -> Iterator[tuple[SCons.Node.Node, str]]:
    """(artifact, the path of the source that it is made from) of each of ``nodes``."""
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
    """The sources that files serve: artifacts, the sources themselves, and what was read to export them.

    What is installed, and what the build scripts read (``read_by_scripts``), serves everybody.
    """
    found: dict[str, set[str]] = defaultdict(set)
    exports: set[ExportDependencies] = set()
    for node, source in source_of_each(artifacts):
        paths = [node.get_abspath(), source]
        # All that one export makes has one record.
        if node.reads is not None and node.reads not in exports:
            exports.add(node.reads)
            paths += _read_by(node)
        for path in paths:
            if path not in by_scripts and not is_installed(path) and not is_standard(path):
                found[path].add(source)
    return found


def _read_by(node) -> Iterator[str]:
    """The files that the step has read that makes ``node``, as SCons and as its record know them."""
    yield from (found.get_abspath() for found in node.depends)
    if not isinstance(inputs := node.reads.inputs(), str):
        yield from inputs[0]
