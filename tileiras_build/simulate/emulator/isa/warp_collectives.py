"""Warp-wide communication (PTX ISA 9.0, sections 9.7.9.6 shfl.sync, 9.7.13.9 to .14)."""

from __future__ import annotations

import numpy as np

from ..codegen.emit_block import kind_of
from ..ptx.ast import SINK, Immediate, Pair
from ..simt.broadcasting import are_all
from .handler_registry import WARP_WIDE, handles, helper

LANES = np.arange(32, dtype=np.uint32)
FULL_MASK = 0xFFFFFFFF


def emit_warp_sync(e, mask: str | None = None):
    """In code for diverged warps, wait here for the missing threads of the warps."""
    if e.diverged:
        e.line(f"wait = g.require_convergence({mask or ''})")
        e.line("if wait is not None: return wait")


# -- shfl --------------------------------------------------------------------------------------------
def shuffle_sources(mode: str, b, c):
    """(source lane, predicate) of each lane; b and c broadcast against 32 lanes."""
    lane = LANES
    segment = (c >> np.uint32(8)) & np.uint32(31)
    b, clamp = b & np.uint32(31), c & np.uint32(31)
    maximum = (lane & segment) | (clamp & ~segment)
    minimum = lane & segment
    if mode == "up":
        j = lane.astype(np.int64) - b
        valid = j >= maximum
    elif mode == "down":
        j = lane.astype(np.int64) + b
        valid = j <= maximum
    elif mode == "bfly":
        j = (lane ^ b).astype(np.int64)
        valid = j <= maximum
    else:
        j = (minimum | (b & ~segment)).astype(np.int64)
        valid = j <= maximum
    return np.where(valid, j, lane), valid


def uniform(value) -> bool:
    """Whether a value is uniform per CTA by its shape."""
    return np.ndim(value) == 0


@helper
def shuffle_constant(group, value, source, same):
    """A shuffle by a fixed permutation."""
    if uniform(value) or (group.is_rectangular and value.shape[1] == 1 and group.shape[1] > 1):
        return value
    if group.dense and value.shape[0] == 1 and group.is_rectangular:
        return value.reshape(-1, 32)[:, source].reshape(1, -1)
    return group.from_warps(group.to_warps(value)[:, source])


@helper
def lane_values(group, row):
    """A per-lane constant (32,) for every thread."""
    return row[group.tid & 31]


@helper
def shuffle(group, mode, value, b, c):
    """(value, predicate) of a shuffle with computed lanes."""
    wb, wc = group.to_warps(b), group.to_warps(c)
    source, valid = shuffle_sources(mode, wb, wc)
    source, valid = (np.broadcast_to(x, wb.shape) for x in (source, valid))
    moved = np.take_along_axis(group.to_warps(value), source.astype(np.int64), axis=1)
    return group.from_warps(moved), group.from_warps(valid)


@handles("shfl", warp_wide=True)
def handle_shuffle(e, ins):
    mode = ins.mods[1]
    destination = ins.args[0]
    first, second = (destination.first, destination.second) if isinstance(destination, Pair) else (destination, None)
    a, b, c, mask = ins.args[1:5]
    emit_warp_sync(e, e.use(mask, "u32"))
    value = e.use(a, "u32")
    if isinstance(b, Immediate) and isinstance(c, Immediate):
        source, valid = shuffle_sources(mode, np.uint32(b.value & FULL_MASK), np.uint32(c.value & FULL_MASK))
        same = are_all(source == LANES)
        if first is not SINK:
            e.set(first, "u32", f"shuffle_constant(g, {value}, {e.constant(source.astype(np.int64), 'lanes')}, {same})")
        if second not in (None, SINK):
            e.set(second, "p", f"lane_values(g, {e.constant(valid, 'valid')})")
        return
    pair = e.temp(f"shuffle(g, {mode!r}, {value}, {e.use(b, 'u32')}, {e.use(c, 'u32')})")
    if first is not SINK:
        e.set(first, "u32", f"{pair}[0]")
    if second not in (None, SINK):
        e.set(second, "p", f"{pair}[1]")


# -- members -----------------------------------------------------------------------------------------
def participants(group, mask):
    """The participating lanes for each lane: (warps, 1, 32) for warp-uniform masks, else (warps, 32, 32)."""
    present = group.present
    if np.ndim(mask) == 0 and int(mask) == FULL_MASK:
        base = np.ones((group.warps, 32), bool) if present is None else present
        return base[:, None, :]
    bits = (group.to_warps(mask)[:, :, None] >> LANES) & np.uint32(1) != 0
    if present is not None:
        bits = bits & present[:, None, :]
    return bits


def ballot(lanes: np.ndarray) -> np.ndarray:
    """Booleans (…, 32) as words (…)."""
    return np.packbits(np.ascontiguousarray(lanes), axis=-1, bitorder="little").view(np.uint32)[..., 0]


def broadcast_to_group(group, value):
    """A value (warps, 1 or 32) in the group's shape."""
    return group.from_warps(np.broadcast_to(value, (value.shape[0], 32)))


@helper
def vote(group, mode, predicate, mask):
    member = participants(group, mask)
    votes = group.to_warps(predicate)[:, None, :]
    yes = member & votes
    if mode == "ballot":
        return broadcast_to_group(group, ballot(yes))
    if mode == "any":
        return broadcast_to_group(group, yes.any(-1))
    no = (member & ~votes).any(-1)
    if mode == "all":
        return broadcast_to_group(group, ~no)
    return broadcast_to_group(group, ~(no & yes.any(-1)))


