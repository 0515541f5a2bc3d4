"""The family of instructions of each dot: which ones are tried, and why a faster one is not used."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.dialects.op_definition import TableOp
from ..analysis.access_vectorization import ViewAccessInfo
from ..analysis.axis_info import AxisAnalysis
from ..analysis.dot_operand_chains import dot_operand_load
from ..analysis.kernel_target import kernel_target
from ..analysis.op_queries import dots_in
from ..analysis.resource_model import MIN_WARPS, choose_warps
from ..analysis.tma_operands import control_flow_obstacles
from ..analysis.tma_tensor_maps import TMA_ALIGNMENT, alignment_faults
from ..common.llvm_element_types import element_of
from ..common.optimization_hints import hint
from ..job import Job
from ..mma.dots import element_types
from ..mma.family import MmaFamily, Storage, families_of, family_of, family_with_fragments
from ..pipelining_strategies import choose as choose_strategy
from .choose import Candidate, is_listening, select
from .schedule_attribute import set_knobs
from .schedule_file import refusal, requested


def families_for(place: int, job: Job) -> tuple[MmaFamily, ...]:
    """The families to try for a dot, the fastest first: all of the target, or the requested one."""
    families = families_of(job.target)
    wanted = requested(job).mma
    if wanted is None or place >= len(wanted):
        return families
    return tuple(family for family in families if family.name == wanted[place])


def choose_mma(func: TableOp, job: Job) -> None:
    """Record the family of each dot before layouts. Raises InvalidInput[schedule-refused] for a request without instruction."""
    dots = dots_in(func)
    wanted = requested(job).mma
    if wanted is not None and len(wanted) != len(dots):
        reason = f"it has {len(wanted)} values, and the kernel {len(dots)} dots"
        raise refusal(job.schedule, "mma", wanted, reason, "one value for each dot, in program order")
    used = tuple(_family(dot, job).name for dot in dots)
    if wanted is not None or is_listening():
        for place, dot in enumerate(dots):
            asked = None if wanted is None else wanted[place]
            select(func, job, "mma", asked, _candidates(func, dot, used[place], job), place)
    set_knobs(func, mma=used or None)


def _family(dot: TableOp, job: Job) -> MmaFamily:
    return family_of(dot) if dot.mma is not None else family_with_fragments(dot, kernel_target(dot, job))


def _candidates(func: TableOp, dot: TableOp, used: str, job: Job) -> Iterator[Candidate[str]]:
    """The family that is used, then the others of the target."""
    yield Candidate(used)
    for family in families_of(job.target):
        if family.name != used:
            limit, remedy = _limit(func, dot, family, job)
            yield Candidate(family.name, limit, remedy)


def _limit(func: TableOp, dot: TableOp, family: MmaFamily, job: Job) -> tuple[str | None, str | None]:
    """Why a dot cannot use a family, and what would allow it; (None, None) where it could."""
    from_registers = Storage.SHARED not in family.b_storage
    is_expanded = from_registers and dot.lhs_scale is not None  # other instructions multiply scales before
    if not is_expanded and family.row_for(dot, job.target) is None and Storage.SCRATCH not in family.b_storage:
        a, b, result = element_types(dot)
        return f"{job.target.name} has no {family.name} instruction for {a} x {b} -> {result}", None
    if from_registers:
        best = _first_from_registers(job) if is_expanded else family_with_fragments(dot, job.target)
        return (None, None) if best is family else (f"{best.name} computes the same in less time", None)
    return next(_obstacles(func, dot, job), (_shape_limit(dot, family), "other tile sizes, or fewer or more num_warps"))


def _first_from_registers(job: Job) -> MmaFamily:
    return next(family for family in families_of(job.target) if Storage.SHARED not in family.b_storage)


def _shape_limit(dot: TableOp, family: MmaFamily) -> str:
    rows, columns = family.tile_steps[0]
    m, n = dot.result.type.get_shape()[-2:]
    return (
        f"a {m} x {n} tile: {family.name} needs multiples of {rows} x {columns} for all warps, storage for its "
        "accumulators, and operands in a memory order that it reads"
    )


def _obstacles(func: TableOp, dot: TableOp, job: Job) -> Iterator[tuple[str, str | None]]:
    """What prevents operands in shared memory that TMA fills, each with its remedy."""
    if not choose_strategy(job).uses_tma:
        yield f"strategy {choose_strategy(job).name} has no TMA loads", "strategy warp-specialize"
    if (warps := choose_warps(func, job)) < MIN_WARPS:
        yield f"{warps} warps: a producer warp needs {MIN_WARPS} computing ones", "larger tiles or more num_warps"
    for obstacle in control_flow_obstacles(dot):
        yield f"control flow: {obstacle}", "load its operands in a loop with uniform bounds"
    for index, name in ((0, "A"), (1, "B")):
        yield from _operand_obstacles(dot, index, name, job)


def _operand_obstacles(dot: TableOp, index: int, name: str, job: Job) -> Iterator[tuple[str, str | None]]:
    found = dot_operand_load(dot, index)
    if found is None:
        if index == 1:
            yield f"operand {name} is not loaded as it is, as a tile, in the loop of the dot", None
        return
    load = found[0]
    if hint(load, job, "allow_tma") == 0:
        yield f"operand {name}: the hint allow_tma=False of its load", "drop the hint"
    count = 8 * TMA_ALIGNMENT // element_of(load.value.type).bits
    promise = f"promise Array(…, alignment={TMA_ALIGNMENT}, stride_divisible_by={count})"
    for what, bytes in alignment_faults(ViewAccessInfo(load.view, AxisAnalysis())):
        limit = f"operand {name}: {what} is known to be a multiple of {bytes} bytes only; TMA needs {TMA_ALIGNMENT}"
        yield limit, promise
