"""Elements of tiles as one thread holds them: scalars, lanes of 32-bit words, and values that are emitted at their first use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.dialects.llvm import ConstantOp
from xdsl.ir import Block, SSAValue

from ...analysis.scratch_memory_sizes import SPILL_VECTOR_REGS
from ...common.llvm_element_types import Element
from ...common.llvm_type_constructors import I1, I8
from ...common.llvm_type_constructors import vector as vector_of
from .function_builder import Value
from .instruction_builder import InstructionBuilder

T = TypeVar("T")


class LazyValues:
    """The results of one load or computation, which is emitted at the first use of one of them. ``reads``: the values that stay in
    registers until then, by identity.
    """

    def __init__(self, load: Callable[[], Sequence[RegisterValue]], reads: frozenset[int] = frozenset()):
        self.load, self.reads = load, reads
        self.loaded: Sequence[RegisterValue] | None = None

    def all(self, b: InstructionBuilder) -> Sequence[RegisterValue]:
        if self.loaded is None:
            self.loaded = self.load()
        return self.loaded

    def value(self, b: InstructionBuilder, position: int) -> RegisterValue:
        return self.all(b)[position]


class RematerializedValues(LazyValues):
    """Values that are emitted again in each basic block with a use, including both arms of a branch and its join."""

    block: Block | None = None

    def all(self, b: InstructionBuilder) -> Sequence[RegisterValue]:
        if self.block is not b.block:
            self.loaded, self.block = None, b.block
        return super().all(b)


@dataclass(frozen=True, eq=False)
class LazyElement:
    """One element of a ``LazyValues``."""

    source: LazyValues
    position: int

    def materialize(self, b: InstructionBuilder) -> Value:
        return materialize(b, self.source.value(b, self.position))


@dataclass(frozen=True)
class PackedLane:
    """Element ``position`` of a 32-bit word that holds several; extracted only where it is used."""

    word: SSAValue | LazyElement
    position: int
    element: Element

    def materialize(self, b: InstructionBuilder) -> Value:
        word = materialize(b, self.word)
        vector = b.cast("bitcast", word, vector_of(32 // self.element.bits, self.element.crossing_type))
        value = b.element(vector, self.position)
        return b.compare("ne", value, 0, I8) if self.element.type == I1 else value


# An element of a tile: a scalar, or a value from which a scalar is materialized at its use.
RegisterValue = Value | PackedLane | LazyElement
UNMATERIALIZED = (PackedLane, LazyElement)


def materialize(b: InstructionBuilder, value: RegisterValue) -> Value:
    """The scalar or word itself, emitted at the insertion point if it is not available yet."""
    return value.materialize(b) if isinstance(value, UNMATERIALIZED) else value


def held_by(values: Iterable[RegisterValue]) -> frozenset[int]:
    """The values that are in registers until ``values`` are materialized, by identity; constants are not."""
    return frozenset(name for value in values for name in _held(value))


def _held(value: RegisterValue) -> Iterable[int]:
    if isinstance(value, PackedLane):
        return _held(value.word)
    if isinstance(value, LazyElement):
        loaded = value.source.loaded
        return value.source.reads if loaded is None else _held(loaded[value.position])
    return () if isinstance(value, int) or isinstance(value.owner, ConstantOp) else (id(value),)


def spill_vectors(values: Sequence[T]) -> list[Sequence[T]]:
    """Groups of as many values as one access spills. Elements that are computed at their use are computed by such groups."""
    return [values[first : first + SPILL_VECTOR_REGS] for first in range(0, len(values), SPILL_VECTOR_REGS)]
