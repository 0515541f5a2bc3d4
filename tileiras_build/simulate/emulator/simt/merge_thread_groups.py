"""Reconvergence: merges groups of threads at the same pc."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..native import split_merge_thread_groups
from .async_copy_groups import AsyncCopyGroups
from .broadcasting import broadcast, unique_integers
from .thread_group import UNRESOLVED, ThreadGroup, is_uniform_per_cta

if TYPE_CHECKING:
    from .thread_sets import ThreadSet, ThreadSetCache


# -- merging -------------------------------------------------------------------------------------
def reconverge(groups: list[ThreadGroup]) -> ThreadGroup:
    """Merge groups at the same pc into one."""
    groups = collapse_families(groups)
    return groups[0] if len(groups) == 1 else _merge_unrelated(groups)


def collapse_families(groups: list[ThreadGroup]) -> list[ThreadGroup]:
    """Replace complete sets of children by their parent, recursively."""
    while True:
        parts: dict[int, list[ThreadGroup]] = {}
        for group in groups:
            if group.parent is not None:
                parts.setdefault(id(group.parent), []).append(group)
        for some in parts.values():
            parent = some[0].parent
            if sum(group.size for group in some) == parent.size:
                groups = [group for group in groups if group.parent is not parent]
                groups.append(_reconverge_with_parent(parent, some))
                break
        else:
            return groups


def _merge_unrelated(groups: list[ThreadGroup]) -> ThreadGroup:
    """Merge groups into a new one without a parent."""
    threads, positions = _joined(groups)
    functions = groups[0].functions
    registers = list(functions.register_template)
    merged = ThreadGroup(groups[0], threads.cta, threads.tid, registers, threads=threads)
    merged.pc, merged.stack = groups[0].pc, groups[0].stack
    live = list(merged.live_slots())
    for group in groups:
        group.resolve_all(live)
    done = dict(split_merge_thread_groups.assemble(functions, live, groups, positions, merged))
    for slot in live:
        if slot in done:
            merged.R[slot] = done[slot]
            continue
        values = [g.R[slot] for g in groups]
        merged.R[slot] = assemble(values, groups, positions, merged.size, merged.shape)
    _merge_state(merged, groups, positions)
    return merged


def _reconverge_with_parent(parent: ThreadGroup, groups: list[ThreadGroup]) -> ThreadGroup:
    """Merge all children of a split into their parent, with the children's changes of its registers."""
    live = list(groups[0].live_slots())
    changers: dict[int, list[ThreadGroup]] = {}  # register -> the children that have changed it
    for group in groups:
        for slot in _changed(group, live):
            changers.setdefault(slot, []).append(group)
    changes: dict[tuple[int, ...], list[int]] = {}  # children -> the registers that they have changed
    for slot, who in changers.items():
        changes.setdefault(tuple(map(id, who)), []).append(slot)
    for slots in changes.values():
        _adopt_values(parent, slots, changers[slots[0]])
    parent.pc, parent.stack = groups[0].pc, groups[0].stack
    parent.barrier_value, parent.cp_async_groups, parent.bulk_copy_groups = None, AsyncCopyGroups(), AsyncCopyGroups()
    _merge_state(parent, groups, None)
    return parent


def _changed(group: ThreadGroup, slots: list[int]) -> list[int]:
    """The registers for which a child has its own value."""
    registers, borrowed = group.R, group.parent_values
    own = [
        slot for slot in slots if registers[slot] is not UNRESOLVED
    ]  # few: a child has only the registers that it has used
    return [slot for slot in own if registers[slot] is not borrowed.get(slot, UNRESOLVED)]


def _adopt_values(parent: ThreadGroup, slots: list[int], groups: list[ThreadGroup]) -> None:
    """Copy the values of changed registers from the children to the parent."""
    bases = None
    if sum(group.size for group in groups) < parent.size:
        parent.resolve_all(slots)
        bases = [parent.R[slot] for slot in slots]
    parts = [(group, [group.R[slot] for slot in slots]) for group in groups]
    done = dict(split_merge_thread_groups.overlay(parent.functions, slots, bases, parts))
    for slot in slots:
        if slot in done:
            parent.R[slot] = done[slot]
        else:
            changed = [(group, group.R[slot]) for group in groups]
            parent.R[slot] = overlay(parent.resolve(slot), changed, parent.shape)


def _joined(groups: list[ThreadGroup]) -> tuple[ThreadSet, list[np.ndarray]]:
    """(the union of the threads of groups, the positions of each group's threads in it)."""
    sets = tuple(group.threads for group in groups)
    cache = sets[0].cache
    found = cache.joined.get(sets)
    if found is None:
        found = _stacked(groups) or _gathered(groups)
        if not cache.is_full:
            cache.joined[sets] = found
    return found


