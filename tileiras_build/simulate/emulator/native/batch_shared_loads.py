"""Merges adjacent 32-bit loads from shared memory into one call of native code.

Like ``ldmatrix_rows.py``, the native code makes all checks. If one fails, NumPy executes the loads one by one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen import merge_adjacent_lines
from ..codegen.merge_adjacent_lines import LineParts
from .native_code import address, is_ready, kernel, record

if TYPE_CHECKING:
    from ..memory.load_store import Site
    from ..simt.thread_group import ThreadGroup

WORD, LANES = 4, 8
_LOAD = re.compile(r"(r\d+) = (site_\d+)\.load\(g, (\w+)\)\[0\]$")


# -- lines of a function -----------------------------------------------------------------------------
def merge_adjacent_loads(lines: list[str], origin: list[int], space: dict[str, Any]) -> tuple[list[str], list[int]]:
    """The lines of a generated function, and the pc of each, with adjacent loads merged."""

    def parts_of(line: str) -> LineParts | None:
        load = _LOAD.match(line)
        return (load[1], load[2], load[3]) if load is not None and loads_4_bytes(space[load[2]]) else None

    def call(loads: list[LineParts]) -> str:
        targets, sites, places = map(list, zip(*loads))
        name = f"loads_{len(space)}"
        space[name] = BatchedLoads([space[site] for site in sites])
        return f"{', '.join(targets)} = {name}(g, {', '.join(places)})"

    return merge_adjacent_lines.merge_adjacent(lines, origin, parts_of, call, _reads_no_target)


def _reads_no_target(before: list[LineParts], load: LineParts) -> bool:
    """Whether the address of a load does not depend on the preceding loads."""
    return load[2] not in {target for target, _, _ in before}


def loads_4_bytes(site) -> bool:
    """Whether a site loads one word of shared memory."""
    return (site.space, site.size, site.count) == ("shared", WORD, 1)


# -- execution ------------------------------------------------------------------------------------
class BatchedLoads:
    """Merged loads, called with the group and the address of each load."""

    def __init__(self, sites: Sequence[Site]):
        self.sites = sites
        self.offsets = np.array([site.offset & 0xFFFFFFFF for site in sites], np.int64)

    def __call__(self, group: ThreadGroup, *places: np.ndarray) -> Sequence[np.ndarray] | np.ndarray:
        done = self.run_natively(group, places)
        return [site.load(group, place)[0] for site, place in zip(self.sites, places)] if done is None else done

    def run_natively(self, group: ThreadGroup, places: Sequence[np.ndarray]) -> np.ndarray | None:
        """The words (loads, CTAs, threads); None if NumPy must do it, or report the fault."""
        shape = group.shape
        if not group.is_rectangular or group.observers.has_any or group.geometry.cluster_size > 1 or not is_ready():
            return None
        line = (1, shape[1])
        if shape[1] % LANES or group.memories.shared_limit < WORD:
            return None
        if not all(place.shape in (shape, line) and place.dtype == np.uint32 for place in places):
            return None
        whole = [np.ascontiguousarray(place) for place in places]
        table = np.array([[address(place) for place in whole], [0 if len(place) == 1 else shape[1] for place in whole]])
        out = np.empty((len(places), *shape), np.uint32)
        marks = None if group.observers.async_copy_marks is None else group.observers.async_copy_marks.marks[16]
        first = np.ascontiguousarray(group.cta.reshape(-1), np.int64)
        accesses = record(
            address(table[0]), address(table[1]), address(self.offsets), address(first), len(places), len(first), shape[1],
            group.memories.shared_size, group.memories.shared_limit - WORD,
        )  # fmt: skip
        marks_place = 0 if marks is None else address(marks)
        bad = kernel("load_words", 4)(address(out), address(accesses), address(group.memories.shared), marks_place)
        return None if bad else out
