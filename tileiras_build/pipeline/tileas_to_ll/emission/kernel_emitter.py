"""One kernel as the code of one thread: the values of its tiles, and the walk over its operations.

A tile is held as a list of scalars, one per register of its layout; a scalar of the program is the same in every
thread. Views exist only while compiling (``views.py``); tokens order text and have no value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from xdsl.ir import Block, Operation, SSAValue

from ....core.errors import InternalError, TileirasError
from ....ir.casting import int_attr, unwrap
from ....ir.dialects import gpu_ext as gpu
from ....ir.dialects.cuda_tile.location import source_location
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.nvvm.warp_sync import BarrierCountOp, BarWarpSyncOp
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import LayoutTrait, traits_of
from ...common.llvm_types import I32, SHARED
from .analyze_buffers import Buffers, analyze_buffers
from .function_builder import Value
from .instruction_builder import InstructionBuilder
from .op_preconditions import check_operation
from .register_values import LazyElement, RematerializedValues
from .thread_ids import ThreadIds
from .value_map import ValueMap

if TYPE_CHECKING:
    from ...job import Job
    from ..program.control_flow import Loop
    from .module_emitter import ModuleEmitter

SPILL, TMEM_STORE = "nv_tileas.spill", "nv_tileas.tmem_store"
# Operations that use the elements of tiles one after the other, in the block in which they stand, or only rename them.
TAKES_LATE = frozenset(
    f"nv_tileas.{name}" for name in ("spill", "reload", "reduce", "tiled_store", "view", "broadcast", "permute")
)
# Registers of a thread that an instruction with many of them leaves free.
RESERVED_REGISTERS = 20
# The barrier of the warps that compute, where others do not (0 is the one of all threads).
COMPUTE_BARRIER = 1

Handler = Callable[["KernelEmitter", Any], None]


def _takes_late(op: Operation) -> bool:
    return op.name in TAKES_LATE or traits_of(op).layouts is LayoutTrait.ELEMENTWISE or _is_part(op)


def _is_part(op: Operation) -> bool:
    """Whether it stores a part of a tile, and others the other parts."""
    return op.name == TMEM_STORE and "chunk" in op.attributes


class KernelEmitter:
    """State while one kernel is written: the builder, the value of every SSA value, the loops around."""

    def __init__(
        self, module: ModuleEmitter, job: Job, num_warps: int, handlers: dict[str, Handler], producer_warps: int = 0
    ):
        self.module, self.job, self.target = module, job, job.target
        self.num_warps, self.producer_warps = num_warps, producer_warps
        self.ctas = 1  # that a tile program is divided over
        self.handlers = handlers
        self.buffers = Buffers()
        self.b = InstructionBuilder()
        self.threads = ThreadIds(self.b, num_warps)
        self.values = ValueMap(self.b)
        self.loops: list[Loop] = []
        self.heap: dict[Block, list[Value]] = {}  # addresses that blocks have allocated on the device's heap
        self.pipelines: list[TableOp] = []
        # Parameters that hold tensor maps, and those that operations have taken.
        self.map_arguments: list[SSAValue] = []
        self.tensor_maps: list[SSAValue] = []
        self.tensor_memory: TableOp | None = None
        self.tensor_base: Value = 0
        # Elements of tiles are computed where they are used: of a kernel whose registers do not hold its tiles (``parks``), and in
        # a block of code that stores a tile part by part.
        self.is_spilling = self.computes_late = False
        self.powers = 0  # groups of powers of two that were computed so, of which some are polynomials
        self.written_ahead: set[Operation] = set()  # by a handler, in each way through the code that it made
        self.partition_end: Block | None = None  # where a return of the agent whose code is written goes on
        self.name = ""
        self.max_registers: int | None = None  # of a thread, where the kernel says so
        self.pointer_space = "global"

    @property
    def tensor_group(self) -> str:
        """The CTAs that tcgen05 acts for, all instructions of a kernel the same, as LLVM's names end."""
        return "cg2" if "pair" in unwrap(self.tensor_memory).attributes else "cg1"

    @property
    def vector_registers(self) -> int:
        """The most registers of one instruction, a power of two, that leave a thread some for all else."""
        warps = self.num_warps + self.producer_warps
        share = self.max_registers or self.target.sm_limits.registers_of(warps)
        return 1 << (share - RESERVED_REGISTERS).bit_length() - 1

    # ---- memory ---
    @cached_property
    def shared_base(self) -> Value:
        """The 32-bit address of the kernel's shared memory."""
        with self.b.at_function_start():
            return self.b.cast("ptrtoint", self.shared_memory, I32)

    @property
    def shared_memory(self) -> SSAValue:
        """The start of the kernel's shared memory."""
        if self.module.dynamic_shared:
            return self.b.dynamic_shared_memory()
        return self.b.address_of(self.module.shared_memory_symbol, SHARED)

    def barrier(self) -> None:
        """All threads that compute meet; memory written before is seen after."""
        if self.producer_warps:
            threads = 32 * self.num_warps
            self.b.issue(BarrierCountOp, COMPUTE_BARRIER, threads)
        elif self.num_warps == 1:
            self.b.issue(BarWarpSyncOp, -1)
        else:
            self.b.operation(gpu.BarrierOp, ())

    # ---- walk ------------------------------------------------------------------------------------
    def emit_body(self, kernel: Operation) -> None:
        """The code of a kernel; raises InternalError for an operation without a handler."""
        self.buffers = analyze_buffers(kernel, int_attr(kernel, "shared_bytes", 0))
        # Pointers may point into shared memory where a kernel has storage of its own: then all are generic.
        self.pointer_space = "" if self.buffers.generic else "global"
        self.is_spilling = self.computes_late = any(op.name == SPILL for op in walk(kernel))
        for block in kernel.regions[0].blocks:
            self.emit_block(block)

    def emit_block(self, block: Block) -> None:
        around, self.computes_late = self.computes_late, self.is_spilling or any(map(_is_part, block.ops))
        for op in block.ops:
            if op not in self.written_ahead:
                self.emit(op)
        self.computes_late = around

    def emit_ahead(self, ops: Sequence[Operation]) -> None:
        """Write operations that stand further down in the block; they are not written there again."""
        for op in ops:
            self.emit(op)
        self.written_ahead.update(ops)

    def emit(self, op: Operation) -> None:
        self.b.attributes = self.module.places.attributes(op)
        try:
            check_operation(op, self.buffers, self.target)
            if self.computes_late and not _takes_late(op):
                self._compute_operands(op)
            self._handler(op)(self, op)
        except TileirasError as error:
            error.location = error.location or source_location(op)
            raise

    def _compute_operands(self, op: Operation) -> None:
        """What has not been used before is computed here, and not in a branch of an operation's code."""
        for operand in [operand for inner in walk(op) for operand in inner.operands]:
            held = self.values.get(operand)
            for value in held if isinstance(held, list) else (held,):
                if isinstance(value, LazyElement) and not isinstance(value.source, RematerializedValues):
                    value.materialize(self.b)

    def _handler(self, op: Operation) -> Handler:
        if (found := self.handlers.get(op.name)) is None:
            raise InternalError("emit-no-handler", f"operation {op.name} has no conversion to thread code")
        return found
