"""Store result tiles by TMA if they would go through shared memory anyway.

In:    tiled_stores with layouts, in kernels whose partitions load by TMA, and whose stores tokens order within a CTA at most.
Out:   async.tiled_tma_store for each store that satisfies all RULES: threads write the tile from its computed layout to
       shared memory, and one thread copies it from there. ``async.tma_store_wait`` before operations that a token
       orders after such a store (except the same store of another tile, across iterations), and, until shared memory is
       read, at the end of the consumer partition and before its returns.
After: specialize_warps (the kernel has tensor maps), software_pipeline_loads (no later pass moves loads across stores).
Before: allocate_shared_memory (it places the tiles, and waits before their bytes are reused).
Sound: TMA, like a store to a view, writes no element outside the extents of the memory reference. If a token orders an
       access after the store, the thread that issued the copies waits until they are written, then all threads
       synchronize. Copies by cp.async have no token to wait at, so a store before copies that a token ordered after a write stays with the threads.
       Accesses that must precede the store complete before the barrier of the store; a proxy fence follows
       it, for all memory (``after_accesses``) if these accesses are not TMA copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation

from ...ir.casting import as_op, parent_block, terminator, unwrap
from ...ir.dialects.cute import layout_of
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import (
    AsyncTiledTmaStoreOp,
    AsyncTmaStoreWaitOp,
    BarrierOp,
)
from ...ir.dialects.nv_tileas.scheduling_attributes import ST_SHARED, STMATRIX
from ...ir.dialects.op_definition import TableOp, location_of
from ...ir.dialects.op_traits import (
    is_agent_switch,
    is_return,
    is_token_ordered,
)
from ...ir.layouts import MatrixAccess, SharedAccess, SharedRoundTrip, TileChunks, tile_chunks
from ..analysis.axis_info import AxisAnalysis
from ..analysis.buffer_liveness import LiveRange
from ..analysis.convert_layout_op_plans import conversion_plan
from ..analysis.disjoint_stages import buffers_bytes
from ..analysis.disjoint_stores import iterations_store_disjoint_tiles
from ..analysis.enclosing_control_flow import enclosing_loops
from ..analysis.kernel_lifetime_storage import lifetime_storage_bytes
from ..analysis.op_queries import ASYNC_COPIES
from ..analysis.scalar_slice import accesses_after, may_depend_on
from ..analysis.scratch_memory_sizes import (
    STAGE_ALIGNMENT,
    align_to_banks,
    chunk_limit,
    max_chunk_bytes,
)
from ..analysis.tma_tensor_maps import TensorBox, tensor_box
from ..common.llvm_element_types import element_of
from ..common.optimization_hints import hint
from ..job import Job
from ..pass_manager import EdgePass
from .tma_descriptors import descriptor_of, hoist_map

STORE, CONVERSION = "nv_tileas.tiled_store", "nv_tileas.convert_layout"
MAX_SLOTS = 2  # chunks of a tile in shared memory at once: one is written while the other is copied


class UseTmaStores(EdgePass):
    """Stores of results by TMA."""

    name = "tileas-use-tma-stores"
    knob = "tma_stores"

    def run_on_function(self, func: TableOp, job: Job) -> bool:
        entry = func.regions[0].blocks[0]
        switch = next((op for op in entry.ops if is_agent_switch(op)), None)
        if switch is None or func.cluster_barriers:
            return False
        stores = [_Store(as_op(op), func, job) for op in walk(switch.regions[-1]) if op.name == STORE]
        chosen = [store for store in stores if all(holds(store) for holds in RULES)]
        new_ops = [_replace_store(store, entry, switch) for store in chosen]
        for store in new_ops:
            if may_depend_on(store.token, _is_ordinary):
                store.after_accesses = True
        _order(new_ops)
        if new_ops:
            computing = switch.regions[-1]
            for end in [*filter(is_return, walk(computing)), terminator(computing.blocks[0])]:
                parent_block(end).insert_op_before(AsyncTmaStoreWaitOp.make([], [], read=True), end)
        return bool(new_ops)


# ---- which stores ----------------------------------------------------------------------------------
@dataclass(eq=False)
class _Store:
    """A tiled_store of a kernel with partitions."""

    op: TableOp
    func: Operation
    job: Job

    @cached_property
    def alone(self) -> TableOp | None:
        """The convert_layout that only this store uses."""
        new_op = self.op.value.owner
        alone = isinstance(new_op, Operation) and new_op.name == CONVERSION and len(list(self.op.value.uses)) == 1
        return as_op(new_op) if alone and len(new_op.results) == 1 else None

    @property
    def conversion(self) -> TableOp:
        return unwrap(self.alone)

    @cached_property
    def round_trip(self) -> SharedRoundTrip | None:
        """The conversion of the tile through shared memory that the TMA store replaces."""
        if self.alone is None:
            return None
        layouts = (layout_of(value) for value in (self.conversion.operands[0], self.op.value))
        before, after = layouts
        element, most = element_of(self.op.value.type), max_chunk_bytes(self.conversion, chunk_limit(self.func))
        plan = conversion_plan(self.job.target, before, after, element, most)
        return plan if isinstance(plan, SharedRoundTrip) else None

    @property
    def smem_round_trip(self) -> SharedRoundTrip:
        return unwrap(self.round_trip)

    @cached_property
    def chunk_index_bits(self) -> TensorBox | None:
        """The layout of the tile in the box of TMA."""
        return tensor_box(self.op, [], AxisAnalysis())

    @property
    def box(self) -> TensorBox:
        return unwrap(self.chunk_index_bits)

    @cached_property
    def division(self) -> tuple[int, int, TileChunks] | None:
        """(chunks of the tile, chunks in shared memory at once, the atom that writes registers there).

        The tile is stored whole if it fits, else two chunks at a time, else one.
        """
        layout, box = layout_of(self.conversion.operands[0]), self.box
        matrices = self.job.target.has("stmatrix")
        for count, slots in sorted(self._divisions(), key=lambda found: (found[1] < min(MAX_SLOTS, found[0]), found)):
            if (parts := tile_chunks(layout, box.placement, count, box.elements, matrices)) is not None:
                return count, slots, parts
        return None

    @property
    def chunks(self) -> tuple[int, int, TileChunks]:
        return unwrap(self.division)

    def _divisions(self) -> Iterator[tuple[int, int]]:
        """(chunks, how many of them fit at once) where boxes and the swizzle allow."""
        whole = self.box.tile_bytes
        for count in (1 << bit for bit in range((self.box.placement.size // self.box.elements).bit_length())):
            slots = min(self.available_bytes * count // whole, MAX_SLOTS, count)
            if slots and whole // count % STAGE_ALIGNMENT == 0:
                yield count, slots

    @property
    def available_bytes(self) -> int:
        """Bytes of shared memory that cost neither stages nor another CTA on the SM.

        These are the bytes of the conversion, the bytes of drained rings, and what rings leave of a CTA's share of the
        SM; never more than a CTA has.
        """
        rings = [as_op(op) for op in walk(self.func) if op.name == "nv_tileas.alloc_tensor"]
        target, beside = self.job.target, lifetime_storage_bytes(self.func)
        whole = buffers_bytes(rings, target.max_shared_memory - beside)
        most, ctas = target.max_shared_memory, target.ctas_with(whole + beside, target.sm_limits.ctas)
        total = target.shared_memory_of(ctas) - beside
        filled = whole if any(LiveRange.of(ring).covers(self.op) for ring in rings) else 0
        converted = min(align_to_banks(self.smem_round_trip.scratch_bytes), most - beside - filled)
        return max(converted, total - filled)

    @property
    def instructions(self) -> int:
        """Instructions of a thread that move the tile without TMA: to shared memory, back, and to global memory."""
        registers = layout_of(self.op.value).num_registers
        elsewhere = registers if self.op.has_boundary_tile else 0
        wide = registers // self.op.vector
        return sum(move.num_instructions for move in self._copies) + wide + elsewhere

    @property
    def cycles(self) -> int:
        """Shared-memory cycles of a warp without TMA."""
        return sum(move.wavefronts for move in self._copies)

    @property
    def _copies(self) -> list[SharedAccess | MatrixAccess]:
        return [move for part in self.smem_round_trip.passes for move in (part.store, part.load)]


def _is_plain(store: _Store) -> bool:
    """A weak store, which may use TMA, of a tile whose elements TMA can address."""
    weak = store.op.mem_semantic == "weak"
    return weak and hint(store.op, store.job, "allow_tma") != 0 and all(coord.type == i32 for coord in store.op.coords)


def _is_profitable(store: _Store) -> bool:
    """Whether a TMA store has no bank conflicts, and no more instructions or shared-memory cycles than what it
    replaces.
    """
    moves = store.chunks[-1].copies
    instructions, cycles = (
        sum(getattr(move, attribute) for move in moves) for attribute in ("num_instructions", "wavefronts")
    )
    return (instructions <= store.instructions or cycles <= store.cycles) and all(move.conflicts == 1 for move in moves)


def _is_before_no_copies(store: _Store) -> bool:
    """Whether no copy by cp.async that a token ordered after a write may follow a store."""
    ops, loops = list(walk(store.func)), enclosing_loops(store.op)
    behind = [*ops[ops.index(store.op) :], *(walk(loops[0]) if loops else ())]
    return not any(op.name in ASYNC_COPIES and as_op(op).after_write for op in behind)


# Conditions for a TMA store, cheapest first; a rule may rely on those before it.
RULES: tuple[Callable[[_Store], bool], ...] = (
    _is_plain,
    lambda store: store.round_trip is not None,
    lambda store: store.chunk_index_bits is not None,
    lambda store: store.division is not None,
    _is_profitable,
    _is_before_no_copies,
)


# ---- rewriting -------------------------------------------------------------------------------------
def _replace_store(store: _Store, entry: Block, switch: Operation) -> TableOp:
    """Replace a layout conversion and a store by a TMA store."""
    op, conversion, box = store.op, store.conversion, store.box
    hoist_map(op.view, entry)
    descriptor = descriptor_of(op.view, box, entry, switch)
    parts, slots, moved = store.chunks
    atom = STMATRIX if isinstance(moved.copies[0], MatrixAccess) else ST_SHARED
    operands = [op.view, descriptor, conversion.operands[0], op.coords, op.token]
    types, location = [op.result_token.type], location_of(op)
    new_store = AsyncTiledTmaStoreOp.make(
        operands,
        types,
        location,
        placement=box.placement,
        chunks=parts,
        slots=slots,
        copy_atom=atom,
        index_checks=op.index_checks,
    )
    parent_block(op).insert_op_before(new_store, op)
    op.result_token.replace_all_uses_with(new_store.result_token)
    for gone in (op, conversion):
        gone.detach()
        gone.erase()
    return new_store


def _is_ordinary(op: Operation) -> bool:
    """Whether an operation accesses or orders global memory other than by TMA. TMA copies need a wider fence to see
    that.
    """
    return is_token_ordered(op) and not isinstance(op, AsyncTiledTmaStoreOp)


# ---- ordering of later operations ------------------------------------------------------------------
def _order(stores: list[TableOp]) -> None:
    """Before each operation that a token orders after a store: wait until TMA has written, and synchronize."""
    for op in {op for store in stores for op in accesses_after(store.result_token) if _must_wait_for_store(op, store)}:
        place = op.prev_op
        if place is None or place.name != BarrierOp.name:
            place = BarrierOp.make([], [])
            parent_block(op).insert_op_before(place, op)
        parent_block(place).insert_op_before(AsyncTmaStoreWaitOp.make([], []), place)


def _must_wait_for_store(op: Operation, store: TableOp) -> bool:
    """Whether an operation may access elements of a store that a token orders before it."""
    return op is not store or not iterations_store_disjoint_tiles(store)
