"""Emits one kernel as the code of one thread: the state that handlers share, and the walk over the kernel's operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Block, Operation

from ....core.errors import TileirasError
from ....ir.casting import int_array_attr, int_attr, parent_block
from ....ir.dialects.cuda_tile.location import source_location
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.op_traits import LayoutTrait, MemoryEffect, traits_of
from ...analysis.accumulator_reads import late_reads
from ...analysis.enclosing_control_flow import enclosing_kernel
from ...analysis.peak_registers import divides_by_shared_elements, divides_each_element, live_registers
from ...job import Job
from ...rewriting.dialect_conversion import RuleTable
from .buffer_offsets import analyze_buffers
from .global_symbols import GlobalSymbols
from .instruction_builder import WARP, InstructionBuilder
from .kernel_memory import KernelMemory
from .loop_frame import LoopFrame
from .op_preconditions import check_operation
from .pipeline_state import PipelineState, TensorMemory
from .register_values import LazyElement, RematerializedValues
from .source_locations import SourceLocations
from .thread_ids import ThreadIds
from .value_map import ValueMap

SPILL, TMEM_STORE = "nv_tileas.spill", "nv_tileas.tmem_store"
# Besides elementwise ones: operations that use a tile's elements one by one in their own block, or only rename them.
LAZY_USERS = frozenset(
    f"nv_tileas.{name}" for name in ("spill", "reload", "reduce", "tiled_store", "view", "broadcast", "permute")
)
# Where elements of accumulators are read at their use: others that use a tile's elements one by one, in uniform control flow.
SLICE_USERS = frozenset(("nv_tileas.async.tiled_tma_store",))
# Registers of a thread to leave free beside an instruction with many registers.
RESERVED_REGISTERS = 20

Handler = Callable[["KernelEmitter", Any], None]


def _accepts_lazy_operands(op: Operation) -> bool:
    return op.name in LAZY_USERS or traits_of(op).layouts is LayoutTrait.ELEMENTWISE or _stores_chunk(op)


def _stores_chunk(op: Operation) -> bool:
    """Whether an operation stores one chunk of a tile to tensor memory, and others store the rest."""
    return op.name == TMEM_STORE and "chunk" in op.attributes


def _is_only_rounded(op: Operation) -> bool:
    """Whether a tile is rounded to fewer bits as it is: ptxas then converts a part of it before it reads the next one."""
    return all(use.operation.name == "nv_tileas.fp_to_fp" for use in op.results[0].uses)


def _reads(op: Operation) -> bool:
    """Whether an operation reads global memory."""
    return bool(traits_of(op).effect & (MemoryEffect.READ | MemoryEffect.COPY))


class KernelEmitter:
    """The state that handlers share while one kernel is emitted:

    ``b`` inserts instructions, the other members are by subject.
    """

    def __init__(
        self,
        symbols: GlobalSymbols,
        locations: SourceLocations,
        job: Job,
        handlers: RuleTable,
        num_warps: int,
        producer_warps: int = 0,
    ):
        self.symbols, self.locations, self.job, self.target = symbols, locations, job, job.target
        self.num_warps, self.producer_warps = num_warps, producer_warps
        self.ctas = 1  # of the cluster that shares one tile program
        self.name = ""
        self.max_registers: int | None = None  # per thread, where the kernel limits them
        self.b = InstructionBuilder()
        self.threads = ThreadIds(self.b, num_warps)
        self.values = ValueMap(self.b)
        self.memory = KernelMemory(self.b, symbols, num_warps, producer_warps)
        self.pipelines = PipelineState()
        self.tmem: TensorMemory | None = None
        self.loops: list[LoopFrame] = []
        self.exp2_groups = 0  # groups of exp2 eligible for a polynomial; a share of them uses it
        # Whether tile elements are computed at their use: in a kernel that spills, and in a block that stores a tile by
        # chunks or divides beyond the registers of a thread.
        self.is_spilling = self.computes_at_use = False
        # Whether they are computed before where that leaves fewer registers in use: in a block that divides so.
        self.computes_where_fewer_remain = False
        # Reads of accumulators whose elements are read at their use.
        self.sliced_reads: frozenset[Operation] = frozenset()
        # Whether all threads hold the same copies of elements whenever they store them: they are one warp, and nothing that they
        # read can change between their reads.
        self.copies_are_equal = False
        self._handlers = handlers
        self._emitted_early: set[Operation] = set()

    @property
    def tile_registers(self) -> int:
        """The registers of a compute thread for tiles, with some left for the rest."""
        warps = self.num_warps + self.producer_warps
        return (self.max_registers or self.target.sm_limits.registers_of(warps)) - RESERVED_REGISTERS

    @property
    def vector_registers(self) -> int:
        """The largest power of two of registers for one instruction."""
        return 1 << self.tile_registers.bit_length() - 1

    # ---- walk ------------------------------------------------------------------------------------
    def emit_body(self, kernel: Operation) -> None:
        """The code of a kernel; raises InternalError for an operation without a handler."""
        self.memory.buffers = analyze_buffers(kernel, int_attr(kernel, "shared_bytes", 0))
        self.is_spilling = self.computes_at_use = any(op.name == SPILL for op in walk(kernel))
        self.copies_are_equal = self.num_warps == 1 and not self.producer_warps and not any(map(_reads, walk(kernel)))
        for block in kernel.regions[0].blocks:
            self.emit_block(block)

    def emit_block(self, block: Block) -> None:
        outer = self.computes_at_use, self.computes_where_fewer_remain, self.sliced_reads
        self.computes_at_use = self.is_spilling or any(map(_stores_chunk, block.ops))
        self.sliced_reads = frozenset() if self.computes_at_use else self._reads_beyond_registers(block)
        eager = self.computes_at_use or self.sliced_reads
        self.computes_where_fewer_remain = not eager and self._divides_beyond_registers(block)
        self.computes_at_use |= self.computes_where_fewer_remain
        for op in block.ops:
            if op not in self._emitted_early:
                self.computes_at_use |= op in self.sliced_reads
                self.emit(op)
        self.computes_at_use, self.computes_where_fewer_remain, self.sliced_reads = outer

    def _reads_beyond_registers(self, block: Block) -> frozenset[Operation]:
        """The last reads of accumulators of a kernel, where threads have too few registers for all live tiles behind the first of them.

        Their elements are read where they are used, a few columns at a time, up to the store of the result.
        """
        reads = late_reads(block) if self.tmem is not None else []
        if not reads or any(map(divides_by_shared_elements, block.ops)):
            return frozenset()
        if all(map(_is_only_rounded, reads)):
            return frozenset()
        first, live = list(block.ops).index(reads[0]), self._live(block, counts_inner=False)
        return frozenset(reads) if max(live[first:]) > self._registers_of_partition(reads[0]) else frozenset()

    def _registers_of_partition(self, op: Operation) -> int:
        """``tile_registers``, with those that threads that load have released."""
        kernel = enclosing_kernel(op)
        if "partition_registers" not in kernel.attributes:
            return self.tile_registers
        return int_array_attr(kernel, "partition_registers")[1] - RESERVED_REGISTERS

    def _divides_beyond_registers(self, block: Block) -> bool:
        """Whether a tile is divided by one of as many elements while threads have too few registers for all live tiles.

        ptxas makes branches of each such division, and moves nothing across: what is computed before the first one stays in registers.
        """
        divisions = [place for place, op in enumerate(block.ops) if divides_each_element(op)]
        live = self._live(block) if divisions else []
        return any(live[max(place - 1, 0)] > self.tile_registers for place in divisions)

    def live_behind(self, op: Operation) -> int:
        """The registers of a compute thread for the tiles that are live behind an operation."""
        block = parent_block(op)
        return self._live(block)[list(block.ops).index(op)]

    def _live(self, block: Block, *, counts_inner: bool = True) -> list[int]:
        """The same behind each operation of a block."""
        live = live_registers(block, self.target, counts_inner=counts_inner)
        return [registers // (WARP * self.num_warps) for registers in live]

    def emit_early(self, ops: Sequence[Operation]) -> None:
        """Emit operations of the current block early; ``emit_block`` then skips them.

        A handler that emits several versions of the code after it calls this once for each version.
        """
        for op in ops:
            self.emit(op)
        self._emitted_early.update(ops)

    def emit(self, op: Operation) -> None:
        self.b.attributes = self.locations.attributes(op)
        try:
            if op.name in self._handlers:  # the others have no traits
                self._prepare(op)
            self._handlers[op.name](self, op)
        except TileirasError as error:
            error.location = error.location or source_location(op)
            raise

    def _prepare(self, op: Operation) -> None:
        check_operation(op, self.memory.buffers, self.target)
        if self.computes_at_use and not (self.sliced_reads and op.name in SLICE_USERS or _accepts_lazy_operands(op)):
            self._materialize_operands(op)

    def _materialize_operands(self, op: Operation) -> None:
        """Compute lazy operands here, as a first use inside a branch of the operation's code would not dominate later
        uses.
        """
        for operand in [operand for inner in walk(op) for operand in inner.operands]:
            mapped = self.values.get(operand)
            for value in mapped if isinstance(mapped, list) else (mapped,):
                if isinstance(value, LazyElement) and not isinstance(value.source, RematerializedValues):
                    value.materialize(self.b)
