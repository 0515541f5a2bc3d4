"""Checks that the input files of a step stay the same while it runs, and that SCons' record matches what was read.

SCons takes the signature of a file when it decides whether to run a step. The file, or the ptxas program, may have changed
when the step reads it. So a step runs again if an input changed meanwhile; and its record gets the contents that were
read, because otherwise the next build would attribute the result to the earlier contents.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy

import SCons.Node.FS
from SCons.Util import hash_file_signature

from ..core.errors import InvalidInput, Location
from ..core.tracing.dependency_state import Stamp, differs_in_ctime_only, stamp
from .artifact_node import ArtifactFile, matches

_REMEDY = "rerun when no other program writes to it"


class StepInputs:
    """The input files of a target's step, in their current state."""

    def __init__(self, target: SCons.Node.Node):
        files = [node for node in target.children() if isinstance(node, SCons.Node.FS.File)]
        self._stamps: dict[SCons.Node.FS.File, Stamp | None] = {node: stamp(node.path) for node in files}
        self._contents = {node: getattr(node.get_ninfo(), "csig", None) for node in files}

    def first_change(self) -> str | None:
        """The first file that has changed, if any."""
        return next((node.path for node, before in self._stamps.items() if self._is_changed(node, before)), None)

    def _is_changed(self, node: SCons.Node.FS.File, before: Stamp | None) -> bool:
        now = stamp(node.path)
        if now == before or not differs_in_ctime_only(before, now):
            return now != before
        return hash_file_signature(node.path) != self._contents[node]

    def record_in(self, targets: list) -> None:
        """Store the contents that were read in the records of ``targets``.

        Raises InvalidInput[input-changed] if the file of another step is not that step's output.
        """
        for node in self._stamps:
            if _matches_scons_stat(node):
                continue
            csig = hash_file_signature(node.path)
            if csig == node.get_csig():
                continue
            if node.has_builder():
                message = "file was modified after the step that builds it"
                raise InvalidInput("input-changed", message, location=Location(node.path), remedy=_REMEDY)
            for target in targets:
                _replace(target.get_binfo(), node, csig)


def has_decided_inputs(target: SCons.Node.Node) -> bool:
    """Whether the input files are those for which SCons has decided to run the step of ``target``."""
    return all(_matches_scons_stat(node) for node in target.children() if isinstance(node, SCons.Node.FS.File))


def run_on_stable_inputs(targets: list, make: Callable[[], dict[str, bytes]]) -> dict[str, bytes]:
    """The result of ``make`` for the inputs of ``targets``; ``make`` runs twice if one of them changed meanwhile.

    Raises InvalidInput[input-changed] if one changed both times.
    """
    for _ in range(2):
        inputs = StepInputs(targets[0])
        files = make()
        changed = inputs.first_change()
        if changed is None:
            inputs.record_in(targets)
            return files
    message = "file kept changing while a step was reading it"
    raise InvalidInput("input-changed", message, location=Location(changed), remedy=_REMEDY)


def _matches_scons_stat(node: SCons.Node.FS.File) -> bool:
    """Whether the file's stat is the one for which SCons has the signature."""
    try:
        found = os.stat(node.path)
    except OSError:
        # The step itself has reported its dependencies.
        return True
    if isinstance(node, ArtifactFile):
        return matches(node.get_ninfo(), found)
    seen = node._memo.get("stat")
    return seen is not None and _identity(seen) == _identity(found)


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _replace(record, node, csig: str) -> None:
    """Replace the node's signature by ``csig`` in the record of one target only."""
    parts = (
        (record.bsources, record.bsourcesigs),
        (record.bdepends, record.bdependsigs),
        (record.bimplicit, record.bimplicitsigs),
    )
    for nodes, infos in parts:
        for position, child in enumerate(nodes):
            if child is node:
                infos[position] = copy(infos[position])
                infos[position].csig = csig
