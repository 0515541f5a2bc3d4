"""Warps of a CTA and CTAs per SM: what fits registers and shared memory, the best first."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ...ir.casting import as_op, parent_block, tile_type, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts.tmem_layout import ALL_COLUMNS, allocated_columns
from ...target.sm_limits import WARP
from ...target.targets import Target
from ..analysis.access_vectorization import pointer_vector
from ..analysis.axis_info import AxisAnalysis
from ..analysis.chained_dots import is_computed_by_dot, stationary_lhs_load
from ..analysis.dot_loop_registers import live_tile_registers, result_registers
from ..analysis.enclosing_control_flow import enclosing_loops, is_in_counted_loop
from ..analysis.loop_trips import are_short
from ..analysis.op_queries import POINTER_LOAD, dots_in, has_dots, is_tile
from ..analysis.peak_registers import peak_by_element, peak_of_block, peak_registers, registers_of_epilogues
from ..analysis.resource_model import (
    MAX_WARPS,
    MIN_STAGES,
    MIN_WARPS,
    STAGES_SMEM_OVERHEAD,
    STORES,
    WARPGROUP,
    choose_warps,
    ctas_by_row_registers,
    largest_tile,
    live_registers_fit,
    registers_at_launch,
    registers_fit,
    registers_left,
    registers_of_thread,
    row_registers,
    two_stages_fit,
)
from ..analysis.row_registers import late_words, row_and_single_words, row_words
from ..analysis.stored_operands import is_invariant, stored_bytes
from ..analysis.tma_operands import is_prefetchable_once, may_prefetch_in_loop, tma_operand
from ..common.optimization_hints import hint
from ..job import Job
from ..mma.family import MmaFamily, Storage, families_of, fastest_family
from .attention_candidates import AttentionCandidates
from .candidates import Candidates
from .choose import Candidate, Limit, Resource, WholeSchedule, cheapest, choose, hear, hear_kernel, is_listening
from .cost import cost
from .kernel import describe
from .loads_in_flight import EXCHANGES, ctas_with_loads_in_flight
from .loop_memories import memories_of_loops
from .row_candidates import RowCandidates
from .schedule import Schedule
from .schedule_attribute import schedule_of, set_knobs
from .schedule_file import requested
from .shared_memory import give_up_tma
from .tmem_chains import chains_in_tmem

POINTER_ACCESSES = frozenset({POINTER_LOAD, "nv_tileas.store"})
# Operations whose fixed cost is per warp, and accesses that have vectors of their own.
SHARES_ELEMENTS = frozenset(
    f"nv_tileas.{name}" for name in ("reduce", "scan", "tiled_load", "tiled_store", "tiled_atomic_rmw")
)
ROWS_OF_WARP = 16  # of an mma.sync
NARROW_ELEMENTS, NARROW_LOADS = 4, 16  # of a thread whose accesses have one each
OVERLAPPING_CTAS = 2  # per SM, that overlap one another
ELEMENTWISE_WARPS = 16  # of an SM, four for each scheduler: fewer leave it idle while they wait for SFU and loads
EXPLAINED_CTAS = 4  # CTAs per SM up to which candidates are explained where none is chosen


def choose_cta_shape(func: TableOp, job: Job) -> None:
    """Set the CTAs per SM of a kernel, and the warps of attention.

    Chained dots (attention) have 64 rows for each warpgroup (``attention_candidates.py``). Other kernels have as many CTAs as they
    request, or fewer if the tiles that a loop keeps in registers for its dots, or that are live at once there, would not fit, as they
    would spill to local memory in every iteration, or if tensor memory or shared memory do not. Kernels without loops that load
    tiles after a reduction have as many as registers suffice for, so that ptxas allocates registers for loads in flight.
    """
    if is_listening():
        hear_kernel(func, describe(func, job))
    give_up_tma(func, job)
    wanted = schedule_of(func)
    if _choose_attention(func, job):
        return
    of_dots = _warps_that_divide, _warps_of_scores, _warps_of_live_tiles
    rules = of_dots if has_dots(func) else (_warps_of_narrow_accesses, _warps_of_live_elements)
    warps, told = None if wanted.num_warps else next(filter(None, (rule(func, job) for rule in rules)), None), None
    if warps is not None:
        set_knobs(func, num_warps=warps)
    elif not wanted.num_warps or is_listening():
        told = _choose_cheapest(func, job)
    if (
        ctas := wanted.occupancy
        or hint(func, job, "occupancy")
        or told
        or _ctas_of_short_loops(func, job)
        or _ctas_of_one_warpgroup(func, job)
    ):
        in_tmem = wanted.occupancy and (requested(job).tmem_accumulators or chains_in_tmem(func, job))
        if not in_tmem:  # else choose_chains does
            regs = _registers_of_stationary(func, job) if wanted.occupancy else None
            choose(func, job, "occupancy", _occupancies(func, ctas, job, regs))
    elif late_words(func) and (words := row_and_single_words(func)):
        ctas = ctas_by_row_registers(words, choose_warps(func, job), job.target)
        set_knobs(func, occupancy=ctas if ctas > 1 else None)
    elif (ctas := ctas_with_loads_in_flight(func, job)) > 1:
        set_knobs(func, occupancy=ctas)
    elif is_listening():
        hear(func, "occupancy", None, _occupancies(func, EXPLAINED_CTAS, job, _registers_of_stationary(func, job)))


def _choose_cheapest(func: TableOp, job: Job) -> int | None:
    """Set the warps of the cheapest whole schedule of a matmul, or of a kernel that reduces rows. The CTAs per SM of it, where they
    do not follow from the warps.
    """
    found = Candidates.of(func, job) or RowCandidates.of(func, job)
    best = None if found is None else found.best()
    if found is None or best is None:
        return None
    if best.schedule.num_warps != choose_warps(func, job):
        set_knobs(func, num_warps=best.schedule.num_warps)
    return found.more_ctas(best)


def _ctas_of_short_loops(func: TableOp, job: Job) -> int | None:
    """Two CTAs per SM for a kernel whose dots stand in no loop, or in short ones with accumulators in tensor memory, where they fit and the
    cost is less: it overlaps little itself, and a launch with producer warps would have all registers of an SM. Else None: how much
    shared memory more of them need is not known before layouts.
    """
    dots, family = dots_in(func), fastest_family(job.target)
    if family.async_ops is None or not any(_parts(dots, family)) or not any(_is_loaded_once(dot, job) for dot in dots):
        return None
    loops = [loop for dot in dots for loop in enclosing_loops(dot)]
    if loops and (family.accumulator is not Storage.TENSOR or not are_short(loops)):
        return None
    if any(one.refused for one in _occupancies(func, OVERLAPPING_CTAS, job)):
        return None
    kernel, warps = describe(func, job), choose_warps(func, job)
    around = peak_of_block(func.regions[0].blocks[0], job.target, counts_inner=not loops)
    registers = max(around, peak_registers(func, job.target))
    if not live_registers_fit(registers, warps, job.target, OVERLAPPING_CTAS):
        return None
    found = [Schedule(num_warps=warps, occupancy=ctas) for ctas in (1, OVERLAPPING_CTAS)]
    best = cheapest(WholeSchedule(one, cost=cost(kernel, one, job.target)) for one in found)
    return None if best is None or best.schedule.occupancy == 1 else OVERLAPPING_CTAS


def _ctas_of_one_warpgroup(func: TableOp, job: Job) -> int | None:
    """Two CTAs per SM for a kernel of one warpgroup that computes a left operand of a dot from another dot in a loop, and adds parts of
    accumulators, where both have registers and stages; else None. One warpgroup multiplies while the other computes. Without such parts
    MMAs are in flight beside what a warpgroup computes itself (``defer_mma_waits.py``).
    """
    family = fastest_family(job.target)
    if family.async_ops is None or family.accumulator is Storage.TENSOR or choose_warps(func, job) != WARPGROUP:
        return None
    dots = [dot for dot in dots_in(func) if is_in_counted_loop(dot)]
    if not any(is_computed_by_dot(dot.lhs, parent_block(dot)) for dot in dots) or not all(_parts(dots, family)):
        return None
    if not any(family.partial_registers(dot, job) for dot in dots):
        return None
    if MIN_STAGES * memories_of_loops(func, job)[0] > job.target.shared_memory_of(OVERLAPPING_CTAS):
        return None
    return None if any(one.refused for one in _occupancies(func, OVERLAPPING_CTAS, job)) else OVERLAPPING_CTAS


def _is_loaded_once(dot: TableOp, job: Job) -> bool:
    """Whether TMA can load an operand of a dot that stands in no loop."""
    analysis = AxisAnalysis()
    return is_prefetchable_once(dot) and any(tma_operand(dot, index, job, analysis) is not None for index in (0, 1))


def _warps_that_divide(func: TableOp, job: Job) -> int | None:
    """Fewer warps than the largest tile of a kernel gets, where more do not divide the results of all dots, so that a slower family
    would multiply; None where none are needed, or have too few registers.
    """
    family, warps = fastest_family(job.target), choose_warps(func, job)
    dots = dots_in(func)
    parts = _parts(dots, family)
    if family.async_ops is None or not all(parts) or not MIN_WARPS * min(parts, default=warps) < warps:
        return None
    if not all(family.row_for(dot, job.target) is not None and may_prefetch_in_loop(dot) for dot in dots):
        return None
    fewer = MIN_WARPS * min(parts)
    return fewer if registers_fit(_loop_registers(func, job), fewer, 1, job.target) else None


def _parts(dots: list[TableOp], family: MmaFamily) -> list[int]:
    """How many tiles of a family's smallest instruction divide the result of each dot; 0 where it has none."""
    rows, columns = family.tile_steps[0]
    return [m // rows * (n // columns) for m, n in (dot.result.type.get_shape()[-2:] for dot in dots)]


def _occupancies(func: TableOp, most: int, job: Job, regs: int | None = None) -> Iterator[Candidate[int]]:
    """From ``most`` CTAs per SM down to one, which always fits. ``regs``: registers of all threads for tiles, if those that are live at
    once are more.
    """
    warps = choose_warps(func, job)
    live = _live_registers(func, job)
    of_two = _registers_of_two(func, live, job)
    (stage, columns), row = memories_of_loops(func, job), 0 if requested(job).spill else row_words(func)
    for ctas in range(most, 1, -1):
        needed = of_two if ctas == OVERLAPPING_CTAS else live
        needed = needed if regs is None else min(regs, needed)
        limits = _register_limit(needed, warps, ctas, job), _row_limit(row, warps, ctas, job)
        yield Candidate(ctas, next(filter(None, limits), None) or _memory_limit(stage, columns, ctas, job))
    yield Candidate(1)


def _registers_of_two(func: TableOp, live: int, job: Job) -> int:
    """The registers of all threads for tiles where two CTAs per SM have one warpgroup each, and read results from tensor memory: they compute
    element by element. Of more warps that counts too few, as their threads spill: those that are ``live``.
    """
    if fastest_family(job.target).accumulator is not Storage.TENSOR or choose_warps(func, job) != WARPGROUP:
        return live
    return min(live, peak_by_element(func) or live)


def _live_registers(func: TableOp, job: Job) -> int:
    """The registers of all threads for tiles in the loop with the most. Threads read accumulators from tensor memory one after the other,
    where they use them: the results of several dots are not live together, unless the loop has them live so.
    """
    peak = peak_registers(func, job.target)
    if peak and fastest_family(job.target).accumulator is Storage.TENSOR:
        return peak
    return max(_loop_registers(func, job), peak)


def _registers_of_stationary(func: TableOp, job: Job) -> int | None:
    """Registers beside tensor memory that hold more CTAs where a left operand stays in shared memory, as the family of the dots chooses
    by itself; None for other kernels.
    """
    if fastest_family(job.target).accumulator is not Storage.TENSOR:
        return None
    dots = [dot for dot in dots_in(func) if is_in_counted_loop(dot)]
    return max(map(result_registers, dots)) if any(map(stationary_lhs_load, dots)) else None


def _register_limit(regs: int, warps: int, ctas: int, job: Job) -> Limit | None:
    """Why the tiles that a loop keeps in registers do not fit with so many CTAs per SM."""
    if not regs or registers_fit(regs, warps, ctas, job.target):
        return None
    needed, available = registers_of_thread(regs, warps, ctas, job.target)
    text = f"a thread needs {needed} for the tiles of its dots, and has {available} with {ctas} CTAs per SM"
    return Limit(Resource.REGISTERS, text)


def _row_limit(regs: int, warps: int, ctas: int, job: Job) -> Limit | None:
    """Why an SM does not hold the threads of so many CTAs with the tiles that are live across a reduction."""
    if not regs:
        return None
    if (refused := _thread_limit(warps, ctas, job)) is not None:
        return refused
    needed, available = row_registers(regs, warps), registers_left(0, warps, ctas, job.target)
    if needed <= available:
        return None
    text = f"a thread needs {needed} for the tiles across a reduction, and has {available} with {ctas} CTAs per SM"
    return Limit(Resource.REGISTERS, text)


def _memory_limit(stage: int, columns: int, ctas: int, job: Job) -> Limit | None:
    """Why tensor memory or shared memory do not hold so many CTAs per SM, whose registers would only be fewer."""
    if columns and ctas * allocated_columns(columns) > ALL_COLUMNS:
        text = f"a CTA has accumulators of {columns} columns, and there are {ALL_COLUMNS} for {ctas} CTAs per SM"
        return Limit(Resource.TENSOR, text)
    if stage > (available := job.target.shared_memory_of(ctas)):
        return Limit(Resource.SHARED, f"a stage has {stage} bytes, and a CTA {available} with {ctas} CTAs per SM")
    return None


# ---- chained dots ------------------------------------------------------------------------------
def _choose_attention(func: TableOp, job: Job) -> bool:
    """Set warps and CTAs per SM of chained dots; False where there are none, or they do not fit."""
    found = AttentionCandidates.of(func, job)
    best = None if found is None else found.best()
    if found is None or best is None:
        return False
    ctas, asked = unwrap(best.schedule.occupancy), schedule_of(func).occupancy
    if is_listening():
        hear(func, "occupancy", ctas if ctas > 1 else None, _attention_occupancies(func, found, job))
    set_knobs(func, num_warps=best.schedule.num_warps, occupancy=ctas if ctas > 1 else asked, setmaxnreg=True)
    return True


def _attention_occupancies(func: TableOp, found: AttentionCandidates, job: Job) -> Iterator[Candidate[int]]:
    """CTAs per SM of chained dots that fit as attention, or as other kernels do."""
    for other in list(_occupancies(func, EXPLAINED_CTAS, job)):
        yield Candidate(other.value) if found.limit(other.value).refused is None else other


def _warps_of_scores(func: TableOp, job: Job) -> int | None:
    """Warps of a kernel whose dots compute left operands of others by mma.sync, each with whole rows of them.

    More warps than rows have would divide columns: row reductions and left operands would go through shared memory.
    """
    dots = dots_in(func)
    rows = max((_rows(dot) for dot in dots if is_computed_by_dot(dot.lhs, parent_block(dot))), default=0)
    warps, most = rows // ROWS_OF_WARP, choose_warps(func, job)
    if (
        not MIN_WARPS <= warps < most
        or fastest_family(job.target).group is not None
        or any(_rows(dot) > rows for dot in dots)
    ):
        return None
    if not live_registers_fit(_loop_registers(func, job), warps, job.target):
        return None
    return warps


def _warps_of_live_tiles(func: TableOp, job: Job) -> int | None:
    """Two warpgroups where the tiles that are live at once in a loop of several dots, or around one, exceed the registers of one; else
    None. More warpgroups have half of the registers each.
    """
    warps = two_warpgroups(func, job)
    if warps is None:
        return None
    live = max(peak_registers(func, job.target), registers_of_epilogues(func, job.target))
    return None if live_registers_fit(live, WARPGROUP, job.target) else warps


def two_warpgroups(func: TableOp, job: Job) -> int | None:
    """The warps of two warpgroups where a kernel's largest tile gets one, and two divide the results of all dots; else None."""
    family = fastest_family(job.target)
    if choose_warps(func, job) != WARPGROUP or family.async_ops is None:
        return None
    return 2 * WARPGROUP if min(_parts(dots_in(func), family), default=0) > 1 else None


def _warps_of_narrow_accesses(func: TableOp, job: Job) -> int | None:
    """Warps of a kernel without dots, of element-wise operations, whose accesses by pointers have one element each; None where vectors are
    wider. Threads with as many elements as two vectors, or with many loads, would wait for more loads one after the other, as ptxas
    issues late what exceeds the registers that it gives them.
    """
    operations = walk(func)
    accesses = [as_op(op) for op in operations if op.name in POINTER_ACCESSES and is_tile(as_op(op).value)]
    warps, most = choose_warps(func, job), min(WARPGROUP, largest_tile(operations) // (NARROW_ELEMENTS * WARP))
    most = max(most, _warps_of_narrow_loads(accesses, warps, job.target))
    if warps >= most or not accesses or any(op.name in SHARES_ELEMENTS for op in operations):
        return None
    analysis = AxisAnalysis()
    return most if all(pointer_vector(access, analysis)[0] == 1 for access in accesses) else None


def _warps_of_narrow_loads(accesses: list[TableOp], warps: int, target: Target) -> int:
    """The warps whose threads have at most ``NARROW_LOADS`` loads of single elements each, where those of ``warps`` would have more;
    twice as many stay where few CTAs saturate DRAM: more warps gain less than they lose in some grids, by ``estimate`` on sm_80.
    """
    loads = sum(prod(tile_type(op.value).get_shape()) for op in accesses if op.name == POINTER_LOAD) // WARP
    if loads <= (1 if target.sm_limits.has_fast_dram else 2) * NARROW_LOADS * warps:
        return warps
    return min(1 << (-(-loads // NARROW_LOADS) - 1).bit_length(), MAX_WARPS)


def _warps_of_live_elements(func: TableOp, job: Job) -> int | None:
    """More warps for a kernel of element-wise operations whose threads would have more values live at once than an SM has registers for
    with ``ELEMENTWISE_WARPS``; None where they have not.
    """
    operations, usual = walk(func), choose_warps(func, job)
    if job.opt_level == 0 or not EXCHANGES.isdisjoint(op.name for op in operations):
        return None
    blocks = dict.fromkeys(parent_block(op) for op in operations if any(map(is_tile, op.results)) or op.name in STORES)
    words = max((peak_of_block(block, job.target, counts_inner=False) for block in blocks), default=0)
    available, warps = registers_at_launch(ELEMENTWISE_WARPS, job.target), usual
    while warps < MAX_WARPS and row_registers(words, warps) > available:
        warps *= 2
    return warps if warps > usual else None


def _rows(dot: TableOp) -> int:
    return dot.result.type.get_shape()[-2]


def _loop_registers(func: TableOp, job: Job) -> int:
    family = _family_that_fits(func, job)
    parts = max((family.partial_registers(dot, job) for dot in dots_in(func) if is_in_counted_loop(dot)), default=0)
    live = live_tile_registers(func, family, lambda dot: family.lhs_stays_in_smem(dot, job))
    return live + parts * WARP * choose_warps(func, job)


def _family_that_fits(func: TableOp, job: Job) -> MmaFamily:
    """The fastest family, if shared memory has two stages of what each iteration puts there for a dot; else one that reads registers."""
    dots = filter(is_in_counted_loop, dots_in(func))
    is_first = all(two_stages_fit(_bytes_of_iteration(dot), job) for dot in dots)
    return next(one for one in families_of(job.target) if is_first or Storage.REGISTERS in one.b_storage)


def _bytes_of_iteration(dot: TableOp) -> int:
    staged = [index for index in (0, 1) if not is_invariant(dot, index)]
    if is_computed_by_dot(dot.lhs, parent_block(dot)):
        staged.remove(0)
    return sum(stored_bytes(dot, index) for index in staged)


# ---- afterwards --------------------------------------------------------------------------------
def limits_of(func: TableOp, ctas: int, job: Job, spare: int = 0) -> Limit | None:
    """Why an SM does not hold so many CTAs of a finished kernel, with ``spare`` bytes less; None where it does."""
    if (refused := _thread_limit(func.num_warps + (func.producer_warps or 0), ctas, job)) is not None:
        return refused
    used, available = (func.shared_bytes or 0) - spare, job.target.shared_memory_of(ctas) if ctas > 1 else None
    if available is not None and used > available:
        return Limit(Resource.SHARED, f"a CTA uses {used} bytes, and has {available} with {ctas} CTAs per SM")
    return None


def spare_stage_bytes(func: TableOp) -> int:
    """The shared memory of all stages above the fewest that overlap, but for their barriers."""
    rings = (as_op(op) for op in walk(func) if op.name == "nv_tileas.alloc_tensor")
    types = [ring.result.type for ring in rings if ring.over is None]
    spare = sum(type.stage_bytes * max(0, type.stages.data - MIN_STAGES) for type in types)
    return max(0, spare - STAGES_SMEM_OVERHEAD)


def _thread_limit(warps: int, ctas: int, job: Job) -> Limit | None:
    """Why an SM does not hold the threads of so many CTAs."""
    limits, threads = job.target.sm_limits, ctas * warps * WARP
    if ctas <= limits.ctas and threads <= limits.threads:
        return None
    text = f"an SM has {limits.threads} and at most {limits.ctas} CTAs, {ctas} CTAs have {threads}"
    return Limit(Resource.THREADS, text)