@handles("vote", warp_wide=True)
def handle_vote(e, ins):
    mode = next(m for m in ins.mods if m in ("all", "any", "uni", "ballot"))
    mask = e.use(ins.args[2], "u32") if "sync" in ins.mods else e.scalar("u32", FULL_MASK)
    emit_warp_sync(e, mask)
    kind = "u32" if mode == "ballot" else "p"
    e.set(ins.args[0], kind, f"vote(g, {mode!r}, {e.use(ins.args[1], 'p')}, {mask})")


@helper
def active_mask(group):
    present = group.present
    if present is None:
        return np.uint32(FULL_MASK)
    return broadcast_to_group(group, ballot(present)[:, None])


@handles("activemask")
def handle_activemask(e, ins):
    e.set(ins.args[0], "u32", "active_mask(g)")


@helper
def match(group, mode, value, mask):
    """match.any: lanes with an equal value; match.all: (mask, predicate)."""
    member = participants(group, mask)
    values = group.to_warps(value)
    equal = (values[:, :, None] == values[:, None, :]) & member
    if mode == "any":
        return broadcast_to_group(group, ballot(equal))
    same = (equal == member).all(-1)
    lanes = np.broadcast_to(ballot(member), same.shape)
    return broadcast_to_group(group, np.where(same, lanes, np.uint32(0))), broadcast_to_group(group, same)


@handles("match", warp_wide=True)
def handle_match(e, ins):
    mode = ins.mods[0]
    mask = e.use(ins.args[2], "u32")
    emit_warp_sync(e, mask)
    call = f"match(g, {mode!r}, {e.use(ins.args[1], kind_of(ins.mods[-1]))}, {mask})"
    destination = ins.args[0]
    if mode == "any":
        return e.set(destination, "u32", call)
    pair = e.temp(call)
    first, second = (destination.first, destination.second) if isinstance(destination, Pair) else (destination, SINK)
    for target, kind, i in ((first, "u32", 0), (second, "p", 1)):
        if target is not SINK:
            e.set(target, kind, f"{pair}[{i}]")


_IDENTITY = {"add": 0, "or": 0, "xor": 0, "and": -1}
_REDUCE = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


@helper
def warp_reduce(group, operation, value, mask):
    """redux.sync on integers."""
    values = group.to_warps(value)[:, None, :]
    t = values.dtype.type
    info = np.iinfo(values.dtype)
    start = {"min": info.max, "max": info.min}.get(operation)
    if start is None:
        start = int(np.int64(_IDENTITY[operation]).astype(values.dtype))
    masked = np.where(participants(group, mask), values, t(start))
    return broadcast_to_group(group, _REDUCE[operation].reduce(masked, axis=-1, dtype=values.dtype))


@helper
def warp_reduce_float(group, operation, value, mask, absolute, keep_nan):
    values = group.to_warps(np.abs(value) if absolute else value)[:, None, :]
    worst = np.float32(np.inf if operation == "min" else -np.inf)
    member = participants(group, mask)
    functions = (np.minimum, np.maximum) if keep_nan else (np.fmin, np.fmax)
    masked = np.where(member, values, worst)
    out = functions[operation == "max"].reduce(masked, axis=-1)
    nothing = (np.isnan(masked) | ~member).all(-1)  # all participants are NaN
    return broadcast_to_group(group, np.where(nothing, np.float32(np.nan), out))


@handles("redux", warp_wide=True)
def handle_redux(e, ins):
    operation, kind = ins.mods[1], kind_of(ins.mods[-1])
    mask = e.use(ins.args[2], "u32")
    emit_warp_sync(e, mask)
    if kind == "f32":
        flags = f"{'abs' in ins.mods}, {'NaN' in ins.mods}"
        return e.set(
            ins.args[0], "f32", f"warp_reduce_float(g, {operation!r}, {e.use(ins.args[1], 'f32')}, {mask}, {flags})"
        )
    e.set(ins.args[0], kind, f"warp_reduce(g, {operation!r}, {e.use(ins.args[1], kind)}, {mask})")


@helper
def elect(group, mask):
    """(leader lane, whether this thread is the leader); the leader is the lowest participating lane."""
    is_of_all = np.ndim(mask) == 0 and int(mask) == FULL_MASK
    if is_of_all and (found := group.memo.get("elected")) is not None:
        return found
    leader = participants(group, mask).argmax(-1)
    leader = np.broadcast_to(leader, (group.warps, 32)).astype(np.uint32)
    found = group.from_warps(leader), group.from_warps(leader == LANES)
    if is_of_all:
        group.memo["elected"] = found
    return found


@handles("elect", warp_wide=True)
def handle_elect(e, ins):
    mask = e.use(ins.args[1], "u32")
    emit_warp_sync(e, mask)
    pair = e.temp(f"elect(g, {mask})")
    destination = ins.args[0]
    if destination.first is not SINK:
        e.set(destination.first, "u32", f"{pair}[0]")
    if destination.second is not SINK:
        e.set(destination.second, "p", f"{pair}[1]")


WARP_WIDE.update({"ldmatrix", "stmatrix", "movmatrix", "mma"})
