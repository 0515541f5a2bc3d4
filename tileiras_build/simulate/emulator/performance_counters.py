"""Performance counters of a launch: instructions by kind, global memory traffic, tensor core operations.

An instruction counts once per thread that executes it, also if its predicate is false. MMAs and bulk copies count once per
issuing warp, warpgroup or thread. A *request* is one global memory instruction of one warp. A *sector* is a 32-byte piece
that a request accesses (CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory"): n threads that read adjacent
words need n / 8 sectors, scattered words n.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from .simt.broadcasting import unique_integers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .ptx.ast import Instruction

SECTOR = 32  # bytes
TENSOR, MEMORY, FLOATS, INTEGERS, CONTROL, SYNCHRONIZATION, MOVES = KINDS = (
    "tensor cores", "memory", "floating point", "integer and logic", "control flow", "synchronization", "moves and conversions",
)  # fmt: skip
_CLASS_OF_OPCODE = {
    **dict.fromkeys(("mma", "wgmma", "tcgen05"), TENSOR),
    **dict.fromkeys(("ld", "ldu", "st", "atom", "red", "cp", "ldmatrix", "stmatrix", "prefetch", "prefetchu", "multimem"), MEMORY),
    **dict.fromkeys(("bra", "brx", "call", "ret", "exit", "trap", "brkpt"), CONTROL),
    **dict.fromkeys(
        ("bar", "barrier", "mbarrier", "fence", "membar", "griddepcontrol", "nanosleep", "setmaxnreg", "elect"), SYNCHRONIZATION
    ),
    **dict.fromkeys(("mov", "cvt", "cvta", "prmt", "shfl", "movmatrix", "mapa", "selp"), MOVES),
    **dict.fromkeys(("ex2", "lg2", "sin", "cos", "tanh", "rsqrt", "testp", "copysign"), FLOATS),
}  # fmt: skip
_FLOAT = re.compile(r"^(f16|f32|f64|bf16)(x2)?$")
_SHAPE = re.compile(r"^m(\d+)n(\d+)k(\d+)$")
_THREADS = {"mma": 32, "wgmma": 128, "tcgen05": 1}


def instruction_class(ins: Instruction) -> str:
    """One of KINDS."""
    found = _CLASS_OF_OPCODE.get(ins.op)
    if found is not None:
        return found
    return FLOATS if any(map(_FLOAT.match, ins.mods)) else INTEGERS


def tensor_operations(ins: Instruction) -> int:
    """Operations (two per multiply-add) of one issue of an MMA with its shape in the opcode.

    tcgen05.mma, whose shape is in a register, is counted at run time.
    """
    shape = next((match for mod in ins.mods if (match := _SHAPE.match(mod))), None)
    if ins.op not in ("mma", "wgmma") or shape is None:
        return 0
    m, n, k = map(int, shape.groups())
    return 2 * m * n * k


def instruction_mix(code: Iterable[Instruction]) -> tuple[Counter[str], float]:
    """(instructions by kind, tensor core operations) of one thread that executes ``code``."""
    kinds: Counter[str] = Counter()
    operations = 0.0
    for ins in code:
        if not ins.op.startswith("_"):
            kinds[instruction_class(ins)] += 1
        operations += tensor_operations(ins) / _THREADS.get(ins.op, 1)
    return kinds, operations


class Counters:
    """The counters of a launch. ``bank_conflicts`` maps (line, instruction) to extra shared-memory wavefronts, ``accesses`` to
    the wavefronts without conflicts; ``instructions`` maps a kind to a count."""

    def __init__(self):
        self.bank_conflicts: dict[tuple[int, str], int] = {}
        self.accesses: dict[tuple[int, str], int] = {}
        self.blocks = 0
        self.thread_instructions = 0
        self.instructions: dict[str, int] = {}
        self.tensor_operations = 0
        self.global_read = self.global_written = 0  # bytes
        self.shared_read = self.shared_written = 0
        self.requests = self.sectors = self.bulk_copies = 0

    def add(self, other: Counters) -> None:
        """Add the counters of another part of the launch."""
        for name, value in vars(other).items():
            own = getattr(self, name)
            if isinstance(value, dict):
                own.update({key: own.get(key, 0) + count for key, count in value.items()})
            else:
                setattr(self, name, own + value)


def count_run(counters: Counters, code: Iterable[Instruction], key: tuple, threads: int) -> None:
    """Count the execution of ``code`` by ``threads`` threads; ``key`` identifies ``code``."""
    found = _summaries.get(key)
    if found is None:
        found = _summaries[key] = instruction_mix(code)
    kinds, operations = found
    for kind, number in kinds.items():
        counters.instructions[kind] = counters.instructions.get(kind, 0) + number * threads
    counters.tensor_operations += round(operations * threads)


_summaries: dict[tuple, tuple[Counter[str], float]] = {}


def count_global(counters: Counters, warps: np.ndarray, start: np.ndarray, size: int, writes: bool) -> None:
    """Count accesses of ``size`` bytes at addresses ``start`` (n) by threads of ``warps`` (n) in one instruction."""
    if not len(start):
        return
    first, last = start // SECTOR, (start + (size - 1)) // SECTOR
    rows = [np.stack((warps, first + step)) for step in range(int((last - first).max()) + 1)]
    rows = [row[:, row[1] <= last] for row in rows]
    counters.requests += len(unique_integers(warps))
    counters.sectors += np.unique(np.concatenate(rows, axis=1), axis=1).shape[1]
    _add_bytes(counters, size * len(start), writes)


def count_bulk(counters: Counters | None, copies: int, size: int, writes: bool) -> None:
    """Count bulk copies of ``size`` bytes of global memory in total."""
    if counters is None:
        return
    counters.bulk_copies += copies
    _add_bytes(counters, size, writes)


def _add_bytes(counters: Counters, size: int, writes: bool) -> None:
    if writes:
        counters.global_written += size
    else:
        counters.global_read += size
