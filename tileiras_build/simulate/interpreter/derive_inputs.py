"""Derives arguments for a kernel from its operations.

A pointer that a tensor view is made of gets a buffer that holds the tensor; sizes are chosen from the tiles that are
cut out of it, with a tail if nothing promises divisibility; strides are row-major. Any other pointer gets a generous
buffer, any other integer a small number that keeps the promises of ``assume``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ...ir.dialects.cuda_tile.attrs import BoundedAttr, DivByAttr
from ...ir.dialects.cuda_tile.enums import PtrAttr
from ...ir.dialects.cuda_tile.ops_make_view import MakeTensorViewOp
from ...ir.dialects.cuda_tile.ops_module import EntryOp, GetTileBlockIdOp
from ...ir.dialects.cuda_tile.ops_shape import AssumeOp
from ...ir.dialects.cuda_tile.types import PointerType
from ...ir.dialects.cuda_tile.view_types import StridedViewType, TileView
from .element_types import (
    element_of,
    from_bit_patterns,
    is_integer,
    storage_bits,
    storage_dtype,
    tile_of,
    to_bit_patterns,
    unsigned_dtype,
)
from .float_ops import narrowed
from .integer_ops import wrap
from .interpreter_errors import InterpreterFault
from .mapped_memory import MULTICAST_WINDOW
from .scalar_constant_folding import ScalarFolder
from .tile_block_interpreter import find_entry

T = TypeVar("T")
UNVIEWED_ELEMENTS = 1 << 16  # elements of a buffer without a tensor view
MAX_ELEMENTS = 1 << 24  # largest static tensor that is allocated; front ends use huge sizes for "any"
ALIGNMENT = 256
GUARD_BYTES = 256  # bytes around a buffer that no kernel may touch


class MappableMemory(Protocol):
    """The memory of one launch."""

    def map(self, address: int, size: int, keep: object = None) -> None: ...

    def map_multicast(self, copies: Sequence[np.ndarray]) -> int: ...


COPIES = 2  # of a multicast object: the GPUs that have one


@dataclass
class Buffer:
    """The memory of one pointer parameter; the ``copies`` of a multicast object lie one after the other."""

    parameter: int
    element_type: Attribute
    bytes: np.ndarray
    copies: int = 1
    initial_bytes: np.ndarray = field(init=False)

    def __post_init__(self):
        self.initial_bytes = self.bytes.copy()

    @property
    def address(self) -> int:
        return self.bytes.ctypes.data + (MULTICAST_WINDOW if self.copies > 1 else 0)

    def map_into(self, memory: MappableMemory) -> None:
        """Map the buffer at its address, in the memory of the interpreter or of the emulator."""
        if self.copies == 1:
            memory.map(self.address, self.bytes.size, self.bytes)
        else:
            memory.map_multicast(np.split(self.bytes, self.copies))

    def restore(self) -> None:
        """Restore the original content."""
        self.bytes[:] = self.initial_bytes

    def describe(self) -> str:
        """Element type, count, how many elements differ from the original content, and the first of them."""
        size = max(storage_bits(self.element_type) // 8, 1)
        words, before = self.bytes.view(unsigned_dtype(size)), self.initial_bytes.view(unsigned_dtype(size))
        values = from_bit_patterns(words, self.element_type) if storage_bits(self.element_type) >= 8 else words
        changed = int((words != before).sum())
        return f"{len(words)} x {self.element_type}, {changed} changed: {np.array2string(values[:64], threshold=16)}"


@dataclass
class Inputs:
    """A launch: parameters, buffers and grid."""

    grid: tuple[int, int, int]
    params: list[bytes]
    buffers: list[Buffer]
    scalars: dict[int, int | float]  # parameter -> value of a scalar


def aligned(size: int) -> np.ndarray:
    """``size`` zero bytes at an aligned address, with unused bytes on both sides."""
    raw = np.zeros(size + ALIGNMENT + 2 * GUARD_BYTES, np.uint8)
    start = -(raw.ctypes.data + GUARD_BYTES) % ALIGNMENT + GUARD_BYTES
    return raw[start : start + size]


def random_elements(random: np.random.Generator, element_type: Attribute, count: int) -> np.ndarray:
    """Random values: floats of moderate size, small integers (they may be indices)."""
    if is_integer(element_type):
        return wrap(random.integers(0, 8, count), element_type)
    values = random.standard_normal(count)
    return narrowed(np.abs(values) + 0.25 if storage_bits(element_type) == 8 else values, element_type)


def copies_of(pointer: PointerType) -> int:
    """The copies of what a pointer parameter refers to."""
    return COPIES if pointer.ptr_attr == PtrAttr.MULTICAST.value else 1


def _buffer(random: np.random.Generator, parameter: int, pointer: PointerType, count: int) -> Buffer:
    element_type, copies = pointer.pointee_type, copies_of(pointer)
    words = to_bit_patterns(random_elements(random, element_type, copies * (count + count % 2)), element_type)
    if storage_bits(element_type) == 4:
        words = words[0::2] | words[1::2] << 4
    content = np.ascontiguousarray(words).view(np.uint8)
    place = aligned(content.size)
    place[:] = content
    return Buffer(parameter, element_type, place, copies)


def _whole_tiles(view: SSAValue) -> set[int]:
    """The dimensions along which an access is marked in_bounds."""
    flags = (getattr(use.operation, "inbounds_flags", ()) for use in view.uses)
    return {dim for row in flags for dim, promised in enumerate(row) if promised}


class _InputPlanner:
    """Chooses the values of one kernel's parameters."""

    def __init__(self, entry: EntryOp, random: np.random.Generator, tiles: int, loose: int):
        self.entry, self.random, self.tiles, self.loose = entry, random, tiles, loose
        self.arguments = list(entry.body.block.args)
        self.terms = ScalarFolder(self.arguments)
        self.scalars: dict[int, int] = {}
        self.counts: dict[int, int] = {}
        self.divisors: dict[int, int] = {}
        self.bounds: dict[int, tuple[int | None, int | None]] = {}

    def parameter(self, value: SSAValue) -> int | None:
        """The parameter that a value is equal to; None if it is none."""
        term = self.terms(value)
        return self.arguments.index(term) if isinstance(term, BlockArgument) else None

    def collect_assumptions(self) -> None:
        for op in self.entry.walk():
            if not isinstance(op, AssumeOp) or (index := self.parameter(op.value)) is None:
                continue
            if isinstance(op.predicate, DivByAttr):
                self.divisors[index] = max(self.divisors.get(index, 1), op.predicate.divisor)
            if isinstance(op.predicate, BoundedAttr):
                self.bounds[index] = op.predicate.lb, op.predicate.ub

    def choose_parameter(self, index: int, wanted: int) -> int:
        """Set an integer parameter to a value near ``wanted`` that satisfies its assumptions, unless it is set."""
        if index not in self.scalars:
            low, high = self.bounds.get(index, (None, None))
            wanted = max(wanted, low) if low is not None else wanted
            wanted = -(-wanted // self.divisors.get(index, 1)) * self.divisors.get(index, 1)
            self.scalars[index] = min(wanted, high) if high is not None else wanted
        return self.scalars[index]

    def number(self, value: SSAValue, wanted: int) -> int:
        """The value of a size or stride."""
        if isinstance(term := self.terms(value), int):
            return term
        index = self.parameter(value)
        return wanted if index is None else self.choose_parameter(index, wanted)

    def plan_tensor(self, op: MakeTensorViewOp) -> None:
        """Choose the sizes and strides of one tensor and the size of its buffer."""
        type, sizes, strides = op.tensor_view(), list(op.dynamic_shape), list(op.dynamic_strides)
        shape = [
            self.number(sizes.pop(0), wanted) if dim is None else dim
            for dim, wanted in zip(type.shape, self._wanted_sizes(op))
        ]
        wanted, chosen = 1, [0] * len(shape)
        given = {dim: strides.pop(0) for dim, stride in enumerate(type.strides) if stride is None}
        for dim in reversed(range(len(shape))):
            stride = type.strides[dim]
            chosen[dim] = self.number(given[dim], wanted) if stride is None else stride
            wanted = max(wanted, chosen[dim] * shape[dim])
        extent = 1 + sum(max(size - 1, 0) * stride for size, stride in zip(shape, chosen))
        if (base := self.parameter(op.base)) is not None:
            known = extent if extent <= MAX_ELEMENTS else self.loose
            self.counts[base] = max(self.counts.get(base, 0), known)

    def _wanted_sizes(self, op: MakeTensorViewOp) -> list[int]:
        """Two tiles and a partial one along each dimension of a tile view; only whole tiles along in_bounds dimensions."""
        wanted = [int(self.random.integers(17, 40))] * op.tensor_view().rank
        for use in op.result.uses:
            for result in use.operation.results:
                if isinstance(result.type, TileView):
                    self._fit_tiles(result.type, _whole_tiles(result), wanted)
        return wanted

    def _fit_tiles(self, type: TileView, whole: set[int], wanted: list[int]) -> None:
        steps = type.traversal_strides if isinstance(type, StridedViewType) else type.tile_shape
        for dim, (size, step) in enumerate(zip(type.tile_shape, steps)):
            tail = int(self.random.integers(1, size)) if size > 1 and self.random.integers(3) else size
            wanted[type.dim_map[dim]] = self.tiles * step + (size if dim in whole else tail)

    def plan_unviewed_arrays(self) -> None:
        """Integers after a pointer that no tensor view uses: sizes and row-major strides, as cuTile passes arrays."""
        pointers = [index for index, argument in enumerate(self.arguments) if tile_of(argument).is_pointer]
        for index, following in zip(pointers, [*pointers[1:], len(self.arguments)]):
            rank = (following - index - 1) // 2
            parameters = range(index + 1, index + 1 + 2 * rank)
            if index in self.counts or not all(is_integer(element_of(self.arguments[n])) for n in parameters):
                continue
            shape = [self.choose_parameter(n, int(self.random.integers(17, 40))) for n in parameters[:rank]]
            stride = 1
            for size, number in zip(reversed(shape), reversed(parameters[rank:])):
                stride = max(self.choose_parameter(number, stride) * size, stride)

    def grid(self) -> tuple[int, int, int]:
        """Two tile blocks along each axis that the kernel uses."""
        asked = [False, False, False]
        for op in self.entry.walk():
            if isinstance(op, GetTileBlockIdOp):
                asked = [before or bool(list(result.uses)) for before, result in zip(asked, op.results)]
        x, y, z = (2 if axis else 1 for axis in asked)
        return x, y, z


def derive_inputs(
    module: Operation,
    entry: str,
    seed: int = 0,
    *,
    tiles: int = 1,
    grid: tuple[int, int, int] | None = None,
    loose: int = UNVIEWED_ELEMENTS,
) -> Inputs:
    """Arguments for ``entry``, the same for the same seed.

    A tensor has ``tiles`` tiles along each dimension and part of another. ``grid`` counts tile blocks (default: two
    along each axis that the kernel asks for). ``loose`` are the elements of a buffer whose use is not understood.
    """
    random = np.random.default_rng(seed)
    planner = _InputPlanner(find_entry(module, entry), random, tiles, loose)
    planner.collect_assumptions()
    for op in planner.entry.walk():
        if isinstance(op, MakeTensorViewOp):
            planner.plan_tensor(op)
    planner.plan_unviewed_arrays()
    params, buffers, scalars = [], [], {}
    for index, argument in enumerate(planner.arguments):
        element_type = element_of(argument)
        if isinstance(element_type, PointerType):
            buffers.append(_buffer(random, index, element_type, planner.counts.get(index, loose)))
            params.append(buffers[-1].address.to_bytes(8, "little"))
        else:
            scalars[index], data = _scalar(planner, index, element_type)
            params.append(data)
    return Inputs(grid or planner.grid(), params, buffers, scalars)


# Candidate choices in order: tiles per dimension, and the grid. The first that the kernel accepts is used.
ATTEMPTS = ((1, None), (1, (1, 1, 1)), (7, None), (7, (1, 1, 1)), (40, (1, 1, 1)))


def usable_inputs(
    module: Operation, entry: str, run: Callable[[Inputs], T], seed: int = 0, grid: tuple[int, int, int] | None = None
) -> tuple[Inputs, T]:
    """The first derived inputs that ``run`` accepts, and its result; else raises its last InterpreterFault."""
    last: InterpreterFault | None = None
    for tiles, blocks in ATTEMPTS:
        inputs = derive_inputs(module, entry, seed, tiles=tiles, grid=grid or blocks)
        try:
            return inputs, run(inputs)
        except InterpreterFault as problem:
            last = problem
            if problem.id == "too-long":
                break
    assert last is not None, "CHOICES is not empty"
    raise last


def _scalar(planner: _InputPlanner, index: int, element_type: Attribute) -> tuple[int | float, bytes]:
    number: int | float
    if is_integer(element_type):
        number = planner.choose_parameter(index, int(planner.random.integers(1, 24)))
    else:
        number = float(planner.random.uniform(0.5, 2))
    return number, pack_scalar(number, element_type)


def pack_scalar(number: int | float, element_type: Attribute) -> bytes:
    """A scalar parameter's bytes."""
    value = (
        wrap(np.asarray(int(number), np.int64), element_type)
        if is_integer(element_type)
        else narrowed(np.asarray(float(number)), element_type)
    )
    return np.asarray(to_bit_patterns(value.astype(storage_dtype(element_type)), element_type)).tobytes()


def restore(buffers: Sequence[Buffer]) -> None:
    """Restore the original content of every buffer."""
    for buffer in buffers:
        buffer.restore()
