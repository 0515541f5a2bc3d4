"""``Schedule``: how a kernel uses an SM, as one frozen value; ``KNOBS`` has a row for each of its fields.

A kernel's ``schedule`` attribute holds it (``schedule_attribute.py``). It starts as what a schedule file requests; each knob is
chosen (``choose.py``) once the passes before have fixed what the choice depends on: CTAs per SM before layouts, stages in
shared memory after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

Value = int | bool | str | tuple[int, ...] | tuple[str, ...]


@dataclass(frozen=True)
class Schedule:
    """None: not chosen yet, or the kernel has nothing that the knob is about."""

    strategy: str | None = None
    num_ctas: int | None = None
    grid_cluster: int | None = None
    split_k: int | None = None
    num_warps: int | None = None
    occupancy: int | None = None
    setmaxnreg: bool | None = None
    mma: tuple[str, ...] | None = None
    swap_operands: bool | None = None
    tmem_accumulators: bool | None = None
    query_tiles: int | None = None
    tile_slices: int | None = None
    mma_warp: bool | None = None
    num_stages: int | None = None
    accumulator_buffers: int | None = None
    two_cta_mma: bool | None = None
    multicast: bool | None = None
    rotate: bool | None = None
    issue_ahead: bool | None = None
    ping_pong: bool | None = None
    cp_async_stages: tuple[int, ...] | None = None
    prefetch_fragments: bool | None = None
    tma_stores: bool | None = None
    spill: bool | None = None
    conversion_chunk_bytes: int | None = None

    @property
    def chosen(self) -> dict[str, Value]:
        """The knobs that have a value, by name."""
        return {row.name: value for row in KNOBS if (value := getattr(self, row.name)) is not None}


@dataclass(frozen=True)
class Knob:
    """``help`` says what a value is; ``needs`` what a kernel must have for it, as refusals quote it.

    ``kind`` is the type of a value, or of each one where there are ``many``, in program order. ``values``: the valid ones, if few.
    ``is_priced``: the cost depends on it. ``is_early``: passes read what a file requests before they choose. ``is_derived``: it follows
    from other knobs, or from what does not fit.
    """

    name: str
    kind: type
    help: str
    needs: str
    many: bool = False
    values: tuple[int | str, ...] = ()
    is_priced: bool = False
    is_early: bool = False
    is_derived: bool = False


POWERS = (1, 2, 4, 8, 16)
# Of a tile in scratch at a time. Smaller chunks need more barriers; in all but the largest, slices and dots without an MMA
# instruction go through scratch in chunks, too.
CHUNK_BYTES = (32768, 8192, 2048)
KNOBS: tuple[Knob, ...] = (
    Knob(
        "strategy",
        str,
        "how loads overlap computation: none, unspecialize (cp.async) or warp-specialize (TMA)",
        "the target and the serializer support it, and shared memory holds its stages",
    ),
    Knob(
        "num_ctas",
        int,
        "CTAs of a cluster that share a tile program (thread block cluster)",
        "a GPU with clusters, and tiles that CTAs can divide without exchanging data",
        is_priced=True,
        is_early=True,
    ),
    Knob(
        "grid_cluster",
        int,
        "neighbouring tile programs along axis 0 of the grid that form a cluster and share loads",
        "a GPU with clusters, num_ctas = 1, no early return, and launches whose first grid extent is a multiple of it",
        values=(1, 2, 4),
        is_priced=True,
        is_early=True,
    ),
    Knob(
        "split_k",
        int,
        "CTAs of a cluster that each run a part of a matmul's loop along k, and add their accumulators",
        "a GPU with clusters, num_ctas = 1, and one loop that only accumulates from zero, for grids with few tile programs",
        values=(1, 2, 4),
        is_priced=True,
        is_early=True,
    ),
    Knob(
        "num_warps",
        int,
        "warps that compute, besides producer and MMA warps",
        "16 warps at most",
        values=POWERS,
        is_priced=True,
        is_early=True,
    ),
    Knob(
        "occupancy",
        int,
        "CTAs per SM that registers and shared memory are divided for",
        "the registers and the shared memory of an SM hold that many CTAs",
        is_priced=True,
        is_early=True,
    ),
    Knob(
        "setmaxnreg",
        bool,
        "producer warps release registers to the warps of an attention kernel",
        "it follows from num_warps and occupancy of an attention kernel",
        is_derived=True,
    ),
    Knob(
        "mma",
        str,
        "the instruction family of each dot",
        "one value for each dot; the family has an instruction for its types and reads its operands where they are",
        many=True,
        is_priced=True,
    ),
    Knob(
        "swap_operands",
        bool,
        "A B is computed as the transpose of B' A'",
        "an instruction that reads B' and A', but not A and B, in the memory order that they have, or columns that a CTA pair divides",
    ),
    Knob(
        "tmem_accumulators",
        bool,
        "the accumulators of chained dots (attention) stay in tensor memory",
        "a GPU with tensor memory, two chained dots with 128 rows, and columns for both accumulators",
        is_priced=True,
    ),
    Knob(
        "query_tiles",
        int,
        "tiles of 128 query rows that a CTA computes at once, with the same keys and values",
        "chained dots (attention) of 256 rows, and columns and shared memory for all of them",
        values=(1, 2),
        is_priced=True,
    ),
    Knob(
        "tile_slices",
        int,
        "equal parts of its tiles that a CTA computes one after the other",
        "dots in loops, parts that need nothing of each other, and 16 rows of each for a warp",
        values=(1, 2, 4, 8),
        is_priced=True,
    ),
    Knob(
        "mma_warp",
        bool,
        "one warp issues all MMAs, and the other ones compute with earlier results meanwhile",
        "dots that accumulate from zero in tensor memory, in a loop over output tiles or with block scales, or several in a loop that reads one",
        is_priced=True,
    ),
    Knob(
        "num_stages",
        int,
        "stages of operands that TMA or threads copy ahead",
        "operands in shared memory that TMA or threads copy ahead",
        is_priced=True,
    ),
    Knob(
        "accumulator_buffers",
        int,
        "accumulators in tensor memory that the MMA warp alternates between",
        "a dot that accumulates in tensor memory; two need an MMA warp, a loop over output tiles, and columns for both",
        values=(1, 2),
    ),
    Knob(
        "two_cta_mma",
        bool,
        "two CTAs of a cluster compute one MMA (cta_group::2)",
        "num_ctas = 2 on a GPU with MMAs of CTA pairs, and one dot whose rows the CTAs divide",
        is_priced=True,
    ),
    Knob(
        "multicast",
        bool,
        "CTAs of a cluster load the tiles that all of them need once",
        "num_ctas > 1, and TMA loads of tiles that do not depend on the CTA",
        is_priced=True,
    ),
    Knob(
        "rotate",
        bool,
        "the second dot of an iteration overlaps the first one of the next",
        "a loop of two asynchronous dots, two stages, and registers for both left operands",
        is_priced=True,
    ),
    Knob(
        "issue_ahead",
        bool,
        "MMAs of the next iteration are issued before the rest of this one",
        "a dot that accumulates in tensor memory, whose operands another warp loads, and no MMA warp",
        is_priced=True,
    ),
    Knob(
        "ping_pong",
        bool,
        "warpgroups alternate at the tensor core",
        "two warpgroups, and a loop with two dots that are issued before the wait for the first",
        is_priced=True,
    ),
    Knob(
        "cp_async_stages",
        int,
        "stages of the cp.async copies of each loop; 0: its loads are not copied ahead",
        "one value for each loop that loads tiles of dots which no producer warp loads, or tiles in a kernel without dots",
        many=True,
        is_priced=True,
    ),
    Knob(
        "prefetch_fragments",
        bool,
        "fragments of the next tiles are read before the last k step of the current ones",
        "a loop of one dot with operands in registers, of several k steps, and registers for the fragments of two steps",
        is_priced=True,
    ),
    Knob(
        "tma_stores",
        bool,
        "results are stored by TMA",
        "a kernel with TMA loads, and results that pass through shared memory to aligned tensors",
    ),
    Knob(
        "spill",
        bool,
        "tiles that wait for a reduction are kept in shared memory, so that more CTAs share an SM",
        "a kernel with reductions and without dots, whose tiles take more registers than its CTAs have",
    ),
    Knob(
        "conversion_chunk_bytes",
        int,
        "most shared memory of a tile whose layout is converted",
        "one of the chunk sizes",
        values=CHUNK_BYTES,
        is_early=True,
        is_derived=True,
    ),
)
BY_NAME = {row.name: row for row in KNOBS}
assert list(BY_NAME) == [field.name for field in fields(Schedule)]
NOTHING = Schedule()


def of_values(values: Mapping[str, Any]) -> Schedule:
    """The schedule with these knobs; lists become tuples."""
    plain: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return Schedule(**plain)
