"""The innermost loop whose body is emitted."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Block

from .function_builder import Edge


@dataclass
class LoopFrame:
    """Where ``continue`` and ``break`` branch to, and with which values."""

    latch: Block
    exit: Block
    packed: frozenset[int] = frozenset()  # indices of the carried values that are packed in 32-bit words
    continues: list[Edge] = field(default_factory=list)
    breaks: list[Edge] = field(default_factory=list)
