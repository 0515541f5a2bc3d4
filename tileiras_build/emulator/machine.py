"""Runs a program over a batch of CTAs: groups of threads, divergence, barriers and the scheduler.

A *group* is a set of threads at one pc. Its registers are arrays of shape (CTAs, threads) - a product set - or
(1, n) for any other set, and broadcast: a value that does not depend on the thread may be (CTAs, 1) or a scalar.
A branch on which threads disagree splits the group; the parts keep a reference to the parent's registers and copy
only what they touch. Groups that stand at the same pc with the same call stack are merged again. The scheduler
runs the deepest call, then the smallest pc, which reconverges structured code, and lets no group starve.
"""

from __future__ import annotations

import numpy as np

from .cluster import RANK_SHIFT, Clusters
from .copies import GroupQueue
from .faults import EmulatorError, EmulatorFault
from .waits import Waits

POISON = 0xFF  # uninitialised shared and local bytes: a NaN for every float format
STARVED = 1000  # blocks run by others before a waiting group gets a turn out of order
STARVED_BY_WAITING = 30  # the same where threads may wait for each other in loops
QUANTUM = 40  # blocks of such a turn

LAZY = type("Lazy", (), {"__repr__": lambda self: "LAZY"})()


class Split:
    """A branch on which the threads of a group disagree: pieces of (threads' mask, pc)."""

    __slots__ = ("pieces",)

    def __init__(self, pieces):
        self.pieces = pieces


class Event:
    """Something only the scheduler can do: barrier, exit, call, return, wait for warp mates."""

    __slots__ = ("data", "kind")

    def __init__(self, kind, *data):
        self.kind, self.data = kind, data


