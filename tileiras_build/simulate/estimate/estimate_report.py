"""Renders an estimate as a table or as JSON."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.byte_sizes import size_text
from ...core.terminal import table_text
from .performance_model import Estimate

MODEL_NOTE = "modelled, not measured (docs/report.md)"


def table(ours: Estimate, theirs: Estimate | None = None) -> str:
    """The bounds of one kernel, largest first; with ``theirs``, the bounds of another cubin in further columns."""
    columns = [ours] if theirs is None else [ours, theirs]
    names = sorted({name for one in columns for name in one.bounds}, key=lambda name: -ours.bounds.get(name, 0.0))
    header = (
        ("bound", "cycles", "share of total")
        if theirs is None
        else ("bound", "cycles", "share of total", "against", "its share")
    )
    rows = [(name, *(cell for one in columns for cell in _cells(one, name))) for name in names]
    lines = [_head(ours), *_lines(ours), "", table_text(header, rows), "", _comparison("estimated", ours)]
    if theirs is not None:
        lines += [_comparison("against", theirs), f"ratio: {ours.microseconds / theirs.microseconds:.2f}x its time"]
    return "\n".join([*lines, MODEL_NOTE])


def _cells(one: Estimate, name: str) -> tuple[str, str]:
    if name not in one.bounds:
        return "-", "-"
    return f"{one.bounds[name]:.0f}", f"{one.bounds[name] / one.clocks:.0%}"


def _head(one: Estimate) -> str:
    return f"{one.kernel} on {one.gpu.name} ({one.target}, {one.gpu.sm_count} SMs, {one.clock_mhz:.0f} of {one.gpu.clock_mhz} MHz)"


def _lines(one: Estimate) -> Iterable[str]:
    launch, waves = one.launch, one.waves
    extents = "x".join(map(str, launch.grid))
    yield f"grid {extents}, {launch.threads} threads: {waves.resident} CTAs per SM (limited by {waves.limit})"
    yield f"{waves.waves:.2f} waves, tail {waves.tail:.0%}: busiest SM runs {round(waves.busiest_sm_ctas, 2)} CTAs (average {waves.even_ctas_per_sm:.2f})"
    if launch.tile_programs:
        clusters = launch.clusters[0]
        yield f"persistent: {launch.tile_programs} tile blocks over {clusters} clusters ({launch.tile_programs / clusters:.2f} each, " \
              f"maximum {-(-launch.tile_programs // clusters)})"  # fmt: skip
    yield f"DRAM read {size_text(one.read)}, written {size_text(one.written)}; {size_text(one.timeline.in_flight)} in flight per CTA"
    if one.multiply_adds:
        yield f"single-CTA latency {one.timeline.clocks:.0f} cycles (prologue before the first MMA {one.timeline.prologue:.0f}; " \
              f"epilogue {one.timeline.epilogue:.0f})"  # fmt: skip
    yield from remarks(one)


def remarks(one: Estimate) -> Iterable[str]:
    """The assumptions that the model made for this launch, one sentence each."""
    if one.work.unknown_branches:
        branches = [f"{16 * number:#x}" for number in sorted(one.work.unknown_branches)]
        yield f"data-dependent branch at {', '.join(branches)} assumed not taken; if it closes a loop, give --trips {branches[0]}=N"
    if one.work.unknown_accesses:
        yield f"{len(one.work.unknown_accesses)} accesses with unknown addresses assumed coalesced and conflict-free"
    if one.timeline.forced_waits:
        yield f"{one.timeline.forced_waits} barrier waits with unknown completion assumed satisfied"


def _comparison(what: str, one: Estimate) -> str:
    return f"{what}: {one.clocks:.0f} cycles, {one.microseconds:.1f} us; limited by {one.limit}; {one.resource} utilization {one.reached:.0%}"


def document(one: Estimate) -> dict[str, object]:
    """The estimate as a JSON object."""
    return {
        "kernel": one.kernel, "target": one.target, "machine": one.gpu.name, "model": MODEL_NOTE,
        "clocks": round(one.clocks, 1), "clock_mhz": round(one.clock_mhz), "microseconds": round(one.microseconds, 3), "limit": one.limit,
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
