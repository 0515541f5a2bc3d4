"""Executes a kernel: tile blocks sequentially, operations in program order, each on whole tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, NoReturn

import numpy as np
from xdsl.dialects import builtin
from xdsl.ir import Block, Operation, SSAValue

from ...core.errors import InvalidInput, Unsupported, suggest
from ...ir.bytecode.reader import read_module
from ...ir.dialects.cuda_tile.ops_module import EntryOp, GlobalOp
from ...ir.dialects.cuda_tile.types import TileType
from .element_types import constant_values, from_bit_patterns, storage_bits, tile_of, to_bit_patterns, unsigned_dtype
from .interpreter_errors import make_fault
from .mapped_memory import Memory, OutsideMemory
from .randomize_unspecified_values import Choice

HANDLERS: dict[type[Operation], Callable] = {}


def handles(*classes: type[Operation]):
    """Register a function ``(frame, op) -> value or tuple of values`` for operations."""

    def register(function: Callable) -> Callable:
        HANDLERS.update(dict.fromkeys(classes, function))
        return function

    return register


class BlockResult(NamedTuple):
    """The terminator of a block: its class and its operands' values."""

    kind: type[Operation]
    values: tuple


class Launch:
    """The state shared by all tile blocks of one launch."""

    def __init__(
        self,
        module: Operation,
        grid: tuple[int, int, int],
        memory: Memory,
        choice: Choice,
        output: Callable[[str], None],
        limit: int | None,
    ):
        self.grid, self.memory, self.choice, self.output = grid, memory, choice, output
        self.done, self.limit = 0, limit
        self.globals: dict[str, int] = {}
        self.keepalive: list[np.ndarray] = []
        for op in module.walk():
            if isinstance(op, GlobalOp):
                self._place_global(op)

    def _place_global(self, op: GlobalOp) -> None:
        element_type = op.value.type.element_type
        values = constant_values(np.array(op.value.as_array()), element_type)
        words = to_bit_patterns(values, element_type)
        if storage_bits(element_type) < 8:
            words = words[0::2] | words[1::2] << np.uint8(4)
        self.globals[op.sym_name.data] = self.allocate(words.view(np.uint8), op.alignment.value.data)

    def allocate(self, content: np.ndarray, alignment: int) -> int:
        """The address of new mapped memory with the given bytes."""
        alignment = max(alignment, 16)
        raw = np.zeros(content.size + alignment, np.uint8)
        start = -raw.ctypes.data % alignment
        piece = raw[start : start + content.size]
        piece[:] = content.reshape(-1)
        self.keepalive.append(raw)
        return self.memory.map_array(piece) if piece.size else raw.ctypes.data + start


class Frame:
    """One tile block: its coordinates and the values of its operations."""

    def __init__(self, launch: Launch, block_id: tuple[int, int, int]):
        self.launch, self.block_id = launch, block_id
        self.values: dict[SSAValue, object] = {}
        self.inexact_values: dict[int, object] = {}  # values that depend on inexact results, by identity
        self.merged = 0  # elements combined by the enclosing reduction; 0 outside of one

    @property
    def choice(self) -> Choice:
        return self.launch.choice

    def get(self, value: SSAValue | None):
        """The value of an operand; None for an absent one."""
        return None if value is None else self.values[value]

    def operands(self, op: Operation) -> list:
        return [self.values[operand] for operand in op.operands]

    def bind(self, names: Sequence[SSAValue], values: Sequence) -> None:
        for name, value in zip(names, values, strict=True):
            self.values[name] = value

    def run(self, block: Block) -> BlockResult:
        """Run a block to its terminator, or to one inside a branch that leaves it."""
        for op in block.ops:
            self._count(op)
            handler = HANDLERS.get(type(op))
            if handler is None:
                raise Unsupported("interpreter-operation", f"the interpreter does not support {op.name}")
            self.choice.was_perturbed = False
            try:
                result = handler(self, op)
            except OutsideMemory as problem:
                raise make_fault(
                    op, "outside-memory", f"{problem}, in tile block {self.block_id}", address=problem.address
                ) from None
            if type(result) is BlockResult:
                return result
            if op.results:
                self.bind(op.results, result if type(result) is tuple else (result,))
            if self.choice.random is not None:
                self._mark_inexact(op)
        raise InvalidInput("block-end", "a block has no terminator")

    def _mark_inexact(self, op: Operation) -> None:
        """Record the results of an operation that is inexact or depends on inexact values."""
        if self.choice.was_perturbed or any(map(self.is_inexact, op.operands)):
            self.inexact_values |= {id(value): value for value in map(self.get, op.results)}

    def is_inexact(self, value: SSAValue) -> bool:
        """Whether a value depends on an inexact result through operations (not through memory)."""
        return id(self.values[value]) in self.inexact_values

    def is_too_long(self, operations: int) -> bool:
        """Whether executing ``count`` more operations exceeds the limit."""
        return self.launch.limit is not None and self.launch.done + operations > self.launch.limit

    def _count(self, op: Operation) -> None:
        self.launch.done += 1
        if self.launch.limit is not None and self.launch.done > self.launch.limit:
            self.raise_limit_exceeded(op)

    def raise_limit_exceeded(self, op: Operation) -> NoReturn:
        """Raise the fault for exceeding the operation limit."""
        raise make_fault(
            op,
            "too-long",
            f"step limit of {self.launch.limit} operations reached",
            remedy="raise --max-steps N (unless the kernel waits for another block)",
        )

    def load(self, addresses: np.ndarray, element_type) -> np.ndarray:
        """Held values at flat addresses."""
        size = storage_bits(element_type) // 8
        return from_bit_patterns(self.launch.memory.load(addresses, size), element_type)

    def store(self, addresses: np.ndarray, values: np.ndarray, element_type) -> None:
        """Write held values to flat addresses."""
        words = to_bit_patterns(values, element_type)
        if self.choice.first_wins:
            addresses, words = addresses[::-1], words[::-1]
        self.launch.memory.store(addresses, words)