class Group:
    def __init__(self, machine, cta, tid, registers, parent=None, select=None):
        self.machine = self.m = machine
        self.cta, self.tid = cta, tid  # index arrays, (Cg, 1) and (1, Tg), or both (1, n)
        self.product = cta.shape[1] == 1  # otherwise any set of threads, as (1, n)
        self.shape = (cta.shape[0], tid.shape[1])
        self.R, self.parent, self.select = registers, parent, select
        self.pc, self.stack = 0, ()
        self.specials: dict = {}
        self.barrier_value = None
        self.carry = np.bool_(False)
        self.copies, self.bulk = GroupQueue(), GroupQueue()  # of cp.async and cp.async.bulk
        self.asleep = self.times_out = False  # at an mbarrier; a sleeper's next try fails
        self.since = 0
        self._flat = None
        self.borrowed: dict = {}  # register values taken from the parent and not written since
        self._complete = None
        self.whole = tid.shape[1] == machine.threads and self.product  # complete CTAs
        self.set_warps()

    @property
    def flat(self) -> np.ndarray:
        """Index in the batch of each thread, ascending."""
        if self._flat is None:
            self._flat = (self.cta * self.machine.threads + self.tid).reshape(-1)
        return self._flat

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    # -- warps ---------------------------------------------------------------------------------------
    def set_warps(self):
        """Decide how values map to (warps, 32): a plain reshape, or a scatter into ``slots`` with ``present``."""
        lanes = self.tid[0]
        n = lanes.shape[0]
        # A product set repeats its lanes per CTA; any other set is sorted by (cta, tid).
        self.dense = (
            n % 32 == 0
            and bool((lanes[::32] % 32 == 0).all())
            and bool((np.diff(lanes.reshape(-1, 32), axis=1) == 1).all())
        )
        if self.dense and not self.product:
            owner = (self.cta[0] * self.machine.threads + lanes).reshape(-1, 32)
            self.dense = bool((np.diff(owner, axis=1) == 1).all())
        self._slots = None

    def scattered(self):
        """(slots, present): where each thread's value goes in (warps, 32), and which places are taken."""
        if self._slots is None:
            per_cta = -(-self.machine.threads // 32)
            cta, tid = np.divmod(self.flat, self.machine.threads)
            self._warp_ids, warp = np.unique(cta * per_cta + tid // 32, return_inverse=True)
            self._slots = (warp, tid % 32)
            self._present = np.zeros((len(self._warp_ids), 32), bool)
            self._present[self._slots] = True
        return self._slots, self._present

    @property
    def present(self) -> np.ndarray | None:
        """Which lanes of each warp are in the group, (warps, 32); None when all are."""
        return None if self.dense else self.scattered()[1]

    @property
    def warps(self) -> int:
        if self.dense:
            return self.size // 32
        self.scattered()
        return len(self._warp_ids)

    def to_warps(self, value) -> np.ndarray:
        """A register value as (warps, 32); absent lanes hold zeros."""
        if self.dense:
            if np.shape(value) != self.shape:
                value = np.broadcast_to(value, self.shape)
            return value.reshape(-1, 32)
        slots, _ = self.scattered()
        out = np.zeros((len(self._warp_ids), 32), np.asarray(value).dtype)
        out[slots] = np.broadcast_to(value, self.shape).reshape(-1)
        return out

    def from_warps(self, value: np.ndarray) -> np.ndarray:
        """The inverse of ``to_warps``."""
        if self.dense:
            return value.reshape(self.shape)
        return value[self.scattered()[0]].reshape(self.shape)

    def warps_complete(self, mask=None) -> bool:
        """Whether every living thread of each warp (and of ``mask``, a value) is in the group."""
        if self.dense:
            return True
        if mask is None and self._complete in (True, self.machine.exits):
            return self._complete is True
        present = self.present
        per_cta = -(-self.machine.threads // 32)
        cta, warp = np.divmod(self._warp_ids, per_cta)
        tid = warp[:, None] * 32 + np.arange(32)
        inside = tid < self.machine.threads
        alive = (
            self.machine.alive[np.minimum(cta[:, None] * self.machine.threads + tid, len(self.machine.alive) - 1)]
            & inside
        )
        needed = alive & ~present
        if mask is not None and needed.any():
            bits = np.bitwise_or.reduce(self.to_warps(mask), axis=1)
            needed &= (bits[:, None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1) != 0
        complete = not needed.any()
        if mask is None:
            self._complete = complete or self.machine.exits
        return complete

    def require_warps(self, mask=None):
        return None if self.warps_complete(mask) else Event("mates")

    # -- values --------------------------------------------------------------------------------------
    def special(self, name: str):
        found = self.specials.get(name)
        if found is None:
            found = self.machine.special(self, name)
            if name not in ("clock", "clock64", "clock_hi", "globaltimer", "globaltimer_lo", "globaltimer_hi"):
                self.specials[name] = found
        return found

    @property
    def shared_window(self):
        """What the addresses of the CTA's own shared memory start from: its rank in the cluster."""
        rank = self.machine.clusters.rank(self.cta)
        return (rank << RANK_SHIFT).astype(np.uint32)

    def full(self, value) -> np.ndarray:
        """A value for each thread, flat."""
        return np.broadcast_to(value, self.shape).reshape(-1)

    def branch(self, predicate, taken: int, otherwise: int):
        """Where a conditional branch goes: a pc, or a Split where the threads disagree."""
        if np.ndim(predicate) == 0:
            return taken if predicate else otherwise
        if predicate.all():
            return taken
        if not predicate.any():
            return otherwise
        return Split([(predicate, taken), (~predicate, otherwise)])

    def take(self, mask) -> tuple[Group, object]:
        """The subgroup of the threads where ``mask`` holds; its registers are filled on demand."""
        registers = [LAZY] * len(self.R)
        if self.product and mask.shape[1] == 1:
            rows = np.flatnonzero(mask[:, 0])
            child = Group(self.machine, self.cta[rows], self.tid, registers, self, ("rows", rows))
        elif self.product and mask.shape[0] == 1:
            columns = np.flatnonzero(mask[0])
            child = Group(self.machine, self.cta, self.tid[:, columns], registers, self, ("columns", columns))
        else:
            i, j = np.nonzero(np.broadcast_to(mask, self.shape))
            cta = self.cta[i, 0] if self.product else self.cta[0, j]
            child = Group(self.machine, cta[None], self.tid[0, j][None], registers, self, ("flat", i, j))
        child.stack = self.stack
        if self.copies or self.bulk:
            self.machine.split_copies(self, child)
        return child

    @property
    def depth(self) -> int:
        count, group = 0, self.parent
        while group is not None:
            count, group = count + 1, group.parent
        return count

    def live_slots(self) -> set[int]:
        """Registers that this group may still read, callers' ones included."""
        program = self.machine.program
        live = set(program.slots_at(self.pc))
        for pc in self.stack:
            live.update(program.slots_at(pc))
        return live

    def detach(self):
        """Fill the live registers and forget the parent."""
        for slot in self.live_slots():
            self.resolve(slot)
        template = self.machine.program.register_template
        for slot, value in enumerate(self.R):
            if value is LAZY:
                self.R[slot] = template[slot]
        self.parent = self.select = None
        self.borrowed.clear()

    def resolve(self, slot: int):
        """The value of a register, taken from the parent on first use."""
        value = self.R[slot]
        if value is LAZY:
            value = pick(self.parent.resolve(slot), self.select)
            self.R[slot] = self.borrowed[slot] = value
        return value


def pick(value, select):
    """The part of a register value that a subgroup sees."""
    if isinstance(value, tuple):
        return tuple(pick(part, select) for part in value)
    if np.ndim(value) == 0:
        return value
    if select[0] == "rows":
        return value if value.shape[0] == 1 else value[select[1]]
    if select[0] == "columns":
        return value if value.shape[1] == 1 else value[:, select[1]]
    _, i, j = select
    if value.shape[0] == 1:
        return value[0, j][None] if value.shape[1] > 1 else value
    if value.shape[1] == 1:
        return value[i, 0][None]
    return value[i, j][None]


class Machine:
    """One batch of CTAs. ``first`` is the linear index of its first CTA in the grid."""

    def __init__(
        self, program, grid, block, first: int, ctas: int, params: np.ndarray, memory, dynamic_shared: int, options
    ):
        self.program, self.grid, self.block = program, grid, block
        self.threads = block[0] * block[1] * block[2]
        self.first, self.ctas, self.memory, self.options = first, ctas, memory, options
        self.dynamic_shared = dynamic_shared
        self.params = params
        self.alive = np.ones(ctas * self.threads, bool)
        self.clusters = Clusters(self, program.cluster)
        self.cluster_size = self.clusters.size
        self.make_memories()
        self.region_of: dict = {}
        self.ready: dict[tuple, list[Group]] = {}
        self.blocked: list = []
        self.arrived = np.zeros((ctas, 16), np.int64)
        self.needed = np.zeros((ctas, 16), np.int64)
        self.votes = np.zeros((ctas, 16), np.int64)
        self.clock = 0
        self.patience = STARVED_BY_WAITING if program.waits else STARVED
        self.exits = 1
        self.parked: list = []  # (group, why): groups that an instruction has stopped until ``unpark``
        self.tensor = None
        self.waiting: dict[tuple, list[Group]] = {}  # groups that wait for warp mates at a warp-wide instruction
        self.waits = Waits(self)
        self.cta_rows = np.arange(ctas)[:, None]

    def make_memories(self):
        program = self.program
        self.shared_size = -(-(program.dynamic_base + self.dynamic_shared) // 16) * 16
        if not program.dynamic and not self.dynamic_shared:
            self.shared_size = -(-program.shared_static // 16) * 16
        self.shared_limit = program.dynamic_base + self.dynamic_shared if program.dynamic else program.shared_static
        self.shared = np.full(max(self.shared_size, 16) * self.ctas + 64, POISON, np.uint8)[
            : max(self.shared_size, 16) * self.ctas
        ]
        self.shared_size = max(self.shared_size, 16)
        self.local_size = -(-program.local_size // 16) * 16
        self.local = np.full(self.local_size * self.threads * self.ctas, POISON, np.uint8)
        self.race = self.watch = self.flight = None
        if self.options.races or self.options.counters is not None:
            from .watch import Watch

            self.watch = Watch(self, self.options.races, self.options.counters)
            self.race = self.watch.races
        self._shared_views: dict = {}
        self._local_views: dict = {}

    def shared_view(self, dtype):
        found = self._shared_views.get(dtype)
        if found is None:
            found = self._shared_views[dtype] = self.shared.view(dtype)
        return found

    def local_view(self, dtype):
        found = self._local_views.get(dtype)
        if found is None:
            found = self._local_views[dtype] = self.local.view(dtype)
        return found

    def special(self, group: Group, name: str):
        maker = self.options.specials.get(name)
        if maker is None:
            raise EmulatorError(f"the emulator has no special register %{name}")
        return maker(self, group)

    def thread_name(self, cta: int, tid: int):
        """((ctaid), (tid)) of a thread of the batch."""
        bx, by, _ = self.block
        tid = int(tid)
        return self.clusters.coordinates(int(cta)), (tid % bx, tid // bx % by, tid // (bx * by))

    # -- scheduling ----------------------------------------------------------------------------------
    def run(self):
        program = self.program
        group = Group(
            self, np.arange(self.ctas)[:, None], np.arange(self.threads)[None], list(program.register_template)
        )
        group.pc = program.starts[program.entry.name]
        self.push(group)
        while True:
            group = self.next_group()
            if group is None:
                return self.finish()
            try:
                self.step(group)
            except EmulatorError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, it is renamed and raised again
                self.explain(error)

    def finish(self):
        """All threads have exited: nothing of theirs may be in flight or held."""
        self.waits.check_end()
        if self.tensor:
            self.tensor.finish()

    def explain(self, error: Exception):
        """Name the PTX instruction of an unexpected Python error inside generated code."""
        traceback, found = error.__traceback__, None
        while traceback is not None:
            name = traceback.tb_frame.f_code.co_filename
            if name.startswith("<ptx "):
                found = (int(name[:-1].rsplit(":", 1)[1]), traceback.tb_lineno)
            traceback = traceback.tb_next
        if found is None:
            raise error
        for (pc, _, _), function in self.program.cache.items():
            if pc == found[0] and found[1] <= len(function.origin):
                ins = self.program.code[function.origin[found[1] - 1]]
                raise EmulatorError(
                    f"internal error in the emulator at line {ins.line}: {ins.text}: {type(error).__name__}: {error}"
                ) from error
        raise error

    def push(self, group: Group):
        group.since = self.clock
        key = (-len(group.stack), group.pc, group.stack)
        groups = self.ready.setdefault(key, self.waiting.pop(key, []))
        groups.append(group)

    def next_group(self) -> Group | None:
        while not self.ready:
            if self.somebody_waits() and self.waits.revive():
                continue
            if self.blocked or self.waits.sleepers or self.parked or self.clusters.blocked:
                self.waits.deadlock()
            if self.waiting:
                group = next(iter(self.waiting.values()))[0]
                self.stuck(group, "the other threads of the warp never reach this warp-wide instruction")
            return None
        self.quantum = 0
        key = min(self.ready) if len(self.ready) > 1 else next(iter(self.ready))
        if len(self.ready) > 1:
            oldest = min(self.ready, key=lambda k: self.ready[k][0].since)
            if self.clock - self.ready[oldest][0].since > self.patience:
                key, self.quantum = oldest, QUANTUM
        groups = self.ready.pop(key)
        return groups[0] if len(groups) == 1 else self.merge(groups)

    def somebody_waits(self) -> bool:
        return bool(self.blocked or self.waiting or self.parked or self.waits.sleepers or self.clusters.blocked)

    def step(self, group: Group):
        """Run a group until it splits, waits, ends, or should give way."""
        program, options = self.program, self.options.codegen
        cache, counters = program.cache, self.options.counters
        while True:
            pc = group.pc
            fine = program.warp_wide and not group.dense and not group.warps_complete()
            function = cache.get((pc, fine, options)) or program.function_at(pc, fine, options)
            if group.parent is not None:
                registers = group.R
                for slot in program.slots_at(pc):
                    if registers[slot] is LAZY:
                        group.resolve(slot)
            self.clock += 1
            if counters is not None:
                counters.blocks += 1
                counters.thread_instructions += function.count * group.size
            result = function(group)
            if type(result) is int:
                group.pc = result
                if self.ready and self.should_yield(group):
                    self.push(group)
                    return
                continue
            result = self.handle(group, result)
            if result is None:
                return
            if self.ready and self.should_yield(group):
                self.push(group)
                return

    def should_yield(self, group: Group) -> bool:
        if self.quantum > 0:
            self.quantum -= 1
            return self.quantum == 0
        key = (-len(group.stack), group.pc, group.stack)
        if any(other <= key for other in self.ready):
            return True
        return self.clock % 64 == 0 and any(self.clock - g[0].since > self.patience for g in self.ready.values())

    def handle(self, group: Group, result):
        """Act on a Split or Event. Returns the group if it may go on, else None."""
        if type(result) is Split:
            for mask, pc in result.pieces:
                child = group.take(np.asarray(mask))
                child.pc = pc
                if child.depth > 6:
                    child.detach()
                self.push(child)
            return None
        return getattr(self, f"on_{result.kind}")(group, *result.data)

    def on_run(self, group: Group, function, *data):
        """An instruction that may stop its group: ``function`` returns the group, or None if it has parked or pushed it."""
        return function(group, *data)

    def unpark(self):
        """Parked groups try their instruction again."""
        parked, self.parked = self.parked, []
        for group, _ in parked:
            self.push(group)

    def on_call(self, group: Group, target: int, after: int):
        group.stack = (*group.stack, after)
        group.pc = target
        return group

    def on_return(self, group: Group):
        if not group.stack:
            return self.on_exit(group)
        group.pc, group.stack = group.stack[-1], group.stack[:-1]
        return group

    def on_leave(self, group: Group, predicate, event, after: int):
        """A predicated ret or exit: some threads leave, the rest goes on."""
        rest = group.take(~predicate)
        rest.pc = after
        self.push(rest)
        leaving = group.take(predicate)
        leaving.pc = after
        leaving = self.handle(leaving, event)
        if leaving is not None:
            self.push(leaving)

    def on_exit(self, group: Group):
        group.copies.land_all(self)
        self.waits.check_exit(group)
        self.alive[group.flat] = False
        self.exits += 1
        for key, groups in self.waiting.items():  # an exited thread is no longer waited for
            self.ready.setdefault(key, []).extend(groups)
        self.waiting.clear()
        if self.blocked:
            self.release_barriers()
        self.clusters.exited()

    def on_mates(self, group: Group):
        """Wait, at this pc, for the other threads of the warps."""
        key = (-len(group.stack), group.pc, group.stack)
        if key in self.ready:
            self.ready[key].append(group)
        else:
            here = self.waiting.pop(key, [])
            here.append(group)
            (self.ready if len(here) > 1 else self.waiting)[key] = here

    def stuck(self, group: Group, why: str):
        ins = self.program.code[group.pc]
        cta, tid = divmod(int(group.flat[0]), self.threads)
        raise EmulatorFault(why, instruction=ins.text, line=ins.line, thread=self.thread_name(cta, tid))

    def on_cluster_wait(self, group: Group, after: int):
        self.clusters.wait(group, after)

    def on_sleep(self, group: Group, ready, positions):
        """A failed mbarrier.try_wait: the threads that have not got their phase sleep until it completes."""
        if not ready.any():
            self.waits.sleep(group, positions)
            return
        rest, part = group.take(~ready), group.take(ready)
        rest.pc = part.pc = group.pc
        self.waits.sleep(rest, positions)
        self.push(part)

    # -- barriers ------------------------------------------------------------------------------------
    def on_barrier(self, group: Group, barrier, count, red, predicate, waits: bool, after: int):
        """Arrive at (and unless bar.arrive, wait at) a CTA barrier."""
        if np.ndim(barrier) and barrier.size > 1 and barrier.min() != barrier.max():
            for value in np.unique(barrier):
                child = group.take(barrier == value)
                child.pc = after
                parts = [None if x is None else pick(x, child.select) for x in (count, predicate)]
                if self.on_barrier(child, value, parts[0], red, parts[1], waits, after) is not None:
                    self.push(child)
            return None
        barrier = int(np.ravel(barrier)[0])
        group.pc = after
        count = None if count is None else int(np.ravel(count)[0])
        if group.whole and count in (None, self.threads) and not self.arrived[group.cta[:, 0], barrier].any():
            if red is not None:
                group.barrier_value = _reduce_votes(
                    red, np.broadcast_to(predicate, group.shape).sum(axis=1, keepdims=True), self.threads
                )
            if self.race is not None:
                self.race.whole_barrier(group.cta[:, 0])
            return group
        if self.race is not None:
            self.race.arrive(group, barrier)
        ctas = np.broadcast_to(group.cta, group.shape).reshape(-1)
        np.add.at(self.arrived[:, barrier], ctas, 1)
        self.needed[ctas, barrier] = count or 0
        if red is not None:
            np.add.at(
                self.votes[:, barrier], ctas, np.broadcast_to(predicate, group.shape).reshape(-1).astype(np.int64)
            )
        if waits:
            self.blocked.append((group, barrier, red))
        else:
            self.push(group)
        self.release_barriers()
        return None

    def release_barriers(self):
        living = self.alive.reshape(self.ctas, self.threads).sum(axis=1)
        needed = np.where(self.needed > 0, self.needed, living[:, None])
        done = (self.arrived > 0) & (self.arrived >= needed)
        if not done.any():
            return
        self.waits.changes += 1
        still, released = [], []
        for group, barrier, red in self.blocked:
            ready = done[group.cta, barrier]
            if not ready.any():
                still.append((group, barrier, red))
                continue
            if not ready.all():
                rest = group.take(~ready)
                rest.pc = group.pc
                still.append((rest, barrier, red))
                part = group.take(ready)
                part.pc = group.pc
                group = part
            if red is not None:
                group.barrier_value = _reduce_votes(red, self.votes[group.cta, barrier], needed[group.cta, barrier])
            if self.race is not None:
                self.race.leave(group, barrier)
            released.append(group)
        self.blocked = still
        if self.race is not None:
            self.race.reset(done)
        self.arrived[done] = 0
        self.votes[done] = 0
        for group in released:
            self.push(group)

    # -- merging -------------------------------------------------------------------------------------
    def merge(self, groups: list[Group]) -> Group:
        """One group of the threads of several that stand at the same place."""
        flats = [g.flat for g in groups]
        flat = np.concatenate(flats)
        order = np.argsort(flat, kind="stable")
        flat = flat[order]
        positions = np.split(np.argsort(order, kind="stable"), np.cumsum([len(f) for f in flats])[:-1])
        parent = groups[0].parent
        if parent is not None and len(flat) == parent.size and all(g.parent is parent for g in groups):
            return self.rejoin(parent, groups)
        merged = self.make_group(flat)
        merged.pc, merged.stack = groups[0].pc, groups[0].stack
        for slot in merged.live_slots():
            values = [g.resolve(slot) for g in groups]
            merged.R[slot] = assemble(values, groups, positions, len(flat), merged.shape)
        self.merge_state(merged, groups, positions)
        return merged

    def rejoin(self, parent: Group, groups: list[Group]) -> Group:
        """All children of a split meet again: take up the parent's registers, with the children's changes."""
        for slot in groups[0].live_slots():
            values = [(g, g.R[slot]) for g in groups]
            changed = [(g, v) for g, v in values if v is not LAZY and v is not g.borrowed.get(slot, LAZY)]
            if changed:
                parent.R[slot] = overlay(parent.resolve(slot), changed, parent.shape)
        parent.pc, parent.stack = groups[0].pc, groups[0].stack
        parent.barrier_value, parent.copies, parent.bulk = None, GroupQueue(), GroupQueue()
        self.merge_state(parent, groups, None)
        return parent

    def make_group(self, flat: np.ndarray) -> Group:
        cta, tid = np.divmod(flat, self.threads)
        rows, columns = np.unique(cta), np.unique(tid)
        template = list(self.program.register_template)
        if len(rows) * len(columns) == len(flat):
            return Group(self, rows[:, None], columns[None], template)
        return Group(self, cta[None], tid[None], template)

    def merge_state(self, merged: Group, groups: list[Group], positions):
        values = [g.barrier_value for g in groups]
        if any(v is not None for v in values):
            if positions is None:
                out = np.zeros(merged.shape, np.int64)
                for g, v in zip(groups, values):
                    place(out, g.select, np.broadcast_to(0 if v is None else v, g.shape))
            else:
                out = np.zeros(len(merged.flat), np.int64)
                for g, v, p in zip(groups, values, positions):
                    out[p] = np.broadcast_to(0 if v is None else v, g.shape).reshape(-1)
                out = out.reshape(merged.shape)
            merged.barrier_value = out
        self.merge_copies(merged, groups)

    # -- asynchronous copies -------------------------------------------------------------------------
    def split_copies(self, parent: Group, child: Group):
        member = np.zeros(len(self.alive), bool)
        member[child.flat] = True
        child.copies, child.bulk = parent.copies.only(member), parent.bulk.only(member)

    def merge_copies(self, merged: Group, groups: list[Group]):
        merged.copies = GroupQueue.joined([g.copies for g in groups])
        merged.bulk = GroupQueue.joined([g.bulk for g in groups])


def _reduce_votes(red: str, votes, needed):
    if red == "popc":
        return votes
    return (votes > 0) if red == "or" else (votes >= needed)


def place(out: np.ndarray, select, value) -> None:
    """Write a child's values into an array of its parent's shape."""
    if select[0] == "rows":
        out[select[1]] = value
    elif select[0] == "columns":
        out[:, select[1]] = value
    else:
        out[select[1], select[2]] = value[0]


def overlay(base, changed, shape):
    """The parent's value with the children's values over it."""
    if isinstance(base, tuple):
        return tuple(overlay(b, [(g, v[i]) for g, v in changed], shape) for i, b in enumerate(base))
    out = np.array(np.broadcast_to(base, shape))
    for group, value in changed:
        place(out, group.select, np.broadcast_to(value, group.shape))
    return out


def assemble(values, groups, positions, count, shape):
    first = values[0]
    if isinstance(first, tuple):
        return tuple(assemble([v[i] for v in values], groups, positions, count, shape) for i in range(len(first)))
    if all(np.ndim(v) == 0 for v in values) and all(v is first or v.tobytes() == first.tobytes() for v in values):
        return first
    out = np.empty(count, np.asarray(first).dtype)
    for value, group, position in zip(values, groups, positions):
        out[position] = np.broadcast_to(value, group.shape).reshape(-1)
    return out.reshape(shape)
