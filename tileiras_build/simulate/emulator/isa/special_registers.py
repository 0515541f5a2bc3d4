"""Special registers (PTX ISA 9.0, section 10)."""

from __future__ import annotations

import time

import numpy as np

_u32, _u64 = np.uint32, np.uint64


def _constant(value):
    return lambda group: _u32(value)


def _block(axis: int):
    return lambda group: _u32(group.geometry.block[axis])


def _grid(axis: int):
    return lambda group: _u32(group.geometry.grid[axis])


def _tid(axis: int):
    def make(group):
        x, y, z = group.geometry.block
        if x * y * z == group.geometry.block[axis]:
            return group.tid.astype(_u32)
        if group.geometry.block[axis] == 1:
            return _u32(0)
        t = group.tid
        return ((t % x), (t // x % y), (t // (x * y)))[axis].astype(_u32)

    return make


def _ctaid(axis: int):
    def make(group):
        if group.geometry.grid[axis] == 1:
            return _u32(0)
        return _per_cta(group.geometry.cta_coordinates(group.cta)[axis])

    return make


def _per_cta(value):
    value = value.astype(_u32)
    return value[0, 0] if value.size == 1 else value


def _cluster(axis: int):
    return lambda group: _per_cta(group.geometry.cluster_coordinates(group.cta)[axis])


def _clusters(axis: int):
    return lambda group: _u32(group.geometry.grid[axis] // group.geometry.cluster_shape[axis])


def _rank(axis: int):
    return lambda group: _per_cta(group.geometry.rank_coordinates(group.cta)[axis])


def _ranks(axis: int):
    return lambda group: _u32(group.geometry.cluster_shape[axis])


def _lane(function):
    return lambda group: function((group.tid & 31).astype(_u32))


def _nanoseconds(group):
    return _u64(time.monotonic_ns())


SPECIALS = {
    **{f"ntid.{n}": _block(i) for i, n in enumerate("xyz")},
    **{f"nctaid.{n}": _grid(i) for i, n in enumerate("xyz")},
    **{f"tid.{n}": _tid(i) for i, n in enumerate("xyz")},
    **{f"ctaid.{n}": _ctaid(i) for i, n in enumerate("xyz")},
    **{f"clusterid.{n}": _cluster(i) for i, n in enumerate("xyz")},
    **{f"nclusterid.{n}": _clusters(i) for i, n in enumerate("xyz")},
    **{f"cluster_ctaid.{n}": _rank(i) for i, n in enumerate("xyz")},
    **{f"cluster_nctaid.{n}": _ranks(i) for i, n in enumerate("xyz")},
    "cluster_ctarank": lambda group: _per_cta(group.geometry.rank(group.cta)),
    "cluster_nctarank": lambda group: _u32(group.geometry.cluster_size),
    "is_explicit_cluster": lambda group: np.bool_(group.functions.program.explicit_cluster),
    "laneid": _lane(lambda lane: lane),
    "warpid": lambda group: (group.tid >> 5).astype(_u32),
    "nwarpid": lambda group: _u32(64),
    "smid": lambda group: _u32(0),
    "nsmid": _constant(132),
    "gridid": lambda group: _u64(1),
    "lanemask_eq": _lane(lambda lane: _u32(1) << lane),
    "lanemask_lt": _lane(lambda lane: (_u32(1) << lane) - _u32(1)),
    "lanemask_le": _lane(lambda lane: (_u32(2) << lane) - _u32(1)),
    "lanemask_gt": _lane(lambda lane: ~((_u32(2) << lane) - _u32(1))),
    "lanemask_ge": _lane(lambda lane: ~((_u32(1) << lane) - _u32(1))),
    "clock": lambda group: _u32(time.monotonic_ns() & 0xFFFFFFFF),
    "clock_hi": lambda group: _u32(time.monotonic_ns() >> 32 & 0xFFFFFFFF),
    "clock64": _nanoseconds,
    "globaltimer": _nanoseconds,
    "globaltimer_lo": lambda group: _u32(time.monotonic_ns() & 0xFFFFFFFF),
    "globaltimer_hi": lambda group: _u32(time.monotonic_ns() >> 32 & 0xFFFFFFFF),
    "dynamic_smem_size": lambda group: _u32(group.memories.dynamic_shared),
    "total_smem_size": lambda group: _u32(group.memories.shared_limit),
    "aggr_smem_size": lambda group: _u32(group.memories.shared_limit),
    "reserved_smem_offset_begin": _constant(0),
    "reserved_smem_offset_end": _constant(0),
}

KINDS = {"clock64": "u64", "globaltimer": "u64", "gridid": "u64", "is_explicit_cluster": "p"}
