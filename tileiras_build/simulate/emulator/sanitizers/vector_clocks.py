"""The vector clocks of racecheck, and their propagation through barriers.

A clock id is unique within its cluster: CTA rank times ``roles`` plus role. Roles, in order: the warps, the wgmma operations
of each warpgroup, the bulk stores of each warp, the tcgen05 operations of each warp, and mbarriers in order of first use.

Each entry has three values. ORDER counts visible accesses, FENCED those that also passed a proxy fence. SYNCHRONIZED counts
executed accesses, which relaxed arrivals and waits publish as well (PTX ISA 9.0, 9.7.13.4 and 9.7.13.15). A relaxed operation
orders memory only together with a release or acquire fence of its thread.
"""

from __future__ import annotations

import numpy as np

from ..simt.broadcasting import unique_integers
from ..simt.geometry import Geometry

MBARRIERS = 64  # roles of mbarriers in a CTA; further mbarriers share them
ORDER, FENCED, SYNCHRONIZED = 0, 1, 2  # indices of an actor's vector clocks
CLUSTER_OR_WIDER = {"cluster", "gpu", "sys", "gl"}  # scopes of fences that reach other CTAs of a cluster
RELEASES, ACQUIRES = {"acq_rel", "sc", "release"}, {"acq_rel", "sc", "acquire"}


