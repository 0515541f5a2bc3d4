"""What an instruction costs wherever a warp issues it: its control code, its pipe, and whether the timeline treats it by itself."""

from __future__ import annotations

from ...target.gpu_models import GpuModel
from ...target.gpu_rates import SM_PARTITIONS
from .cta_work_counts import ASYNC_LOADS, ASYNC_STORES
from .instruction_throughput import is_mma, mma_shape, pipe_clocks
from .memory_transactions import GLOBAL, SHARED
from .sass_parser import NO_BARRIER, Instruction

SCOREBOARDS = 6
CLUSTER_WAIT = "UCGABAR_WAIT"
SYNCHRONIZING = ("BAR", "SYNCS", "DEPBAR", "WARPGROUP", "UTCBAR", "ARRIVES")


class InstructionCost:
    """The context-independent costs of an instruction."""

    def __init__(self, one: Instruction, machine: GpuModel):
        self.one = one
        self.opcode = one.opcode
        control = one.control
        self.stall = max(control.stall, 1)
        self.waits = tuple(n for n in range(SCOREBOARDS) if control.waits >> n & 1)
        self.writes = None if control.writes == NO_BARRIER else control.writes
        self.reads = None if control.reads == NO_BARRIER else control.reads
        found = pipe_clocks(one, machine.rates)
        self.pipe = found[0] if found else None
        self.clocks = found[1] * SM_PARTITIONS if found else 0.0
        self.is_mma = is_mma(one)
        self.in_tensor_memory = self.is_mma and one.opcode.startswith("UTC")
        self.is_group = "GMMA" in one.opcode
        self.ends_group = any(operand.text.startswith("gsb") for operand in one.operands)
        shape = mma_shape(one) if self.is_mma and not self.in_tensor_memory else None
        self.mma_cycles = shape.clocks(machine.rates) * SM_PARTITIONS if shape else 0.0
        self.is_memory = one.opcode in (*GLOBAL, *SHARED, "LDGSTS")
        self.special = self.is_memory or self.is_mma or one.opcode in (*SYNCHRONIZING, *ASYNC_LOADS, *ASYNC_STORES,
                                                                          "LDGDEPBAR", "UTMACMDFLUSH", CLUSTER_WAIT)  # fmt: skip