def find_entry(module: Operation, entry: str) -> EntryOp:
    """The kernel of that name; raises InvalidInput with the existing names."""
    entries = {op.sym_name.data: op for op in module.walk() if isinstance(op, EntryOp)}
    if entry not in entries:
        raise InvalidInput(
            "no-such-entry",
            f"no kernel '{entry}' in this module",
            remedy=suggest(entry, sorted(entries)),
        )
    return entries[entry]


def unpack_parameter(type: TileType, data: bytes, index: int):
    """The scalar tile in a parameter's bytes."""
    size = storage_bits(type.element_type) // 8
    if len(data) != size:
        raise InvalidInput("parameter-size", f"parameter {index} of type {type} has {size} bytes, got {len(data)}")
    return from_bit_patterns(np.frombuffer(bytes(data), unsigned_dtype(size)).reshape(()).copy(), type.element_type)


def pad_to_3d(sizes: Sequence[int]) -> tuple[int, int, int]:
    """The sizes along x, y and z; 1 along those that are not given."""
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def tile_block_ids(grid: tuple[int, int, int]) -> Iterable[tuple[int, int, int]]:
    """The coordinates of every tile block, x fastest."""
    return ((x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0]))


def launch(
    module_or_bytecode: builtin.ModuleOp | bytes,
    entry: str,
    grid: int | Sequence[int],
    params: Sequence[bytes],
    *,
    memory: Memory,
    order: Iterable[tuple[int, int, int]] | None = None,
    choice: Choice | None = None,
    output: Callable[[str], None] = print,
    limit: int | None = None,
) -> int:
    """Run ``entry`` over a grid of tile blocks; return the number of executed operations.

    ``grid`` counts tile blocks per axis; ``params`` holds one bytes object per parameter of the entry. ``order`` lists
    block coordinates (default: all, x fastest); blocks run one after the other. ``choice`` decides what Tile IR leaves
    open; ``output`` gets what kernels print; ``limit`` is the most operations that may run. Raises InterpreterFault
    where the kernel breaks a rule that the interpreter checks.
    """
    module = module_or_bytecode
    if isinstance(module, (bytes, bytearray)):
        module = read_module(module)
    kernel = find_entry(module, entry)
    sizes = pad_to_3d((grid,) if isinstance(grid, int) else grid)
    arguments = kernel.body.block.args
    if len(params) != len(arguments):
        raise InvalidInput("parameter-count", f"{entry} takes {len(arguments)} parameters, got {len(params)}")
    values = [
        unpack_parameter(tile_of(argument), data, index)
        for index, (argument, data) in enumerate(zip(arguments, params))
    ]
    shared = Launch(module, sizes, memory, choice or Choice(), output, limit)
    with np.errstate(all="ignore"):
        for block_id in order if order is not None else tile_block_ids(sizes):
            frame = Frame(shared, block_id)
            frame.bind(arguments, values)
            frame.run(kernel.body.block)
    return shared.done
