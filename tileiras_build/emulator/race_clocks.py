"""What the agents of the race check know of each other: their clocks, and how these pass through barriers.

Agents are numbered within their cluster: rank times ``roles`` plus role. Roles: the warps, the warpgroups' products, the warps'
bulk stores, the warps' operations of tensor memory, then mbarriers in order of their first use.
"""

from __future__ import annotations

import numpy as np

from .faults import RACE, EmulatorFault
from .shapes import distinct

MBARRIERS = 64  # mbarriers of a CTA with a role of their own; more share them
ORDER, FENCED = 0, 1  # the two vector clocks


class Clocks:
    """The vector clocks of all warps, (CTAs, warps, 2, agents), and those that are published; ``races.py`` says what they are."""

    def __init__(self, machine):
        self.machine, self.clusters = machine, machine.clusters
        self.warps = -(-machine.threads // 32)
        self.first_product = self.warps
        self.first_store = self.first_product + -(-self.warps // 4)
        self.first_tensor = self.first_store + self.warps
        self.first_copy = self.first_tensor + self.warps
        self.roles = self.first_copy + MBARRIERS
        self.agents = self.roles * self.clusters.size
        ctas = machine.ctas
        self.first_agent = self.clusters.rank(np.arange(ctas)) * self.roles
        self.known = np.zeros((ctas, self.warps, 2, self.agents), np.int32)
        for warp in range(self.warps):
            self.known[np.arange(ctas), warp, ORDER, self.first_agent + warp] = 1
        self.async_clock = np.zeros((ctas, self.roles), np.int32)
        self.copy_roles: dict[int, int] = {}
        self.at_barrier: dict[tuple, np.ndarray] = {}
        self.at_cluster: dict[int, np.ndarray] = {}
        self.pending: dict[int, np.ndarray] = {}  # mbarrier position -> what arrived in its phase, and
        self.done: dict[int, np.ndarray] = {}  # what arrived in completed ones
        self.made: dict[int, tuple] = {}  # mbarrier position -> (agent, clock, instruction) of its initialisation

    # -- agents --------------------------------------------------------------------------------------
    def pairs(self, flat) -> tuple[np.ndarray, np.ndarray]:
        """(CTA, warp) of the warps of threads, each once."""
        cta, tid = np.divmod(np.asarray(flat), self.machine.threads)
        both = distinct(cta * self.warps + tid // 32)
        return np.divmod(both, self.warps)

    def tick(self, cta, warp) -> None:
        self.known[cta, warp, ORDER, self.first_agent[cta] + warp] += 1

    def clock(self, cta, warp):
        return self.known[cta, warp, ORDER, self.first_agent[cta] + warp]

    def next_async(self, cta: int, role: int) -> tuple[int, int]:
        """(agent, its new clock)."""
        self.async_clock[cta, role] += 1
        return int(self.first_agent[cta]) + role, int(self.async_clock[cta, role])

    def copy_role(self, position: int) -> int:
        word = position % (self.machine.shared_size // 8)
        return self.first_copy + self.copy_roles.setdefault(word, len(self.copy_roles) % MBARRIERS)

    def learn(self, cta, warp, known) -> None:
        np.maximum(self.known[cta, warp], known, out=self.known[cta, warp])

    # -- synchronisation -----------------------------------------------------------------------------
    def warp_barrier(self, group) -> None:
        self.tick(*self.pairs(group.flat))

    def whole_barrier(self, ctas) -> None:
        """A barrier of all threads of CTAs."""
        self.known[ctas] = self.known[ctas].max(axis=1, keepdims=True)
        for warp in range(self.warps):
            self.tick(ctas, warp)

    def arrive(self, group, barrier: int) -> None:
        for cta, warp in zip(*(x.tolist() for x in self.pairs(group.flat))):
            self.publish(self.at_barrier, (cta, barrier), cta, warp)

    def publish(self, place: dict, key, cta: int, warp: int) -> None:
        old = place.get(key)
        known = self.known[cta, warp]
        place[key] = known.copy() if old is None else np.maximum(old, known)
        self.tick(cta, warp)

    def leave(self, group, barrier: int) -> None:
        for cta, warp in zip(*(x.tolist() for x in self.pairs(group.flat))):
            self.learn(cta, warp, self.at_barrier[cta, barrier])

    def reset(self, done) -> None:
        """Barriers (ctas, numbers) are complete."""
        for key in zip(*(x.tolist() for x in np.nonzero(done))):
            self.at_barrier.pop(key, None)

    def arrive_in_cluster(self, flat) -> None:
        for cta, warp in zip(*(x.tolist() for x in self.pairs(flat))):
            self.publish(self.at_cluster, cta // self.clusters.size, cta, warp)

    def leave_in_cluster(self, flat) -> None:
        for cta, warp in zip(*(x.tolist() for x in self.pairs(flat))):
            self.learn(cta, warp, self.at_cluster[cta // self.clusters.size])

    def proxy_fence(self, flat) -> None:
        """fence.proxy.async: the async proxy sees what is known up to here."""
        cta, warp = self.pairs(flat)
        self.known[cta, warp, FENCED] = self.known[cta, warp, ORDER]
        self.tick(cta, warp)

    # -- mbarriers -----------------------------------------------------------------------------------
    def initialised(self, ins, positions, flat) -> None:
        cta, tid = np.divmod(np.asarray(flat), self.machine.threads)
        warp = tid // 32
        agents, clocks = self.first_agent[cta] + warp, self.clock(cta, warp)
        for position, agent, clock in zip(positions.tolist(), agents.tolist(), clocks.tolist()):
            self.made[position] = (agent, clock, ins)
            self.pending.pop(position, None)
            self.done.pop(position, None)

    def used(self, ins, positions, flat) -> None:
        """Threads use mbarriers: they must know of the initialisation."""
        for position, cta, warp in self.warps_at(positions, flat):
            agent, clock, made = self.made.get(position, (None, 0, None))
            own = int(self.first_agent[cta]) + warp
            if made is not None and agent != own and clock > self.known[cta, warp, ORDER, agent]:
                place = position % (self.machine.shared_size // 8) * 8
                raise EmulatorFault(
                    f"race on the mbarrier at shared {place:#x}: it is initialised at line {made.line} ({made.text}) "
                    "with no barrier before this use",
                    instruction=ins.text, line=ins.line, thread=self.machine.thread_name(cta, warp * 32), address=place, kind=RACE,
                )  # fmt: skip

    def warps_at(self, positions, flat) -> list:
        """(position, CTA, warp) of threads at mbarriers, each once."""
        cta, tid = np.divmod(np.asarray(flat), self.machine.threads)
        # In one number each: rows would be sorted as records, which takes ten times as long.
        each = distinct((positions * self.machine.ctas + cta) * self.warps + tid // 32)
        places, warp = np.divmod(each, self.warps)
        return list(zip(*(x.tolist() for x in (*np.divmod(places, self.machine.ctas), warp))))

    def arrived(self, positions, flat) -> None:
        for position, c, warp in self.warps_at(positions, flat):
            old = self.pending.get(position)
            self.pending[position] = self.known[c, warp].copy() if old is None else np.maximum(old, self.known[c, warp])
        self.tick(*self.pairs(flat))

    def landed(self, positions, clocks) -> None:
        """Asynchronous operations that knew ``clocks`` (n, 2, agents) complete on mbarriers."""
        for position, known in zip(positions.tolist(), clocks):
            old = self.pending.get(position)
            self.pending[position] = known if old is None else np.maximum(old, known)

    def completed(self, positions) -> None:
        for position in positions.tolist():
            known = self.pending.pop(position, None)
            if known is not None:
                old = self.done.get(position)
                self.done[position] = known if old is None else np.maximum(old, known)

    def acquired(self, positions, flat) -> None:
        """Threads have seen a phase complete."""
        for position, c, warp in self.warps_at(positions, flat):
            if position in self.done:
                self.learn(c, warp, self.done[position])
