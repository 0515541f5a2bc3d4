"""State of asynchronous pipelines, warp partitions and tensor memory while one kernel is emitted."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Block, SSAValue

from ....ir.casting import unwrap
from ....ir.dialects.op_definition import TableOp
from .function_builder import Value


@dataclass
class PipelineState:
    """The pipelines and tensor maps of a kernel, and the exit of the partition that is emitted."""

    created: list[TableOp] = field(default_factory=list)
    map_parameters: list[SSAValue] = field(default_factory=list)  # kernel parameters that hold tensor maps
    tensor_maps: list[SSAValue] = field(default_factory=list)  # those of ``map_parameters`` that operations use so far
    partition_exit: Block | None = None  # where a return inside the partition branches to


@dataclass
class TensorMemory:
    """The kernel's allocation in tensor memory."""

    allocation: TableOp | None = None
    base: Value = 0  # its address

    @property
    def cta_group(self) -> str:
        """The CTAs that the kernel's tcgen05 instructions act for, as in LLVM's names of intrinsics."""
        return "cg2" if "pair" in unwrap(self.allocation).attributes else "cg1"