class VectorClocks:
    """The vector clocks of all warps, (CTAs, warps, 3, actors), and the published ones; see ``racecheck_shared_memory.py``."""

    def __init__(self, geometry: Geometry, shared_size: int):
        self.geometry, self.words = geometry, shared_size // 8
        self.warps = -(-geometry.threads // 32)
        self.first_wgmma_clock = self.warps
        self.first_store = self.first_wgmma_clock + -(-self.warps // 4)
        self.first_tensor = self.first_store + self.warps
        self.first_copy = self.first_tensor + self.warps
        self.roles = self.first_copy + MBARRIERS
        self.clock_count = self.roles * self.geometry.cluster_size
        ctas = geometry.ctas
        self.first_async_clock = self.geometry.rank(np.arange(ctas)) * self.roles
        self.known = np.zeros((ctas, self.warps, 3, self.clock_count), np.int32)
        for warp in range(self.warps):
            for which in (ORDER, SYNCHRONIZED):
                self.known[np.arange(ctas), warp, which, self.first_async_clock + warp] = 1
        self.async_clock = np.zeros((ctas, self.roles), np.int32)
        self.copy_roles: dict[int, int] = {}
        self.at_barrier: dict[tuple, np.ndarray] = {}
        self.at_cluster: dict[int, np.ndarray] = {}
        # By (CTA, warp): its clocks at its last release fence, and those of relaxed waits since its last acquire fence.
        self.released: dict[tuple[int, int], np.ndarray] = {}
        self.unacquired: dict[tuple[int, int], np.ndarray] = {}

    # -- actors --------------------------------------------------------------------------------------
    def pairs(self, flat) -> tuple[np.ndarray, np.ndarray]:
        """The distinct (CTA, warp) of threads."""
        cta, tid = np.divmod(np.asarray(flat), self.geometry.threads)
        both = unique_integers(cta * self.warps + tid // 32)
        return np.divmod(both, self.warps)

    def tick(self, cta, warp) -> None:
        for which in (ORDER, SYNCHRONIZED):
            self.known[cta, warp, which, self.first_async_clock[cta] + warp] += 1

    def clock(self, cta, warp):
        return self.known[cta, warp, ORDER, self.first_async_clock[cta] + warp]

    def next_async(self, cta: int, role: int) -> tuple[int, int]:
        """Advance the clock of a role; returns (clock id, new clock)."""
        self.async_clock[cta, role] += 1
        return int(self.first_async_clock[cta]) + role, int(self.async_clock[cta, role])

    def copy_role(self, position: int) -> int:
        word = position % self.words
        return self.first_copy + self.copy_roles.setdefault(word, len(self.copy_roles) % MBARRIERS)

    def join(self, cta, warp, known) -> None:
        np.maximum(self.known[cta, warp], known, out=self.known[cta, warp])

    # -- synchronization -----------------------------------------------------------------------------
    def warp_barrier(self, group) -> None:
        self.tick(*self.pairs(group.flat))

    def whole_barrier(self, ctas) -> None:
        """Join the clocks of all warps of CTAs at a barrier of all their threads."""
        self.known[ctas] = self.known[ctas].max(axis=1, keepdims=True)
        for warp in range(self.warps):
            self.tick(ctas, warp)

    def arrive(self, group, barrier: int) -> None:
        for cta, warp in zip(*(x.tolist() for x in self.pairs(group.flat))):
            self.publish(self.at_barrier, (cta, barrier), cta, warp)

    def publish(self, place: dict, key, cta: int, warp: int, relaxed: bool = False) -> None:
        self.add(place, key, self.release_clock(cta, warp, relaxed))
        self.tick(cta, warp)

    @staticmethod
    def add(place: dict, key, known) -> None:
        old = place.get(key)
        place[key] = known.copy() if old is None else np.maximum(old, known)

    def release_clock(self, cta: int, warp: int, relaxed: bool) -> np.ndarray:
        """The clocks that a warp publishes by an arrival."""
        if not relaxed:
            return self.known[cta, warp]
        out = np.zeros_like(self.known[cta, warp])
        out[SYNCHRONIZED] = self.known[cta, warp, SYNCHRONIZED]
        return np.maximum(out, self.released[cta, warp]) if (cta, warp) in self.released else out

    def acquire(self, cta: int, warp: int, known: np.ndarray, relaxed: bool) -> None:
        """Join the published clocks ``known`` into those of a warp whose wait has returned."""
        if not relaxed:
            return self.join(cta, warp, known)
        self.add(self.unacquired, (cta, warp), known)
        np.maximum(self.known[cta, warp, SYNCHRONIZED], known[SYNCHRONIZED], out=self.known[cta, warp, SYNCHRONIZED])

    def leave_barrier(self, group, barrier: int) -> None:
        for cta, warp in zip(*(x.tolist() for x in self.pairs(group.flat))):
            self.join(cta, warp, self.at_barrier[cta, barrier])

    def reset(self, done) -> None:
        """Clear the published clocks of complete barriers (CTA, barrier)."""
        for key in zip(*(x.tolist() for x in np.nonzero(done))):
            self.at_barrier.pop(key, None)

    def arrive_in_cluster(self, flat, relaxed: bool) -> None:
        for cta, warp in zip(*(x.tolist() for x in self.pairs(flat))):
            self.publish(self.at_cluster, cta // self.geometry.cluster_size, cta, warp, relaxed)

    def leave_in_cluster(self, flat) -> None:
        for cta, warp in zip(*(x.tolist() for x in self.pairs(flat))):
            self.join(cta, warp, self.at_cluster[cta // self.geometry.cluster_size])

    def proxy_fence(self, flat) -> None:
        """Apply fence.proxy.async: accesses ordered before it are visible to the async proxy."""
        cta, warp = self.pairs(flat)
        self.known[cta, warp, FENCED] = self.known[cta, warp, ORDER]
        self.tick(cta, warp)

    def memory_fence(self, flat, mods) -> None:
        """Apply fence or membar of cluster or wider scope."""
        is_full = RELEASES.isdisjoint(mods) and ACQUIRES.isdisjoint(mods)
        for cta, warp in zip(*(x.tolist() for x in self.pairs(flat))):
            if is_full or not ACQUIRES.isdisjoint(mods):
                unacquired = self.unacquired.pop((cta, warp), None)
                if unacquired is not None:
                    self.join(cta, warp, unacquired)
            if is_full or not RELEASES.isdisjoint(mods):
                self.released[cta, warp] = self.known[cta, warp].copy()
                self.tick(cta, warp)
