"""State of asynchronous pipelines, warp partitions and tensor memory while one kernel is emitted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from xdsl.ir import Block, SSAValue

from ....ir.dialects.op_definition import TableOp
from .function_builder import Value

if TYPE_CHECKING:
    from .kernel_emitter import KernelEmitter


@dataclass
class PipelineState:
    """The pipelines and tensor maps of a kernel, and the exit of the partition that is emitted."""

    created: list[TableOp] = field(default_factory=list)
    cluster_barriers: list[TableOp] = field(default_factory=list)  # that have an mbarrier
    map_parameters: list[SSAValue] = field(default_factory=list)  # kernel parameters that hold tensor maps
    tensor_maps: list[SSAValue] = field(default_factory=list)  # those of ``map_parameters`` that are in use
    partition_exit: Block | None = None  # where a return inside the partition branches to


class TensorMemory(Protocol):
    """The kernel's allocation in tensor memory: ``base`` is its address. ``is_pair``: two CTAs allocate and use it together."""

    base: Value

    @property
    def is_pair(self) -> bool: ...

    def allocate(self, e: KernelEmitter) -> None:
        """After the mbarriers are initialized, before the partitions begin."""

    def begin_issuer(self, e: KernelEmitter) -> None:
        """Where the partition that issues MMAs begins."""

    def end_consumers(self, e: KernelEmitter) -> None:
        """Where the computing warps end."""

    def end_kernel(self, e: KernelEmitter) -> None:
        """Where all partitions have ended."""
