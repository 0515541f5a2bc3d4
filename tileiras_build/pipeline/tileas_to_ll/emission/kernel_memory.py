"""The memory of one kernel: its shared memory, the blocks of the device heap, and the barrier that orders accesses."""

from __future__ import annotations

from functools import cached_property

from xdsl.ir import Block, SSAValue

from ....ir.dialects import gpu_ext as gpu
from ....ir.dialects.nvvm.warp_sync import BarrierCountOp, BarWarpSyncOp
from ...common.llvm_type_constructors import I32, SHARED
from .buffer_offsets import Buffers
from .function_builder import Value
from .global_symbols import GlobalSymbols
from .instruction_builder import InstructionBuilder

# The named barrier of the compute warps of a kernel with producer warps; barrier 0 includes all threads.
COMPUTE_BARRIER = 1


class KernelMemory:
    """Addresses in a kernel's memory, and the barrier of its compute warps."""

    def __init__(self, b: InstructionBuilder, symbols: GlobalSymbols, num_warps: int, producer_warps: int):
        self.b, self.symbols = b, symbols
        self.num_warps, self.producer_warps = num_warps, producer_warps
        self.buffers = Buffers()
        self.heap: dict[Block, list[Value]] = {}  # addresses that each block has allocated on the device heap

    @property
    def pointer_space(self) -> str:
        """The state space of the program's pointers; generic where one may point into shared memory."""
        return "" if self.buffers.generic else "global"

    @cached_property
    def shared_base(self) -> Value:
        """The 32-bit address of the kernel's shared memory."""
        with self.b.at_function_start():
            return self.b.cast("ptrtoint", self.shared_memory, I32)

    @property
    def shared_memory(self) -> SSAValue:
        """A pointer to the start of the kernel's shared memory."""
        if self.symbols.dynamic_shared:
            return self.b.dynamic_shared_memory()
        return self.b.address_of(self.symbols.shared_memory, SHARED)

    def barrier(self) -> None:
        """Synchronize all compute threads; what they wrote before is visible after."""
        if self.producer_warps:
            self.b.issue(BarrierCountOp, COMPUTE_BARRIER, 32 * self.num_warps)
        elif self.num_warps == 1:
            self.b.issue(BarWarpSyncOp, -1)
        else:
            self.b.operation(gpu.BarrierOp, ())
