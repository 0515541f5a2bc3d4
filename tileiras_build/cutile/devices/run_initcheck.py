"""The check of uninitialized memory: whether what a launch writes depends on memory that nothing has written.

Kernels read more than they use: they load a whole tile and mask the unused elements. Therefore reads of unwritten memory
(``simulate/emulator/sanitizers/initcheck.py``) are not faults by themselves. A launch with such reads is repeated with every
varying bit of that memory flipped. If both runs write the same bytes, nothing depends on it. Bytes that differ in just these
bits were copied, and count as unwritten. Any other difference was computed from unwritten memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...simulate import emulator
from ...simulate.emulator.sanitizers.initcheck import CHUNK, VARYING, Initcheck, flip_varying_bits

Run = Callable[[Initcheck | None], None]
Images = list[np.ndarray]


def run_with_initcheck(
    run: Run, memory: emulator.Memory, spans: Sequence[tuple[int, int]], is_repeatable: bool
) -> None:
    """``run`` a launch. Raises the fault of its first read of unwritten memory in ``spans`` (address, bytes) if what it writes
    depends on such memory; memory then holds the results of the first run. A launch that is not repeatable is not checked.
    """
    reads, before = Initcheck(spans), _images(memory)
    run(reads)
    if reads.first is None or not is_repeatable:
        return
    after = _images(memory)
    _restore(memory, before)
    try:
        depends = _differs_with_other_bits(run, memory, spans, after)
    finally:
        _restore(memory, after)
    if depends:
        raise reads.first


def _differs_with_other_bits(
    run: Run, memory: emulator.Memory, spans: Sequence[tuple[int, int]], after: Images
) -> bool:
    for address, size in spans:
        flip_varying_bits(address, size)
    try:
        run(None)
    except emulator.EmulatorFault:
        return True
    return any(_is_computed(one, region.bytes()) for one, region in zip(after, memory.regions, strict=True))


def _is_computed(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether some bytes are neither equal nor copies of flipped memory."""
    for start in range(0, len(one), CHUNK):
        changed = one[start : start + CHUNK] ^ other[start : start + CHUNK]
        if ((changed != 0) & (changed != VARYING)).any():
            return True
    return False


def _images(memory: emulator.Memory) -> Images:
    return [region.bytes().copy() for region in memory.regions]


def _restore(memory: emulator.Memory, images: Images) -> None:
    """Restore memory that differs: arrays that are only read may be in read-only memory."""
    for region, image in zip(memory.regions, images, strict=True):
        for start in range(0, len(image), CHUNK):
            own, part = region.bytes()[start : start + CHUNK], image[start : start + CHUNK]
            if not np.array_equal(own, part):
                own[:] = part
