"""One kernel as LLVM IR text: the values of its tiles in a thread, and the walk over its operations.

A tile is held as a list of scalars, one per register of its layout; a scalar of the program is the same in every
thread. Views exist only while compiling (``views.py``); tokens order text and have no value.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.cuda_tile.location import source_location
from ...errors import InternalError, TileirasError
from ...layouts import LinearLayout
from ..shared.element_types import Element, element_of
from .access_text import register_type
from .builder import SHARED, Builder, Value

if TYPE_CHECKING:
    from ..job import Job
    from .analyze_buffers import Buffers
    from .module_emitter import ModuleEmitter

# Registers of a thread that an instruction with many of them leaves free.
OTHER_REGISTERS = 20
# The barrier of the warps that compute, where others do not (0 is the one of all threads).
COMPUTE_BARRIER = 1

Handler = Callable[["KernelEmitter", Any], None]


def layout_of(value: SSAValue) -> LinearLayout:
    """The register layout of a tile value."""
    return value.type.encoding.data


class Late:
    """The values of one instruction, which is written where the first of them is asked for."""

    def __init__(self, load: Callable[[], list[Value]]):
        self.load = load
        self.loaded: list[Value] | None = None

    def value(self, position: int) -> Value:
        if self.loaded is None:
            self.loaded = self.load()
        return self.loaded[position]


@dataclass(frozen=True, eq=False)
class LateValue:
    """One value of a ``Late``."""

    source: Late
    position: int

    def take(self, b: Builder) -> Value:
        return self.source.value(self.position)


@dataclass(frozen=True)
class Part:
    """Element ``position`` of a 32-bit word that several elements share; taken out of it only when asked for."""

    word: str | LateValue
    position: int
    element: Element

    def take(self, b: Builder) -> Value:
        count = 32 // self.element.bits
        vector = b.pure(f"bitcast i32 {taken(b, self.word)} to <{count} x {register_type(self.element)}>")
        value = b.pure(f"extractelement <{count} x {register_type(self.element)}> {vector}, i32 {self.position}")
        return b.pure(f"icmp ne i8 {value}, 0") if self.element.register == "i1" else value


def taken(b: Builder, value: Value | Part | LateValue) -> Value:
    """A scalar or word as a value that exists."""
    return value.take(b) if isinstance(value, Part | LateValue) else value


class KernelEmitter:
    """State while one kernel is written: the builder, the value of every SSA value, the loops around."""

    def __init__(
        self, module: ModuleEmitter, job: Job, num_warps: int, handlers: dict[str, Handler], producer_warps: int = 0
    ):
        self.module, self.job, self.target = module, job, job.target
        self.num_warps, self.producer_warps = num_warps, producer_warps
        self.ctas = 1  # that a tile program is divided over
        self.handlers = handlers
        # What the phases have decided: the writer of each operation, and where buffers are (phases.py).
        self.writers: dict[Operation, Handler] = {}
        self.buffers: Buffers | None = None
        self.b = Builder()
        self.prologue: list[str] = []
        self.values: dict[SSAValue, Any] = {}
        self.loops: list[Any] = []
        self.heap: dict[Block, list[Value]] = {}  # addresses that blocks have allocated on the device's heap
        self.pipelines: list[Any] = []
        self.tensor_maps = 0
        self.tensor_memory: Any = None
        self.tensor_base: Value = 0
        self.is_one_thread = False  # of the agent whose code is written, only one executes it
        self.name = ""
        self.most_registers: int | None = None  # of a thread, where the kernel says so
        self.pointer_space = ".global"

    # ---- thread position -------------------------------------------------------------------------
    @contextmanager
    def in_prologue(self):
        """Code that depends on the thread only is written once, at the start of the kernel."""
        b = self.b
        lines, known, location = b.lines, b.known, b.location
        b.lines, b.known, b.location = self.prologue, b.known[:1], ""
        yield
        b.lines, b.known, b.location = lines, known, location

    @cached_property
    def thread(self) -> Value:
        with self.in_prologue():
            threads = 32 * (self.num_warps + self.producer_warps)
            return self.b.value(f"call range(i32 0, {threads}) i32 @llvm.nvvm.read.ptx.sreg.tid.x()")

    @cached_property
    def lane(self) -> Value:
        with self.in_prologue():
            return self.thread if self.num_warps == 1 else self.b.and_(self.thread, 31)

    @cached_property
    def warp(self) -> Value:
        with self.in_prologue():
            return 0 if self.num_warps == 1 else self.b.shift(self.thread, -5)

    @cached_property
    def uniform_warp(self) -> Value:
        """The warp's number, which ptxas knows to be the same in all lanes: what is computed from it goes to uniform
        registers."""
        with self.in_prologue():
            shuffled = f"call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 {self.warp}, i32 0, i32 31)"
            return 0 if self.num_warps == 1 else self.b.value(shuffled)

    def linear(self, lane_images: tuple[int, ...], warp_images: tuple[int, ...]) -> Value:
        """The F2-linear function of the thread's lane and warp, computed at the start of the kernel."""
        with self.in_prologue():
            return self.b.xor(self.b.linear(self.lane, lane_images), self.b.linear(self.warp, warp_images))

    def elect(self) -> Value:
        """Whether this is the one thread of its warp that acts for all."""
        elected = self.b.value("call { i32, i1 } @llvm.nvvm.elect.sync(i32 -1)")
        return self.b.value(f"extractvalue {{ i32, i1 }} {elected}, 1")

    @cached_property
    def cta_rank(self) -> Value:
        """The CTA's number in its cluster."""
        with self.in_prologue():
            return self.b.pure("call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()")

    @property
    def tensor_group(self) -> str:
        """The CTAs that tcgen05 acts for, all instructions of a kernel the same, as LLVM's names end."""
        return "cg2" if "pair" in self.tensor_memory.attributes else "cg1"

    @cached_property
    def is_first_warp(self) -> Value:
        with self.in_prologue():
            return self.b.compare("eq", self.uniform_warp, 0)

    @contextmanager
    def one_thread(self):
        """What one thread of the first warp does, always the same one; of an agent of one thread, that one."""
        if self.is_one_thread:
            yield
            return
        with self.b.when(self.is_first_warp), self.b.when(self.elect()):
            yield

    @property
    def vector_registers(self) -> int:
        """The most registers of one instruction, a power of two, that leave a thread some for all else."""
        threads = 32 * (self.num_warps + self.producer_warps)
        share = self.most_registers or self.target.multiprocessor.registers // threads
        return 1 << (share - OTHER_REGISTERS).bit_length() - 1

    @cached_property
    def print_buffer(self) -> str:
        """Stack space for the arguments of vprintf."""
        with self.in_prologue():
            return self.b.value(f"alloca [{max(self.buffers.print_bytes, 8)} x i8], align 8")

    def holder(self, layout: LinearLayout) -> Value | None:
        """Whether this thread is the canonical holder of its elements; None where every thread is."""
        lanes, warps = layout.free_bits("lane"), layout.free_bits("warp")
        if not lanes and not warps:
            return None
        with self.in_prologue():
            mask = lanes | warps << 5
            return self.b.compare("eq", self.b.and_(self.thread, mask), 0)

    @cached_property
    def first_thread(self) -> Value:
        """Whether this is thread 0 of the CTA."""
        with self.in_prologue():
            return self.b.compare("eq", self.thread, 0)

    # ---- values ----------------------------------------------------------------------------------
    def registers(self, value: SSAValue) -> list[Value]:
        """The scalars of a tile, or of a scalar: one."""
        held = self.values[value]
        if not isinstance(held, list):
            return [held]
        # Not kept: what is taken apart in one arm of a branch does not exist in the other.
        return [taken(self.b, entry) for entry in held]

    def packed(self, value: SSAValue) -> list[Any]:
        """The registers of a tile, where elements that share a word may still be ``Part`` of it."""
        held = self.values[value]
        return held if isinstance(held, list) else [held]

    def registers_as(self, value: SSAValue, layout: LinearLayout) -> list[Value]:
        """The registers of a tile in the order of ``layout``, which may only rename and repeat them."""
        return self._renamed(value, layout, self.registers(value))

    def packed_as(self, value: SSAValue, layout: LinearLayout) -> list[Any]:
        """``registers_as`` without taking words apart."""
        return self._renamed(value, layout, self.packed(value))

    def _renamed(self, value: SSAValue, layout: LinearLayout, registers: list[Any]) -> list[Any]:
        held = layout_of(value)
        if held == layout:
            return registers
        names = held.register_permutation(layout)
        if names is None:
            raise InternalError("layout-mismatch", f"a tile is held as {held} where {layout} is needed")
        return [registers[name] for name in names]

    def scalar(self, value: SSAValue) -> Value:
        held = self.values[value]
        return held[0] if isinstance(held, list) else held

    def element(self, value: SSAValue) -> Element:
        return element_of(value.type)

    def set(self, value: SSAValue, registers: list[Value]) -> None:
        self.values[value] = registers if isinstance(value.type, TensorType) else registers[0]

    @cached_property
    def shared_base(self) -> Value:
        """The 32-bit address of the kernel's shared memory."""
        with self.in_prologue():
            return self.b.value(f"ptrtoint ptr addrspace({SHARED}) @{self.module.shared_memory_symbol} to i32")

    def barrier(self) -> None:
        """All threads that compute meet; memory written before is seen after."""
        if self.producer_warps:
            threads = 32 * self.num_warps
            self.b.call_void("@llvm.nvvm.barrier.cta.sync.aligned.count", f"i32 {COMPUTE_BARRIER}, i32 {threads}")
        elif self.num_warps == 1:
            self.b.call_void("@llvm.nvvm.bar.warp.sync", "i32 -1")
        else:
            self.b.call_void("@llvm.nvvm.barrier.cta.sync.aligned.all", "i32 0")

    # ---- walk ------------------------------------------------------------------------------------
    def emit_block(self, block: Block) -> None:
        for op in block.ops:
            self.emit(op)

    def emit(self, op: Operation) -> None:
        if (handler := self.writers.get(op)) is None:
            raise InternalError("emit-no-handler", f"operation {op.name} has no writer: no phase has converted it")
        self.b.location = self.module.debug_location(op)
        try:
            handler(self, op)
        except TileirasError as error:
            error.location = error.location or source_location(op)
            raise
