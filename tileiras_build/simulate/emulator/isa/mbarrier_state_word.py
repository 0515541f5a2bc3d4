"""The emulator's format of mbarrier words, which are opaque in PTX (PTX ISA 9.0, section 9.7.13.15.1).

Bits 0-19: expected arrivals, 20-39: pending arrivals, 40-62: pending transaction bytes, 63: phase parity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..memory.cta_memories import CtaMemories

COUNT_BIAS = 1 << 22
COUNT_LIMIT = (1 << 20) - 1


def pack(expected: np.ndarray, pending: np.ndarray, tx: np.ndarray, phase: np.ndarray) -> np.ndarray:
    """Pack fields (int64 arrays) into words."""
    word = expected | pending << 20 | (tx + COUNT_BIAS) << 40 | phase << 63
    return np.asarray(word, np.int64).view(np.uint64)


def initial(count: int) -> np.uint64:
    """The word of a new mbarrier that expects ``count`` arrivals."""
    return np.uint64(count | count << 20 | COUNT_BIAS << 40)


def unpack(words: np.ndarray) -> tuple[np.ndarray, ...]:
    """Unpack words into (expected, pending, tx, phase), int64 arrays."""
    bits = np.asarray(words).view(np.int64)
    return bits & 0xFFFFF, bits >> 20 & 0xFFFFF, (bits >> 40 & 0x7FFFFF) - COUNT_BIAS, bits >> 63 & 1


def pending_tx(words: np.ndarray) -> np.ndarray:
    """The pending transaction bytes of words, int64."""
    return (words.view(np.int64) >> 40 & 0x7FFFFF) - COUNT_BIAS


def describe(memories: CtaMemories, position: int) -> str:
    """Describe the state of an mbarrier; ``position`` is the index of its word in the batch's shared memory."""
    expected, pending, tx, phase = (int(x) for x in unpack(memories.shared_view(np.uint64)[position]))
    return f"in phase {phase} with {pending} of {expected} arrivals and {tx} bytes pending"
