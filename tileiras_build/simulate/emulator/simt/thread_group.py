"""Groups of threads at one pc, and their divergence.

The registers of a group are arrays. Their shape is (CTAs, threads) for a rectangular set of threads and (1, n) for any other
set. Uniform values may be (CTAs, 1) or scalars. A child group, created by a divergent branch, refers to its parent's
registers and copies only those that it uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..errors import EmulatorError
from ..native import split_merge_thread_groups
from .async_copy_groups import AsyncCopyGroups
from .broadcasting import broadcast
from .geometry import RANK_SHIFT
from .thread_sets import ThreadSet

UNRESOLVED = type("Lazy", (), {"__repr__": lambda self: "LAZY"})()


_NO_CARRY = np.bool_(False)


class Divergence:
    """A divergent branch: pieces of (mask of threads, pc)."""

    __slots__ = ("pieces",)

    def __init__(self, pieces):
        self.pieces = pieces


# Kinds of events; their handlers are in scheduler.py.
CALL, RETURN, EXIT, PARTIAL_EXIT = "call", "return", "exit", "partial_exit"
BARRIER, CLUSTER_WAIT, WARP_SYNC, MBARRIER_WAIT, RETRY = (
    "barrier",
    "cluster_wait",
    "warp_sync",
    "mbarrier_wait",
    "retry",
)


class SchedulerEvent:
    """A request to the scheduler: barrier, exit, call, return, or a wait for the other threads of a warp."""

    __slots__ = ("data", "kind")

    def __init__(self, kind, *data):
        self.kind, self.data = kind, data


class ThreadGroup:
    """Threads at one pc. A child group reads the registers of its ``parent`` through ``select``.

    A group has the parts of its batch, so a function of a ``batch`` that uses them takes a group too.
    """

    def __init__(self, owner, cta, tid, registers, parent=None, select=None, threads: ThreadSet | None = None):
        """``owner``: the CtaBatch, or another group of it."""
        self.geometry, self.memories, self.observers = owner.geometry, owner.memories, owner.observers
        self.scheduler, self.sync, self.functions = owner.scheduler, owner.sync, owner.functions
        self.options, self.prints = owner.options, owner.prints
        self.threads = threads = threads or ThreadSet(cta, tid, owner.geometry.threads)
        self.cta, self.tid = cta, tid  # index arrays, (Cg, 1) and (1, Tg), or both (1, n)
        self.is_rectangular = threads.is_rectangular  # any other set of threads has shape (1, n)
        self.shape, self.whole, self.dense = threads.shape, threads.whole, threads.dense
        self.memo, self.specials = threads.memo, threads.specials
        self.R, self.parent, self.select = registers, parent, select
        self.pc = 0
        self.stack: tuple[int, ...] = ()
        self.barrier_value: np.ndarray | None = None
        self.carry = _NO_CARRY
        self.cp_async_groups, self.bulk_copy_groups = (
            AsyncCopyGroups(),
            AsyncCopyGroups(),
        )  # of cp.async and cp.async.bulk
        self.asleep = self.times_out = False  # suspended at an mbarrier; its next try_wait returns false
        self.since = 0
        self.parent_values: dict = {}  # register values copied from the parent and not written since
        self.resolved: set = set()  # functions whose registers have been resolved
        self._converged_at: bool | int | None = (
            None  # whether warps are converged, or the count of exits when they were not
        )

    @property
    def flat(self) -> np.ndarray:
        """Index in the batch of each thread, ascending."""
        return self.threads.flat

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    # -- warps ---------------------------------------------------------------------------------------
    @property
    def present(self) -> np.ndarray | None:
        """A mask (warps, 32) of the lanes in the group; None if all are."""
        return None if self.dense else self.threads.scattered[1]

    @property
    def warps(self) -> int:
        if self.dense:
            return self.size // 32
        return len(self.threads.scattered[2])

    def to_warps(self, value) -> np.ndarray:
        """A register value as (warps, 32); absent lanes are zero."""
        if self.dense:
            return broadcast(value, self.shape).reshape(-1, 32)
        slots, present, _ = self.threads.scattered
        out = np.zeros(present.shape, np.asarray(value).dtype)
        out[slots] = broadcast(value, self.shape).reshape(-1)
        return out

    def from_warps(self, value: np.ndarray) -> np.ndarray:
        """The inverse of ``to_warps``."""
        if self.dense:
            return value.reshape(self.shape)
        return value[self.threads.scattered[0]].reshape(self.shape)

    def is_converged(self, mask=None) -> bool:
        """Whether every live thread of each warp (and of ``mask``, a value) is in the group."""
        if self.dense:
            return True
        if mask is None and self._converged_at in (True, self.scheduler.exits):
            return self._converged_at is True
        _, present, warps = self.threads.scattered
        per_cta = -(-self.geometry.threads // 32)
        cta, warp = np.divmod(warps, per_cta)
        tid = warp[:, None] * 32 + np.arange(32)
        inside = tid < self.geometry.threads
        alive = (
            self.scheduler.alive[np.minimum(cta[:, None] * self.geometry.threads + tid, len(self.scheduler.alive) - 1)]
            & inside
        )
        needed = alive & ~present
        if mask is not None and needed.any():
            bits = np.bitwise_or.reduce(self.to_warps(mask), axis=1)
            needed &= (bits[:, None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1) != 0
        complete = not needed.any()
        if mask is None:
            self._converged_at = complete or self.scheduler.exits
        return complete

    def require_convergence(self, mask=None):
        return None if self.is_converged(mask) else SchedulerEvent(WARP_SYNC)

    # -- values --------------------------------------------------------------------------------------
    def special(self, name: str):
        found = self.specials.get(name)
        if found is None:
            maker = self.options.specials.get(name)
            if maker is None:
                raise EmulatorError(f"unsupported special register %{name}")
            found = maker(self)
            if name not in ("clock", "clock64", "clock_hi", "globaltimer", "globaltimer_lo", "globaltimer_hi"):
                self.specials[name] = found
        return found

    @property
    def shared_window(self):
        """The base of addresses in the CTA's own shared memory: its rank in the cluster."""
        rank = self.geometry.rank(self.cta)
        return (rank << RANK_SHIFT).astype(np.uint32)

    def full(self, value) -> np.ndarray:
        """A value per thread, flat."""
        return broadcast(value, self.shape).reshape(-1)

    def branch(self, predicate, taken: int, otherwise: int):
        """The target of a conditional branch: a pc, or a Divergence."""
        if np.ndim(predicate) == 0:
            return taken if predicate else otherwise
        count = np.count_nonzero(predicate)
        if count == predicate.size:
            return taken
        if not count:
            return otherwise
        return Divergence([(predicate, taken), (~predicate, otherwise)])

    def split_off(self, mask) -> ThreadGroup:
        """The child group of the threads in ``mask``; its registers are resolved on demand."""
        threads, select = self.threads.subset(mask)
        child = ThreadGroup(self, threads.cta, threads.tid, [UNRESOLVED] * len(self.R), self, select, threads)
        child.stack = self.stack
        if self.cp_async_groups or self.bulk_copy_groups:
            self._split_async_copies(child)
        return child

    def _split_async_copies(self, child: ThreadGroup) -> None:
        """Split the pending copies: a child waits for those of its threads."""
        member = np.zeros(len(self.scheduler.alive), bool)
        member[child.flat] = True
        child.cp_async_groups, child.bulk_copy_groups = (
            self.cp_async_groups.only(member),
            self.bulk_copy_groups.only(member),
        )

    @property
    def depth(self) -> int:
        count, group = 0, self.parent
        while group is not None:
            count, group = count + 1, group.parent
        return count

    def live_slots(self) -> Iterable[int]:
        """Registers that are live in this group or in a caller."""
        functions = self.functions
        if not self.stack:
            return functions.slots_at(self.pc)
        live = set(functions.slots_at(self.pc))
        for pc in self.stack:
            live.update(functions.slots_at(pc))
        return live

    def detach(self):
        """Resolve the live registers and drop the parent."""
        self.resolve_all(list(self.live_slots()))
        template = self.functions.register_template
        for slot, value in enumerate(self.R):
            if value is UNRESOLVED:
                self.R[slot] = template[slot]
        self.parent = self.select = None
        self.parent_values.clear()

    def resolve_all(self, slots: Sequence[int]) -> None:
        """Resolve several registers."""
        registers = self.R
        lazy = [slot for slot in slots if registers[slot] is UNRESOLVED]
        if not lazy or self.parent is None:
            return
        self.parent.resolve_all(lazy)
        split_merge_thread_groups.pick(self, lazy)
        of_parent, borrowed, select = self.parent.R, self.parent_values, self.select
        for slot in lazy:
            if registers[slot] is UNRESOLVED:
                registers[slot] = borrowed[slot] = narrow_value(of_parent[slot], select)

    def resolve(self, slot: int):
        """The value of a register, copied from the parent on first use."""
        value = self.R[slot]
        if value is UNRESOLVED:
            value = narrow_value(self.parent.resolve(slot), self.select)
            self.R[slot] = self.parent_values[slot] = value
        return value


def is_uniform_per_cta(value) -> bool:
    """Whether a value is uniform within each CTA."""
    return np.ndim(value) == 0 or value.shape[1] == 1


def narrow_value(value, select):
    """The part of a register value that belongs to a child group."""
    if isinstance(value, tuple):
        return tuple(narrow_value(part, select) for part in value)
    if np.ndim(value) == 0:
        return value
    if select[0] == "rows":
        return value if value.shape[0] == 1 else value[select[1]]
    if select[0] == "columns":
        return value if value.shape[1] == 1 else np.ascontiguousarray(value[:, select[1]])
    _, i, j = select
    if value.shape[0] == 1:
        return value[0, j][None] if value.shape[1] > 1 else value
    if value.shape[1] == 1:
        return value[i, 0][None]
    return value[i, j][None]
