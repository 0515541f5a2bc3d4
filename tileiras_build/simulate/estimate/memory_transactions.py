"""The memory transactions of a warp's access: sectors of global memory, wavefronts of shared memory.

Global memory is accessed in sectors of 32 bytes (CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory").
Shared memory has 32 banks of 4 bytes; accesses to different addresses in one bank are serialized (CUDA C++ Programming Guide,
"Shared Memory" of each compute capability). Accesses of 8 bytes per thread are served by half-warp, of 16 bytes by
quarter-warp, and LDSM and STSM by matrix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ...target.sm_limits import WARP
from .constant_bank_values import buffer_of
from .lane_values import Lanes, to_lanes
from .sass_operands import MEMORY, Operand
from .sass_parser import Instruction

SECTOR_BYTES, LINE_BYTES, BANK_BYTES, BANKS = 32, 128, 4, 32
MATRIX_ROW_BYTES = 16  # bytes of a matrix row of LDSM and STSM, whose address one lane supplies
# Of accesses, and of the vectors that RED and ATOM add.
_SIZES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32, "F64": 8, "F32x2": 8, "F32x4": 16}
_SIZES |= {f"{kind}x{count}": 2 * count for kind in ("F16", "BF16") for count in (2, 4, 8)}
_MATRICES = {"2": 2, "4": 4}
GLOBAL = ("LDG", "STG", "ATOMG", "REDG", "RED", "ATOM", "LD", "ST")
SHARED = ("LDS", "STS", "LDSM", "STSM", "ATOMS")
GENERIC = ("LD", "ST")  # those of shared memory of other CTAs, whose addresses ``mapa`` makes, among them
NO_BUFFER = 0  # of an address outside all arrays
ASYNC = ("LDGSTS",)
LOADS = ("LDG", "LD", "LDGSTS")


_PATTERNS: dict[tuple[bytes, bytes, str, int], int] = {}  # wavefronts by access pattern relative to the first line


@dataclass
class Transactions:
    """The transactions of one execution: ``sectors`` by array (``buffer_of``), ``lines`` of 128 bytes, and ``wavefronts`` of
    shared memory. ``peer_bytes``: to or from the shared memory of a CTA of the cluster. ``known``: whether the addresses are known.
    ``place``: the first byte of global memory, if it is known. ``is_fill``: whether a copy to shared memory writes zeros alone.
    """

    bytes: int = 0
    sectors: dict[int, int] = field(default_factory=dict)
    lines: int = 0
    wavefronts: int = 0
    peer_bytes: int = 0
    known: bool = True
    place: int | None = None
    is_fill: bool = False


def size_of(one: Instruction) -> int:
    """Bytes per lane."""
    if one.opcode in ("LDSM", "STSM"):
        return 4 * _matrices(one)
    return next((_SIZES[modifier] for modifier in one.modifiers if modifier in _SIZES), 4)


def _matrices(one: Instruction) -> int:
    return next((_MATRICES[modifier] for modifier in reversed(one.modifiers) if modifier in _MATRICES), 1)


def address_operands(one: Instruction) -> tuple[Operand | None, Operand | None]:
    """The operands that name places in global and in shared memory."""
    found = [operand for operand in one.operands if operand.kind == MEMORY]
    if one.opcode in ASYNC:
        return (found[1], found[0]) if len(found) > 1 else (None, None)
    if one.opcode in SHARED:
        return None, found[0] if found else None
    return (found[-1] if found else None), None


def read_predicate(one: Instruction) -> Operand | None:
    """The predicate behind the addresses of LDGSTS: where it is false, a lane reads nothing, and writes zeros. ptxas puts the negated
    ``ignore-src`` of cp.async there, or whether its ``src-size`` is above 0.
    """
    last = one.operands[-1] if one.opcode in ASYNC and one.operands else None
    return last if last is not None and last.is_predicate else None


def count_transactions(
    one: Instruction, far: Lanes, near: Lanes, lanes: np.ndarray, reading: np.ndarray | None = None
) -> Transactions:
    """The transactions of the lanes at addresses in global (``far``) and shared memory (``near``). ``reading``: those that access
    global memory, where others only write zeros.
    """
    size, count = size_of(one), int(lanes.sum())
    reading = lanes if reading is None else reading
    found = Transactions(bytes=size * count, is_fill=not reading.any())
    place, other = address_operands(one)
    if place is not None and not found.is_fill:
        _add_global(found, far, size, reading, one.opcode in GENERIC)
    if other is not None:
        _add_shared(found, one, near, size, lanes)
    return found


def _add_global(found: Transactions, far: Lanes, size: int, lanes: np.ndarray, generic: bool) -> None:
    if far is None:
        # Unknown addresses are assumed to be coalesced.
        read = size * int(lanes.sum())
        found.known, found.sectors, found.lines = False, {0: -(-read // SECTOR_BYTES)}, -(-read // LINE_BYTES)
        return
    starts = to_lanes(far)[lanes].tolist()
    if generic and all(buffer_of(start) == NO_BUFFER for start in starts):
        found.peer_bytes = found.bytes
        return
    sectors = {(start + step) // SECTOR_BYTES for start in starts for step in range(0, size, min(size, SECTOR_BYTES))}
    found.sectors = dict(Counter(buffer_of(sector * SECTOR_BYTES) for sector in sectors))
    found.place = min(starts)
    found.lines = len({sector * SECTOR_BYTES // LINE_BYTES for sector in sectors})


def _add_shared(found: Transactions, one: Instruction, near: Lanes, size: int, lanes: np.ndarray) -> None:
    if near is None:
        found.known, found.wavefronts = False, max(-(-found.bytes // LINE_BYTES), 1)
        return
    starts = to_lanes(near)
    # Bank conflicts depend on addresses modulo the bank width only, so patterns are cached relative to the first line.
    base = int(starts[0]) // LINE_BYTES * LINE_BYTES
    pattern = ((starts - base).tobytes(), lanes.tobytes(), one.opcode, size)
    if pattern not in _PATTERNS:
        _PATTERNS[pattern] = sum(_wavefronts(part) for part in _served_groups(one, starts - base, size, lanes))
    found.wavefronts = _PATTERNS[pattern]


def _served_groups(one: Instruction, starts: np.ndarray, size: int, lanes: np.ndarray) -> Iterator[np.ndarray]:
    """The word addresses of each group of lanes that is served separately."""
    if one.opcode in ("LDSM", "STSM"):
        for matrix in range(_matrices(one)):
            rows = starts[8 * matrix : 8 * matrix + 8]
            yield (rows[:, None] + np.arange(0, MATRIX_ROW_BYTES, BANK_BYTES)).ravel() // BANK_BYTES
        return
    together = WARP * BANK_BYTES // max(size, BANK_BYTES)
    for start in range(0, WARP, together):
        part = starts[start : start + together][lanes[start : start + together]]
        if part.size:
            yield (part[:, None] + np.arange(0, max(size, BANK_BYTES), BANK_BYTES)).ravel() // BANK_BYTES


def _wavefronts(words: np.ndarray) -> int:
    """The number of words in the most accessed bank."""
    return max(Counter(word % BANKS for word in set(words.tolist())).values())
