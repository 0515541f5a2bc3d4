"""Load what a loop gathers for its MMAs, small tiles of views, rows that a loop reduces, indices, and lengths of inner loops, an iteration ahead,
to registers.

In:    counted loops of dots, which threads or tensor memory accumulate; of a kernel without dots, loops over rows,
       loops that load indices of elements which they also write, and those that compute for as long as a load of few elements takes. Loops that
       load single elements before inner loops of MMAs.
Out:   the same loops; each iteration loads the tiles of a later one, as far as threads have registers for them, and do not compute addresses
       for as long as a load takes, but none past the loop's end, and the loop carries those in between. The first ones are loaded before the loop.
After: specialize_warps, software_pipeline_loads (other loads have their copies). Before: hoist_bounds_checks,
       allocate_shared_memory.
Sound: no token orders such a load after a write, so it may run earlier; a write that follows it still does. Addresses and masks
       are pure functions of the loop's index, of what it carries, and of values from outside; none divides.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from math import inf

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import as_op, terminator, tile_size, tile_type, unwrap
from ...ir.dialects.cute import layout_of
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_async_mma, is_counted_loop, is_loop, is_view_like
from ...target.gpu_rates import SM_PARTITIONS
from ...target.sm_limits import WARP
from ..analysis.access_vectorization import pointer_vector
from ..analysis.axis_info import AxisAnalysis
from ..analysis.copied_operands import follows_no_write_in
from ..analysis.dot_loop_registers import tile_registers
from ..analysis.enclosing_control_flow import has_no_early_exit, is_grid_wait
from ..analysis.integer_ranges import BoundsCheck
from ..analysis.op_queries import (
    DOT,
    LOADS,
    POINTER_LOAD,
    REDUCE,
    TILED_LOAD,
    has_dots,
    is_tile,
    operations_behind,
)
from ..analysis.peak_registers import BROADCAST, peak_of_block
from ..analysis.resource_model import (
    exceeds_registers_of_partition,
    has_rows_in_loop,
    is_program_dependent,
    reduces_only,
    registers_at_launch,
    row_registers,
)
from ..analysis.row_registers import row_words
from ..common.llvm_element_types import element_of
from ..common.optimization_hints import hint, occupancy
from ..job import Job
from ..pass_manager import EdgePass
from ..schedule.cost import default_gpu
from .op_insertion import insert_before, insertion_before
from .software_pipelining.loads_to_registers import (
    MAX_REGISTERS_OF_VIEWS,
    TWO_VERSIONS,
    disabling_dim,
    may_load_next_iteration,
    may_run_ahead,
)
from .software_pipelining.loop_continuation import LoopContinuation
from .software_pipelining.loop_iteration import LoopIteration, before_first_trip, replace_loop
from .software_pipelining.own_stages import is_same_for_all, loads_of_iteration
from .subtile_indices import bounds_checks_of

CreateTokenOp, SplatOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("create_mem_token", "splat"))
DISTANCE = 1  # iterations
WORD_BITS = 32
MAX_ELEMENTS_OF_ROWS = 16  # of a thread, of all tiles of views that a loop over rows loads ahead: each has a register
# The same where the hint of the loads expects that much traffic of DRAM (of 10), which fewer CTAs with more bytes in flight keep busy.
MAX_ELEMENTS_OF_HEAVY_ROWS, HEAVY_TRAFFIC = 64, 8


class PrefetchGatheredTiles(EdgePass):
    """Gathered tiles loaded ahead to registers."""

    name = "tileas-prefetch-gathered-tiles"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        operations = walk(func)
        is_without_dots = job.opt_level != 0 and not has_dots(func)
        has_rows = is_without_dots and reduces_only(operations) and has_rows_in_loop(func, operations)
        for loop in [op for op in operations if is_counted_loop(op) and has_no_early_exit(op)]:
            block = loop.regions[0].blocks[0]
            multiplies = any(map(_multiplies, block.ops))
            if not (multiplies or is_without_dots) or any(map(is_grid_wait, walk(loop))):
                continue
            loads = [as_op(op) for op in block.ops if op.name in LOADS and may_run_ahead(as_op(op), block, multiplies)]
            rows = _of_rows(func, loop, loads, job) if has_rows else []
            chosen = _beside_mmas(func, loop, loads, job) if multiplies else rows or _of_others(func, loop, loads, job)
            if chosen:
                _Prefetch(loop, chosen).run()


def _multiplies(op: Operation) -> bool:
    return op.name == DOT or is_async_mma(op)


def _beside_mmas(func: TableOp, loop: TableOp, loads: list[TableOp], job: Job) -> list[TableOp]:
    """The loads of a loop of MMAs that run ahead: small ones, as of scales, and others as far as threads have registers for them,
    each element in one, beside what is live there. Not those whose addresses take as long as a load: the first ones arrive meanwhile.
    Where threads multiply, not parts of words either: a loop carries each in a register, and they pack and unpack them in between.
    """
    block = loop.regions[0].blocks[0]
    least_bits = 0 if any(map(is_async_mma, block.ops)) else WORD_BITS
    words, found, latency = peak_of_block(block, job.target), list[TableOp](), _latency(job)
    for load in loads:
        is_part = element_of(load.value.type).bits < least_bits
        if is_part or _issue_clocks(load, block, func.num_warps) >= latency:
            continue
        elements = layout_of(load.value).num_registers
        words += WARP * func.num_warps * elements
        if elements <= MAX_REGISTERS_OF_VIEWS or not exceeds_registers_of_partition(words, func, job):
            found.append(load)
    return found


def _latency(job: Job) -> float:
    """Clocks of a load from L2; of any load for targets without published ones."""
    gpu = default_gpu(job.target)
    return inf if gpu is None else gpu.l2_latency


def _issue_clocks(load: TableOp, block: Block, warps: int) -> float:
    """Clocks in which the warps of a partition issue a load by pointers, and compute the addresses and masks of its accesses in the block."""
    if load.name != POINTER_LOAD or not is_tile(load.value):
        return 0.0
    registers = layout_of(load.value).num_registers
    behind = operations_behind([load.pointer, *([] if load.mask is None else [load.mask])], block)
    own = sum(any(map(_is_tile_of(registers), op.results)) and not _moves_nothing(op) for op in behind)
    return (1 + own) * registers / pointer_vector(load, AxisAnalysis())[0] * warps / SM_PARTITIONS


def _is_tile_of(registers: int) -> Callable[[SSAValue], bool]:
    """Whether a thread holds so many elements of a value."""
    return lambda value: is_tile(value) and layout_of(value).num_registers == registers


def _moves_nothing(op: Operation) -> bool:
    """Whether each element of an operation's result is one of its operand, in the same register."""
    return is_view_like(op) or op.name in (BROADCAST, SplatOp.name)


