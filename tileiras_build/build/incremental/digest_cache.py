"""Digests of tools and libraries, cached by their stat: ptxas has 50 MB, and SCons reads it in every build that runs a step.

The digest of an earlier build is valid if the file's stat is unchanged: size, inode, mode, times of modification and of
change, in ns. The time of change cannot be set back, so no edit is missed.
"""

from __future__ import annotations

from collections.abc import Mapping

import SCons.Script
from SCons.Node.FS import File
from SCons.Util import get_current_hash_algorithm_used

from .fs_queries import query, stat_state
from .sconscript_trace import TRACE

_MARGIN = 1.0  # seconds; a file that changed so recently may change again within a clock tick


class DigestCache:
    """The nodes of files that many artifacts read; ``known`` are the rows of an earlier run, by absolute path."""

    def __init__(self, known: Mapping[str, list]):
        self._known = known
        self._nodes: dict[str, File] = {}

    def file(self, env, path: str) -> File:
        """The node of a file."""
        node = env.fs.File(path)
        self._nodes[node.get_abspath()] = node
        with TRACE.untraced():
            self._trust_stat(node)
        return node

    def _trust_stat(self, node: File) -> None:
        algorithm, csig, *state = self._known.get(node.get_abspath(), (None, None))
        if algorithm != get_current_hash_algorithm_used() or node.has_builder():
            return
        # SCons caches this stat, and steps compare it with the current one when they read the file.
        found = node.stat()
        if found is not None and stat_state(found) == state:
            node.get_ninfo().csig = csig

    def rows(self) -> dict[str, list]:
        """For a later run: how the digest was computed, the digest, and the stat from before the file was read."""
        rows = {path: _row(node) or self._known.get(path) for path, node in self._nodes.items()}
        return {path: row for path, row in rows.items() if row is not None}


def _row(node: File) -> list | None:
    csig, seen = getattr(node.get_ninfo(), "csig", None), node._memo.get("stat")
    if csig is None or seen is None or node.has_builder():
        return None
    state = stat_state(seen)
    is_settled = max(state[:2]) / 1e9 < SCons.Script.start_time - _MARGIN
    if not is_settled or query("state", node.get_abspath()) != state:
        return None
    return [get_current_hash_algorithm_used(), csig, *state]
