"""Select the MMA instruction of each dot, and the tiles that TMA loads.

In:    nv_tileas dots without layouts.
Out:   ``tma`` on the tiled_loads that TMA performs ahead of time, ``swizzle`` where their placement in shared memory
       differs from the default; ``mma`` on the dots that read these tiles there, a row of the target, with the
       attributes of its family (``mma/<family>/family.py``). Of these, dots in no counted loop
       are in a loop of one trip (``one_trip_loops.py``). Other dots get their instruction with their layouts.
       Chained dots whose accumulators stay in tensor memory (``schedule/tmem_chains.py``) have ``rescaled`` on the second one: its
       left operand overwrites the accumulator of the first one after it was read, and each iteration rescales its accumulator.
       ``stationary`` on the first one: its left operand is loaded before the loop and stays in shared memory.
After: legalize_dot (operand types are final). Before: assign_layouts (accumulators have the layouts of their
       instruction), specialize_warps (which builds the pipelines).
Sound: a load may run ahead of the program if its coordinates and the control flow around it depend on scalars alone
       (``scalar_slice.py``), if no token orders it after a write or an acquire, and if the dot, which waits for the tile,
       comes before all writes that a token orders after the load. Rescaling by 1 is exact. A thread overwrites only the scores of its own
       row, which it already holds in registers; the MMAs of one thread (``mma_issuer.py``) execute in the order of issue, so the next
       scores are written after the dot that reads what they overwrite. Each tile of 128 rows has columns of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ...ir.casting import as_op, parent_block, tile_type, unwrap
from ...ir.dialects.op_definition import TableOp
from ..analysis.axis_info import AxisAnalysis
from ..analysis.chained_dots import is_computed_by_dot
from ..analysis.copied_operands import copyable_operands, has_other_readers, leaves_columns, written_operands
from ..analysis.dot_operand_chains import dot_operand_load
from ..analysis.enclosing_control_flow import enclosing_kernel, is_in_counted_loop, only_accumulates
from ..analysis.op_queries import LOADS, dots_in, has_dots
from ..analysis.resource_model import MIN_WARPS, choose_warps, two_stages_fit
from ..analysis.stored_operands import (
    MATRIX_BITS,
    is_computed_from_gather,
    is_computed_from_loads,
    is_gather,
    is_invariant,
    loads_of_same_tile,
    shares_stages,
    source_loads,
    stored_bytes,
    tile_bytes,
)
from ..analysis.tma_operands import (
    TmaOperand,
    is_prefetchable_once,
    may_prefetch_in_loop,
    tile_key,
    tma_loads_allowed,
    tma_operand,
    with_tma_box,
)
from ..analysis.transposed_loads import loads_across_k, may_transpose
from ..common.llvm_element_types import element_of
from ..job import Job
from ..mma.family import MmaFamily, Storage, family_of, fastest_family
from ..mma.smem_operands import load_by_tma
from ..pass_manager import EdgePass
from ..schedule.mma_choice import families_for
from ..schedule.shared_memory import tma_limit
from ..schedule.tmem_chains import choose_chains
from .halve_written_rhs import halve_written_rhs
from .one_trip_loops import OneTripLoop
from .shared_memory_of_dots import all_stages_fit, leaves_shared_memory, stages_fit

LARGEST_SHARE = 8  # tiles of at most 1/8 of a computed operand's bytes, as scales are, may be loaded by threads
WORD_BITS, LINE_WORDS = 32, 32  # of a line of swizzled shared memory, whose banks several lanes write at once


class SelectMmaAndTma(EdgePass):
    """TMA loads, and wgmma or tcgen05 instructions."""

    name = "tileas-select-mma-and-tma"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        if not job.target.has("tma") or not has_dots(func):
            return
        if chains := choose_chains(func, job):
            for dot, boxes in (pair for chain in chains for pair in zip(chain.pair, unwrap(chain.boxes), strict=True)):
                _select_chained(dot, boxes, job)
            for chain in chains:
                chain.dots.first.stationary = chain.dots.last.rescaled = True
        elif (warps := choose_warps(func, job)) >= MIN_WARPS:
            _select(func, job, warps)


def _select_chained(dot: TableOp, boxes: Mapping[int, TmaOperand], job: Job) -> None:
    """Select the fastest instruction for a dot whose operands TMA puts into these boxes."""
    dot.mma = unwrap(fastest_family(job.target).row_for(dot, job.target)).name
    for operand in boxes.values():
        load_by_tma(operand)


def _select(func: TableOp, job: Job, warps: int) -> None:
    has_producer = tma_loads_allowed(func)
    for place, op in enumerate(dots_in(func)):
        families = families_for(place, job)
        if has_producer and may_prefetch_in_loop(op):
            _select_mma(op, families, job, warps)
        elif is_in_counted_loop(op):
            _select_copies(op, families, job, warps)
        elif has_producer and is_prefetchable_once(op) and (fastest := fastest_family(job.target)) in families:
            loop = OneTripLoop.around(op)
            selected = tma_limit(func, job) is None and _select_mma(op, [fastest], job, warps)
            loop.keep() if selected else loop.undo()
    for op in dots_in(func):
        for index in (0, 1):
            _share_with_threads(op, index, job)
        if op.mma is not None:
            family_of(op).keep_lhs_in_smem(op, job)
            family_of(op).choose_row_sharing(op, warps)
    used = {family_of(op) for op in dots_in(func) if op.mma is not None}
    if len(used) == 1:
        used.pop().share_sm(as_op(func), job, warps)


def _share_with_threads(op: TableOp, index: int, job: Job) -> None:
    """Let threads that load the tile of an operand, too, read it from the stage of the dot, or else pass on what they load."""
    found = dot_operand_load(op, index)
    if found is None:
        return
    load, _ = found
    others = [one for one in loads_of_same_tile(load, op) if has_other_readers(one.value)]
    if load.tma and not load.read_by_threads:
        for other in others if shares_stages(op) else ():
            _read_from_stage(other, load, job)
    elif others and others[0].token is load.token and not list(load.result_token.uses):
        others[0].tma, others[0].read_by_threads = load.tma, load.read_by_threads
        load.value.replace_all_uses_with(others[0].value)
        load.detach()
        load.erase()


def _read_from_stage(other: TableOp, load: TableOp, job: Job) -> None:
    """Let threads read a tile from where TMA puts it for a dot, if it may load it for both."""
    analysis, before = AxisAnalysis(), other.swizzle
    other.swizzle = load.swizzle
    found, wanted = (with_tma_box(one, [], job, analysis) for one in (other, load))
    if found is not None and wanted is not None and found[2] == wanted[2]:
        other.tma = other.read_by_threads = True
    else:
        other.swizzle = before


def _select_mma(op: TableOp, families: Sequence[MmaFamily], job: Job, warps: int) -> bool:
    """Select the fastest instruction that reads the operands where TMA puts them, or where threads may write them; return
    whether there is one.
    """
    analysis = AxisAnalysis()
    loaded = {index: found for index in (0, 1) if (found := tma_operand(op, index, job, analysis)) is not None}
    for family in families:
        read = _select_in_family(family, op, loaded, job, warps)
        if read is not None:
            for operand in read.values():
                load_by_tma(operand)
            return True
    return False


def _select_copies(op: TableOp, families: Sequence[MmaFamily], job: Job, warps: int) -> None:
    """Select the fastest instruction for which threads copy both operands to shared memory, or write what they compute, as no producer can
    follow the program.
    """
    tried = [(one, way) for one in families if one.async_ops is not None for way in (_select_copied, _select_written)]
    _ = any(way(one, op, {}, job, warps) is not None for one, way in tried)


def _select_in_family(
    family: MmaFamily, op: TableOp, loaded: Mapping[int, TmaOperand], job: Job, warps: int
) -> Mapping[int, TmaOperand] | None:
    """The loaded operands that an instruction of a family reads, if it has one. A left operand that is computed from other tiles
    may come from registers, but then the instruction waits for each of them; it does in any case where it does more than accumulate.
    """
    ways = [_select_loaded] if family.async_ops is None else [_select_copied, _select_loaded, _select_stored]
    if (
        _computes_left(op, loaded)
        and not _reads_left_from_stages(family, op)
        or 0 not in loaded
        and as_op(enclosing_kernel(op)).num_ctas is not None
    ):
        ways[1:] = reversed(ways[1:])
    if family.async_ops is not None:
        ways.append(_select_written)
    either = [one for one in (family, family.freeing_columns) if one is not None]
    tried = [(one, select) for one in either for select in ways]
    if _may_be_behind(op, job):
        tried.sort(key=lambda pair: ways.index(pair[1]))
    found = (select(one, op, loaded, job, warps) for one, select in tried)
    return next((read for read in found if read is not None), None)


def _may_be_behind(op: TableOp, job: Job) -> bool:
    """Whether a dot may run an iteration behind the others of its loop (``rotate_mma_loop.py``), if threads write no operand to shared memory:
    its left operand alone is computed from theirs, and there are two stages beside all left operands from before the loop.
    """
    block = parent_block(op)
    dots = [dot for dot in dots_in(enclosing_kernel(op)) if dot.parent is block]
    others = [dot for dot in dots if dot is not op]
    if not is_in_counted_loop(op) or not only_accumulates(op) or not is_computed_by_dot(op.lhs, block):
        return False
    if op is not dots[-1] or not all(is_invariant(dot, 0) for dot in others):
        return False
    tiles = {
        tile_key(found[0]): stored_bytes(dot, 1) for dot in dots if (found := dot_operand_load(dot, 1)) is not None
    }
    return two_stages_fit(sum(tiles.values()), job, used_bytes=sum(stored_bytes(dot, 0) for dot in others))


def _reads_left_from_stages(family: MmaFamily, op: TableOp) -> bool:
    """Whether threads read all tiles from which they compute a left operand where TMA puts them for other dots, as matrices, and
    wait for the instruction anyway.
    """
    if family.accumulator is Storage.TENSOR or only_accumulates(op) or element_of(op.lhs.type).bits != MATRIX_BITS:
        return False
    if not shares_stages(op):
        return False
    others = ([one for one in loads_of_same_tile(load, op) if one.tma] for load in source_loads(op, 0))
    return all(any(not one.read_by_threads for one in found) for found in others)


def _computes_left(op: TableOp, loaded: Mapping[int, TmaOperand]) -> bool:
    return 0 not in loaded and is_computed_from_loads(op, 0)


def _select_loaded(
    family: MmaFamily, op: TableOp, loaded: Mapping[int, TmaOperand], job: Job, warps: int
) -> Mapping[int, TmaOperand] | None:
    """The loaded operands that an instruction of a family reads where TMA puts them, if it has one."""
    bytes = sum(box.tile_bytes for _, _, box in loaded.values())
    # A right operand may be computed; one that is loaded is loaded, or else nothing is.
    if not loaded or (1 not in loaded and dot_operand_load(op, 1) is not None) or not two_stages_fit(bytes, job):
        return None
    if not leaves_shared_memory(op, bytes, family, job):
        return None
    read = family.select(op, loaded, job, warps)
    if read is not None and family.async_ops is None and op.lhs_scale is None:
        _load_sources(op, read, family, job)
    return read


def _load_sources(op: TableOp, read: Mapping[int, TmaOperand], family: MmaFamily, job: Job) -> None:
    """Let TMA load the tiles from which threads compute the other fragments, too, where a CTA has stages for all."""
    if as_op(enclosing_kernel(op)).num_ctas is not None:
        return
    sources = _sources(op, read, family, job) or []
    bytes = sum(box.tile_bytes for _, _, box in (*read.values(), *sources))
    if sources and two_stages_fit(bytes, job) and leaves_shared_memory(op, bytes, family, job):
        for load, _, _ in sources:
            load.tma = load.read_by_threads = True


def _select_copied(
    family: MmaFamily, op: TableOp, loaded: Mapping[int, TmaOperand], job: Job, warps: int
) -> Mapping[int, TmaOperand] | None:
    """The same where threads copy the operands that TMA does not load to shared memory, as they are: by cp.async, or through
    registers where rows are aligned to less than it copies, or where threads wait for no MMA and shorter copies would take more
    of their instructions. Operands from before the loop are written once, and a left one that follows from other dots is read
    from where these instructions leave it. The CTAs of a cluster copy both, if by cp.async, unless a pair of them computes one MMA.
    """
    if family.async_ops is None or op.lhs_scale is not None or family.row_for(op, job.target) is None:
        return None
    if all(index in loaded for index in (0, 1)):
        return None
    if as_op(enclosing_kernel(op)).num_ctas is None:
        return _select_copied_beside(loaded, family, op, loaded, job, warps)
    if loaded and family.accumulator is Storage.TENSOR:
        read = _select_copied_beside(loaded, family, op, loaded, job, warps)
        if read is not None and op.pair:
            return read
        op.mma = op.stored = op.copied = op.tmem_columns = None
    return _select_copied_beside({}, family, op, loaded, job, warps)


def _select_written(
    family: MmaFamily, op: TableOp, loaded: Mapping[int, TmaOperand], job: Job, warps: int
) -> Mapping[int, TmaOperand] | None:
    """The same where threads also write operands that the loop computes, from other dots or tiles that they load: no instruction has
    such tiles copied ahead.
    """
    if op.lhs_scale is not None or as_op(enclosing_kernel(op)).num_ctas is not None:
        return None
    loads = any(one.name in LOADS for one in parent_block(op).ops)
    if loads and not leaves_columns(parent_block(op), family):
        return None  # no other CTA would run while threads wait for what they load
    if family.row_for(op, job.target) is None:
        return None
    return _select_copied_beside(loaded, family, op, loaded, job, warps, computes=True)


def _select_copied_beside(
    direct: Mapping[int, TmaOperand],
    family: MmaFamily,
    op: TableOp,
    loaded: Mapping[int, TmaOperand],
    job: Job,
    warps: int,
    *,
    computes: bool = False,
) -> Mapping[int, TmaOperand] | None:
    """The same where TMA loads ``direct`` operands, and the loop may compute others (``computes``)."""
    mn_major = family.mn_major(unwrap(family.row_for(op, job.target)))
    if (stored := written_operands(op, direct, computes=computes)) is None:
        return None
    copied = copyable_operands(op, stored, family, mn_major)
    gains = copied if direct is not loaded else [index for index in stored if not is_invariant(op, index)]
    if set(gains) <= loaded.keys():
        return None
    bytes = sum(box.tile_bytes for _, _, box in direct.values())
    bytes += sum(stored_bytes(op, index) * (2 if direct and index in copied else 1) for index in stored)
    if (
        not stages_fit(op, bytes, (*direct, *stored), job)
        or (read := family.select(op, direct, job, warps, stored)) is None
    ):
        return None
    op.copied = copied
    if op.pair:
        halve_written_rhs(op, mn_major)
    return read


def _select_stored(
    family: MmaFamily, op: TableOp, loaded: Mapping[int, TmaOperand], job: Job, warps: int
) -> Mapping[int, TmaOperand] | None:
    """The same where threads write some of the operands to shared memory, from tiles that TMA loads to stages. The threads of each
    CTA of a pair write its rows of the left operand, and half of the columns of the right one.
    """
    clustered = as_op(enclosing_kernel(op)).num_ctas is not None
    if op.lhs_scale is not None and clustered:
        return None
    if (row := family.row_for(op, job.target)) is None:
        return None
    mn_major, may_pair = family.mn_major(row), clustered and family.accumulator is Storage.TENSOR
    tried = list(_stored_ways(op, loaded, family, job))
    for is_pair, (direct, stored, sources) in [
        *((True, way) for way in tried if may_pair),
        *((False, way) for way in tried),
    ]:
        across = [(index, load) for index in stored for load in loads_across_k(op, index, sources, mn_major)]
        # Right operands of few rows are written as fast from the layout that threads load them in.
        computed = loads_across_k(op, 0, sources, mn_major, computed=True) if 0 in stored else []
        others = [(0, load) for load in computed]
        transposed = [load for index, load in (*across, *others) if may_transpose(op, index, load, warps)]
        if any(load not in transposed and not _writes_words(op, index, loaded) for index, load in across):
            continue
        own = [source for source in sources if not _is_loaded_for_others(source[0], op)]
        bytes = sum(box.tile_bytes for _, _, box in (*direct.values(), *own))
        bytes += sum(stored_bytes(op, index) for index in stored if not is_invariant(op, index))
        resident = sum(stored_bytes(op, index) for index in stored if is_invariant(op, index))
        gathered = any(is_computed_from_gather(op, index) for index in stored)
        taken = any(load.read_by_threads for index in stored for load in source_loads(op, index))
        if not (direct or sources or taken or gathered or clustered):
            continue
        if not stages_fit(op, bytes, (*direct, *stored), job, resident):
            continue
        read = family.select(op, direct, job, warps, stored)
        if is_pair and read is not None and not op.pair:
            op.mma = op.stored = op.tmem_columns = None
        elif read is not None:
            if op.pair:
                halve_written_rhs(op, mn_major)
            for load, _, _ in sources:
                load.tma = load.read_by_threads = with_tma_box(load, [], job, AxisAnalysis()) is not None
            for load in transposed:
                load.transposed = True
            return read
    return None


def _stored_ways(
    op: TableOp, loaded: Mapping[int, TmaOperand], family: MmaFamily, job: Job
) -> Iterator[tuple[Mapping[int, TmaOperand], tuple[int, ...], list[TmaOperand]]]:
    """The operands that TMA puts where the instruction reads them, those that threads write, and the tiles that TMA loads for them; only
    those that it loads for other dots, too, where shared memory has no space for more, as the instruction gains several times what
    threads wait for loads of their own.
    """
    for direct, stored in _divisions(op, loaded):
        if (sources := _sources(op, direct, family, job)) is not None:
            yield direct, stored, sources
            if family.accumulator is Storage.TENSOR:
                yield direct, stored, [source for source in sources if _is_loaded_for_others(source[0], op)]


def _is_loaded_for_others(load: TableOp, op: TableOp) -> bool:
    """Whether TMA loads a tile for a dot that was selected before."""
    return shares_stages(op) and any(other.tma for other in loads_of_same_tile(load, op))


def _divisions(
    op: TableOp, loaded: Mapping[int, TmaOperand]
) -> Iterator[tuple[Mapping[int, TmaOperand], tuple[int, ...]]]:
    """The operands that TMA puts where the instruction reads them, and those that threads write."""
    for stored in ((0,), (0, 1), (1,)) if _computes_left(op, loaded) else ((1,), (0,), (0, 1)):
        yield {index: found for index, found in loaded.items() if index not in stored}, stored


def _writes_words(op: TableOp, index: int, loaded: Collection[int]) -> bool:
    """Whether threads may write an operand across the lines of its tiles: by whole words, and not into the same banks where an instruction
    of fragments would read what TMA loads.
    """
    type = tile_type(op.operands[index])
    return element_of(type).bits >= WORD_BITS and (index not in loaded or type.get_shape()[index] <= LINE_WORDS)


def _sources(op: TableOp, direct: Mapping[int, TmaOperand], family: MmaFamily, job: Job) -> list[TmaOperand] | None:
    """The loads by TMA of the tiles from which threads compute the other operands, beside small ones that threads load; None where
    it cannot load one of them: an instruction that reads fragments has operands copied ahead. It takes several times as long as one
    that accumulates in tensor memory, for which threads load those, too, as they do for fragments that they compute. Tiles of few lines
    must not take the space of operands of other dots.
    """
    analysis, boxed = AxisAnalysis(), list[TmaOperand]()
    takes_few_lines = family.async_ops is None or all_stages_fit(op, job)
    for index in (one for one in (0, 1) if one not in direct):
        for load in source_loads(op, index):
            if load.tma or any(load is one for one, _, _ in boxed):
                continue
            if (found := with_tma_box(load, [], job, analysis, for_threads=takes_few_lines)) is not None:
                boxed.append(found)
            elif family.accumulator is Storage.TENSOR or family.async_ops is None or is_gather(load):
                continue
            elif LARGEST_SHARE * tile_bytes(load.value) > stored_bytes(op, index):
                return None
    return boxed