def _of_rows(func: TableOp, loop: TableOp, loads: list[TableOp], job: Job) -> list[TableOp]:
    """The loads of a loop over rows that reduces them, if threads have registers for the next row, too. None where a thread waits for
    another load before it reduces, as of rows that it stores to: those ahead would hide none of its latency, and take registers.
    """
    block = loop.regions[0].blocks[0]
    rows = [load for load in loads if load.name == POINTER_LOAD] + _of_views(loads, block, job)
    if not any(op.name == REDUCE for op in block.ops) or not is_program_dependent(loop.operands[0]):
        return []
    if any(load not in rows for load in _loads_of_reduced(block)):
        return []
    words = row_words(func) + sum(tile_registers(load.value) for load in rows if is_tile(load.value))
    held = registers_at_launch(func.num_warps * (occupancy(func, job) or 1), job.target)
    return rows if row_registers(words, func.num_warps) <= held else []


def _of_others(func: TableOp, loop: TableOp, loads: list[TableOp], job: Job) -> list[TableOp]:
    """The loads of another loop without dots that run ahead."""
    block = loop.regions[0].blocks[0]
    return _of_indices(block, loads) or _beside_inner_loops(block, loads) or _of_steps(func, loop, loads, job)


def _of_indices(block: Block, loads: list[TableOp]) -> list[TableOp]:
    """The loads from which a load has its addresses that a token orders after writes of earlier iterations: it cannot run ahead of them, and
    a thread would wait for both, one after the other.
    """
    by_pointers = [as_op(op) for op in block.ops if op.name == POINTER_LOAD]
    ordered = (load.pointer for load in by_pointers if not follows_no_write_in(block, load.token))
    needed = operations_behind(ordered, block)
    return [load for load in loads if load.name == POINTER_LOAD and load in needed]


def _beside_inner_loops(block: Block, loads: list[TableOp]) -> list[TableOp]:
    """The loads of single elements, as of a sequence's length, in a loop whose iterations have a loop of MMAs each: a thread would wait for
    them before it can load tiles, and has a register for each.
    """
    if not any(is_loop(op) and any(map(is_async_mma, walk(op))) for op in walk(block)):
        return []
    single = [load for load in loads if is_tile(load.value) and tile_size(load.value) == 1]
    return single if len(single) <= MAX_REGISTERS_OF_VIEWS else []


def _of_steps(func: TableOp, loop: TableOp, loads: list[TableOp], job: Job) -> list[TableOp]:
    """The loads of a loop whose iteration computes for as long as they take, with the single elements beside them."""
    if any(map(is_async_mma, walk(func))):
        return []
    needed = loads_of_iteration(loop.regions[0].blocks[0])
    return loads if may_load_next_iteration(loop, needed, func, job) else []


def _loads_of_reduced(block: Block) -> list[TableOp]:
    """The loads of tiles before the first reduction of a block, each iteration its own."""
    before = takewhile(lambda op: op.name != REDUCE, block.ops)
    loads = [as_op(op) for op in before if op.name in LOADS and is_tile(op.results[0])]
    return [load for load in loads if not is_same_for_all(load, block)]


