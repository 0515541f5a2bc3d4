"""Merges adjacent 16-byte stores to shared memory into one call of native code.

Like ``batch_shared_loads.py``, all checks are made before the first byte is written. If one fails, NumPy executes the
stores one by one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen import merge_adjacent_lines
from ..codegen.merge_adjacent_lines import LineParts
from .native_code import address, addresses, identities, is_ready, kernel, record

if TYPE_CHECKING:
    from ..memory.load_store import Site
    from ..simt.thread_group import ThreadGroup

BYTES, WORDS = 16, 4  # per store
_STORE = re.compile(r"(site_\d+)\.store\(g, (\w+), \[(r\d+(?:, r\d+){3})\]\)$")


# -- lines of a function -----------------------------------------------------------------------------
def merge_adjacent_stores(lines: list[str], origin: list[int], space: dict[str, Any]) -> tuple[list[str], list[int]]:
    """The lines of a generated function, and the pc of each, with adjacent stores merged."""

    def parts_of(line: str) -> LineParts | None:
        store = _STORE.match(line)
        return (store[1], store[2], store[3]) if store is not None and stores_16_bytes(space[store[1]]) else None

    def call(stores: list[LineParts]) -> str:
        sites, places, values = map(list, zip(*stores))
        name = f"stores_{len(space)}"
        space[name] = BatchedStores([space[site] for site in sites])
        return f"{name}(g, {', '.join(places)}, {', '.join(values)})"

    return merge_adjacent_lines.merge_adjacent(lines, origin, parts_of, call)


def stores_16_bytes(site) -> bool:
    """Whether a site stores four words of shared memory."""
    return (site.space, site.size, site.count) == ("shared", BYTES // WORDS, WORDS)


# -- execution ------------------------------------------------------------------------------------
class BatchedStores:
    """Merged stores, called with the group, the address and the four words of each store."""

    def __init__(self, sites: Sequence[Site]):
        self.sites = sites
        self.offsets = np.array([site.offset & 0xFFFFFFFF for site in sites], np.int64)
        self.kinds = identities([np.dtype(np.uint32)] * (WORDS * len(sites)))

    def __call__(self, group: ThreadGroup, *operands: np.ndarray) -> None:
        places, values = operands[: len(self.sites)], operands[len(self.sites) :]
        if not self.run_natively(group, places, values):
            for i, (site, place) in enumerate(zip(self.sites, places)):
                site.store(group, place, values[WORDS * i : WORDS * (i + 1)])

    def run_natively(self, group: ThreadGroup, places: Sequence[np.ndarray], values: tuple[np.ndarray, ...]) -> bool:
        """Try to store by native code; returns False if NumPy must do it, or report the fault."""
        shape = group.shape
        if not group.is_rectangular or group.observers.has_any or group.geometry.cluster_size > 1 or not is_ready():
            return False
        line = (1, shape[1])
        if group.memories.shared_limit < BYTES or not all(
            p.shape in (shape, line) and p.dtype == np.uint32 for p in places
        ):
            return False
        sources = np.empty(len(values), np.int64)
        if addresses(values, self.kinds, shape, sources):
            return False
        whole = [np.ascontiguousarray(place) for place in places]
        table = np.array([[address(place) for place in whole], [0 if len(place) == 1 else shape[1] for place in whole]])
        marks = None if group.observers.async_copy_marks is None else group.observers.async_copy_marks.marks[BYTES]
        first = np.ascontiguousarray(group.cta.reshape(-1), np.int64)
        accesses = record(
            address(table[0]), address(table[1]), address(self.offsets), address(first), len(places), len(first), shape[1],
            group.memories.shared_size, group.memories.shared_limit - BYTES,
        )  # fmt: skip
        marks_place = 0 if marks is None else address(marks)
        return not kernel("store_chunks", 4)(
            address(sources), address(accesses), address(group.memories.shared), marks_place
        )