def _gathered(groups: list[ThreadGroup]) -> tuple[ThreadSet, list[np.ndarray]]:
    """``_joined`` for any groups."""
    flats = [g.flat for g in groups]
    flat = np.concatenate(flats)
    order = np.argsort(flat, kind="stable")
    positions = np.split(np.argsort(order, kind="stable"), np.cumsum([len(f) for f in flats])[:-1])
    return _threads_of(groups[0].geometry.threads, groups[0].threads.cache, flat[order]), positions


def _stacked(groups: list[ThreadGroup]) -> tuple[ThreadSet, list[np.ndarray]] | None:
    """``_joined`` for rectangular sets of the same threads of different CTAs; None for others."""
    tid = groups[0].tid
    if not all(g.is_rectangular and (g.tid is tid or np.array_equal(g.tid, tid)) for g in groups):
        return None
    ctas = np.concatenate([g.cta[:, 0] for g in groups])
    order = np.argsort(ctas)
    places = np.empty((len(ctas), tid.shape[1]), np.int64)
    places[order] = np.arange(places.size).reshape(places.shape)
    edges = np.cumsum([len(g.cta) for g in groups])[:-1]
    merged = groups[0].threads.cache.of(ctas[order][:, None], tid, groups[0].geometry.threads)
    return merged, [part.reshape(-1) for part in np.split(places, edges)]


def _threads_of(threads: int, cache: ThreadSetCache, flat: np.ndarray) -> ThreadSet:
    """The set of threads with these indices in the batch."""
    cta, tid = np.divmod(flat, threads)
    rows, columns = unique_integers(cta), unique_integers(tid)
    if len(rows) * len(columns) == len(flat):
        return cache.of(rows[:, None], columns[None], threads)
    return cache.of(cta[None], tid[None], threads)


def _merge_state(merged: ThreadGroup, groups: list[ThreadGroup], positions: list[np.ndarray] | None) -> None:
    """Merge the mbarrier wait results and the pending copies of groups."""
    merged.cp_async_groups = AsyncCopyGroups.joined([g.cp_async_groups for g in groups])
    merged.bulk_copy_groups = AsyncCopyGroups.joined([g.bulk_copy_groups for g in groups])
    if any(g.barrier_value is not None for g in groups):
        votes = [broadcast(0 if g.barrier_value is None else g.barrier_value, g.shape) for g in groups]
        merged.barrier_value = _concatenated(merged, groups, votes, positions)


def _concatenated(
    merged: ThreadGroup, groups: list[ThreadGroup], values: list[np.ndarray], positions: list[np.ndarray] | None
) -> np.ndarray:
    """Concatenate the values of groups into a value of the merged group."""
    if positions is None:
        out = np.zeros(merged.shape, np.int64)
        for group, value in zip(groups, values):
            scatter_child(out, group.select, value)
        return out
    flat = np.zeros(len(merged.flat), np.int64)
    for value, position in zip(values, positions):
        flat[position] = value.reshape(-1)
    return flat.reshape(merged.shape)


def scatter_child(out: np.ndarray, select, value) -> None:
    """Write a child's values into an array of its parent's shape."""
    if select[0] == "rows":
        out[select[1]] = value
    elif select[0] == "columns":
        out[:, select[1]] = value
    else:
        out[select[1], select[2]] = value[0]


def overlay(base, changed, shape):
    """The parent's value, overwritten by the children's values."""
    if isinstance(base, tuple):
        return tuple(overlay(b, [(g, v[i]) for g, v in changed], shape) for i, b in enumerate(base))
    is_whole = sum(group.size for group, _ in changed) == shape[0] * shape[1]
    sources = [value for _, value in changed] + ([] if is_whole else [base])
    if all(value.ndim == 0 for value in sources) and len({value.tobytes() for value in sources}) == 1:
        return sources[0]
    if all(group.select[0] == "rows" for group, _ in changed) and all(map(is_uniform_per_cta, sources)):
        shape = (shape[0], 1)  # uniform per CTA
    out = np.empty(shape, sources[0].dtype)
    if not is_whole:
        out[...] = base
    for group, value in changed:
        scatter_child(out, group.select, value if group.select[0] != "flat" else broadcast(value, group.shape))
    return out


def assemble(values, groups, positions, count, shape):
    """A register of a merged group from those of the groups."""
    first = values[0]
    if isinstance(first, tuple):
        return tuple(assemble([v[i] for v in values], groups, positions, count, shape) for i in range(len(first)))
    if all(np.ndim(v) == 0 for v in values) and all(v is first or v.tobytes() == first.tobytes() for v in values):
        return first
    out = np.empty(count, np.asarray(first).dtype)
    for value, group, position in zip(values, groups, positions):
        out[position] = broadcast(value, group.shape).reshape(-1)
    return out.reshape(shape)