def _of_views(loads: list[TableOp], block: Block, job: Job) -> list[TableOp]:
    """The loads of views that a loop over rows may do ahead; none where a thread would carry many elements, which leave registers for
    fewer CTAs. Tiles with two versions would be loaded in branches, where a thread waits for them.
    """
    tiles = [load for load in loads if load.name == TILED_LOAD and not TWO_VERSIONS & load.attributes.keys()]
    tiles = [load for load in tiles if not is_same_for_all(load, block)]
    carried = sum(layout_of(load.value).num_registers for load in tiles)
    heavy = all((hint(load, job, "latency") or 0) >= HEAVY_TRAFFIC for load in tiles)
    return tiles if carried <= (MAX_ELEMENTS_OF_HEAVY_ROWS if heavy else MAX_ELEMENTS_OF_ROWS) else []


class _Prefetch:
    """Replaces a loop by one that loads its gathered tiles ahead."""

    def __init__(self, loop: TableOp, loads: list[TableOp]):
        self.loop, self.loads = loop, loads
        self.block = loop.regions[0].blocks[0]
        self.before = insertion_before(loop)

    def run(self) -> None:
        first, going = self._prologue()
        runs = LoopContinuation.of(self.loop, DISTANCE, going, self.before)
        carried = [[self.block.insert_arg(tile.type, len(self.block.args)) for tile in tiles] for tiles in first]
        insert = insertion_before(unwrap(self.block.first_op))
        iteration = LoopIteration(self.block, list(self.block.args), insert, self.loop.step)
        enabled = runs.at(iteration.index(DISTANCE), insert)
        following = [_load(iteration, load, DISTANCE, enabled) for load in self.loads]
        for load, tiles in zip(self.loads, carried, strict=True):
            _replace_load(load, tiles[0])
        last = terminator(self.block)
        shifted = [tile for tiles, new in zip(carried, following, strict=True) for tile in (*tiles[1:], new)]
        last.operands = [*last.operands, *shifted, *runs.next_values]
        replace_loop(self.loop, [*(tile for tiles in first for tile in tiles), *runs.initial])

    def _prologue(self) -> tuple[list[list[SSAValue]], SSAValue]:
        """The tiles of the first iterations, by load; whether the loop has more trips than those."""
        tiles: list[list[SSAValue]] = []

        def issue(iteration: LoopIteration, distance: int, enabled: SSAValue) -> None:
            tiles.append([_load(iteration, load, distance, enabled) for load in self.loads])

        going = before_first_trip(self.loop, DISTANCE, self.before, issue)
        return list(map(list, zip(*tiles, strict=True))), going


def _load(iteration: LoopIteration, load: TableOp, distance: int, enabled: SSAValue) -> SSAValue:
    """The tile of a later iteration, if there is one."""
    return (_load_of_view if load.name == TILED_LOAD else _load_of_pointers)(iteration, load, distance, enabled)


def _load_of_view(iteration: LoopIteration, load: TableOp, distance: int, enabled: SSAValue) -> SSAValue:
    """The tile; one out of bounds, which no thread reads, where there is no such iteration."""
    insert, dim = iteration.insert, unwrap(disabling_dim(load))
    coords = [iteration.at(coord, distance) for coord in load.coords]
    outside = insert.constant(-1, coords[dim].type)
    coords[dim] = insert.select(enabled, coords[dim], outside)
    ahead = load.make(
        [iteration.at(load.view, distance), coords, None],
        [result.type for result in load.results],
        dict(load.attributes),
    )
    ahead.index_checks = [
        BoundsCheck.ANY if index == dim else check for index, check in enumerate(bounds_checks_of(load))
    ]
    return insert(ahead)


def _load_of_pointers(iteration: LoopIteration, load: TableOp, distance: int, enabled: SSAValue) -> SSAValue:
    pointer, other = (
        iteration.at(load.pointer, distance),
        None if load.other is None else iteration.at(load.other, distance),
    )
    mask = enabled
    if is_tile(pointer):
        type = TensorType(i1, tile_type(pointer).get_shape(), tile_type(pointer).encoding)
        mask = iteration.insert(SplatOp.make([enabled], [type]))
    if load.mask is not None:
        mask = iteration.insert.binary("and", iteration.at(load.mask, distance), mask)
    results = [result.type for result in load.results]
    return iteration.insert(as_op(load).make([pointer, mask, other, None], results, dict(load.attributes)))


def _replace_load(load: TableOp, tile: SSAValue) -> None:
    """Use a tile that was loaded before. What a token orders after its load comes after that."""
    load.value.replace_all_uses_with(tile)
    if load.result_token is not None and list(load.result_token.uses):
        token = load.token or insert_before(CreateTokenOp.make([], [load.result_token.type]), load)
        load.result_token.replace_all_uses_with(token)
    load.detach()
    load.erase()
