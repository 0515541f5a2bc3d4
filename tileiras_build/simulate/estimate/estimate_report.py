"""What an estimate says, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.byte_sizes import size_text
from ...core.terminal import table_text
from .performance_model import Estimate

MODEL_NOTE = "modelled, not measured (docs/estimate.md)"


def table(ours: Estimate, theirs: Estimate | None = None) -> str:
    """One kernel's bounds, the largest first, beside another cubin's where there is one."""
    columns = [ours] if theirs is None else [ours, theirs]
    names = sorted({name for one in columns for name in one.bounds}, key=lambda name: -ours.bounds.get(name, 0.0))
    header = (
        ("bound", "clocks", "of the estimate")
        if theirs is None
        else ("bound", "clocks", "of the estimate", "against", "of it")
    )
    rows = [(name, *(cell for one in columns for cell in _cells(one, name))) for name in names]
    lines = [_head(ours), *_lines(ours), "", table_text(header, rows), "", _comparison("estimated", ours)]
    if theirs is not None:
        lines += [_comparison("against", theirs), f"ratio: {ours.clocks / theirs.clocks:.2f} of its clocks"]
    return "\n".join([*lines, MODEL_NOTE])


def _cells(one: Estimate, name: str) -> tuple[str, str]:
    if name not in one.bounds:
        return "-", "-"
    return f"{one.bounds[name]:.0f}", f"{one.bounds[name] / one.clocks:.0%}"


def _head(one: Estimate) -> str:
    return f"{one.kernel} on {one.gpu.name} ({one.target}, {one.gpu.sm_count} multiprocessors, {one.gpu.clock_mhz} MHz)"


def _lines(one: Estimate) -> Iterable[str]:
    launch, waves = one.launch, one.waves
    extents = "x".join(map(str, launch.grid))
    yield f"grid {extents}, {launch.threads} threads: {waves.resident} blocks on a multiprocessor ({waves.limit})"
    yield f"waves {waves.waves:.2f}, tail {waves.tail:.0%}: the busiest multiprocessor has {waves.busiest_sm_ctas} blocks of {waves.even_ctas_per_sm:.2f}"
    if launch.tile_programs:
        clusters = launch.clusters[0]
        yield f"tile programs {launch.tile_programs}: {launch.tile_programs / clusters:.2f} for each of {clusters} clusters, " \
              f"{-(-launch.tile_programs // clusters)} at most"  # fmt: skip
    yield f"DRAM reads {size_text(one.read)}, writes {size_text(one.written)}; {size_text(one.timeline.in_flight)} of a block in flight"
    if one.multiply_adds:
        yield f"a block alone: {one.timeline.clocks:.0f} clocks, {one.timeline.prologue:.0f} before its first product, " \
              f"{one.timeline.epilogue:.0f} behind its last"  # fmt: skip
    yield from remarks(one)


def remarks(one: Estimate) -> Iterable[str]:
    """What the model had to assume."""
    if one.work.unknown:
        places = ", ".join(f"{16 * number:#x}" for number in sorted(one.work.unknown))
        yield f"decided by memory, taken as not jumped: {places} (--trips ADDRESS=N for a loop)"
    if one.work.blind:
        yield f"{len(one.work.blind)} accesses at addresses that are not known are taken as coalesced and free of conflicts"
    if one.timeline.forced_waits:
        yield f"{one.timeline.forced_waits} waits whose end was not seen are taken as met"


def _comparison(what: str, one: Estimate) -> str:
    return f"{what}: {one.clocks:.0f} clocks, {one.microseconds:.1f} us; limit {one.limit}; {one.resource} busy {one.reached:.0%}"


def document(one: Estimate) -> dict[str, object]:
    """The same for programs."""
    return {
        "kernel": one.kernel, "target": one.target, "machine": one.gpu.name, "model": MODEL_NOTE,
        "clocks": round(one.clocks, 1), "microseconds": round(one.microseconds, 3), "limit": one.limit,
        "resource": one.resource, "reached": round(one.reached, 4),
        "bounds": {name: round(clocks, 1) for name, clocks in one.bounds.items()},
        "grid": list(one.launch.grid), "programs": one.launch.tile_programs, "threads": one.launch.threads, "resident": one.waves.resident,
        "resident_limit": one.waves.limit, "waves": round(one.waves.waves, 3), "tail": round(one.waves.tail, 3),
        "dram_read": round(one.read), "dram_written": round(one.written), "multiply_adds": round(one.multiply_adds),
        "instructions": round(one.work.instructions * one.launch.blocks),
        "block_clocks": round(one.timeline.clocks, 1), "prologue": round(one.timeline.prologue, 1),
        "epilogue": round(one.timeline.epilogue, 1), "bytes_in_flight": round(one.timeline.in_flight),
        "remarks": list(remarks(one)),
    }  # fmt: skip
