"""Indices of the executing thread: in its warp, its CTA and its cluster. Each is computed once, in the prologue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from ....ir.dialects import gpu_ext as gpu
from ....ir.dialects.nvvm.cluster_sync_and_fences import ClusterRankOp
from ....ir.dialects.nvvm.warp_sync import ElectOp
from ....ir.layouts import LinearLayout
from ....ir.layouts.tmem_layout import PAIR
from ...common.llvm_type_constructors import I1, I32, struct
from .function_builder import Value
from .instruction_builder import InstructionBuilder


class ThreadIds:
    """The thread's indices in a CTA of ``num_warps`` compute warps, and the elections of one warp or thread."""

    def __init__(self, b: InstructionBuilder, num_warps: int):
        self.b, self.num_warps = b, num_warps
        self.ctas = 1  # of the cluster
        self.is_single_thread = False  # whether the current warp partition consists of one thread

    @cached_property
    def thread(self) -> Value:
        with self.b.at_function_start():
            return self.b.query(gpu.ThreadIdOp)

    @cached_property
    def lane(self) -> Value:
        with self.b.at_function_start():
            return self.thread if self.num_warps == 1 else self.b.and_(self.thread, 31)

    @cached_property
    def warp(self) -> Value:
        with self.b.at_function_start():
            return 0 if self.num_warps == 1 else self.b.shift(self.thread, -5)

    @cached_property
    def uniform_warp(self) -> Value:
        """The warp's index through a shuffle: ptxas then keeps what is computed from it in uniform registers."""
        with self.b.at_function_start():
            return 0 if self.num_warps == 1 else self.b.shuffle(gpu.ShuffleMode.IDX, self.warp, 0)

    @cached_property
    def cta_rank(self) -> Value:
        """The CTA's rank in its cluster."""
        with self.b.at_function_start():
            return self.b.issue(ClusterRankOp, type=I32)

    @cached_property
    def pair_leader(self) -> Value:
        """The rank of the first CTA of this CTA's pair: ranks of a pair differ in their last bit (PTX ISA 9.0, section 9.7.16.5)."""
        if self.ctas == PAIR:
            return 0
        with self.b.at_function_start():
            return self.b.and_(self.cta_rank, -PAIR)

    @cached_property
    def leads_pair(self) -> Value:
        """Whether the CTA is the first one of its pair."""
        with self.b.at_function_start():
            return self.b.compare("eq", self.cta_rank, self.pair_leader)

    @cached_property
    def is_first_thread(self) -> Value:
        """Whether this is thread 0 of the CTA."""
        with self.b.at_function_start():
            return self.b.compare("eq", self.thread, 0)

    @cached_property
    def is_first_warp(self) -> Value:
        with self.b.at_function_start():
            return self.b.compare("eq", self.uniform_warp, 0)

    def linear(self, lane_images: tuple[int, ...], warp_images: tuple[int, ...]) -> Value:
        """An F2-linear function of the lane and the warp, computed in the prologue."""
        with self.b.at_function_start():
            return self.b.xor(self.b.linear(self.lane, lane_images), self.b.linear(self.warp, warp_images))

    def holds_canonical_copy(self, layout: LinearLayout) -> Value | None:
        """Whether this thread holds the canonical copy of its elements; None where each element has one copy."""
        lanes, warps = layout.free_bits("lane"), layout.free_bits("warp")
        if not lanes and not warps:
            return None
        with self.b.at_function_start():
            mask = lanes | warps << 5
            return self.b.compare("eq", self.b.and_(self.thread, mask), 0)

    # ---- elections ---------------------------------------------------------------------------------
    def elect(self) -> Value:
        """Whether this is the elected thread of its warp (``elect.sync``)."""
        return self.b.field(self.b.issue(ElectOp, -1, type=struct(I32, I1)), 1)

    @contextmanager
    def one_warp(self) -> Iterator[None]:
        """A block that the first warp executes; in a partition of one thread, no branch."""
        if self.is_single_thread:
            yield
            return
        with self.b.if_then(self.is_first_warp):
            yield

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        """A block that one elected thread of the first warp executes, always the same one."""
        if self.is_single_thread:
            yield
            return
        with self.one_warp(), self.b.if_then(self.elect()):
            yield
