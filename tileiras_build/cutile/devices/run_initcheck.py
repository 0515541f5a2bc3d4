"""The check of uninitialised memory: whether what a launch writes depends on what nobody has written.

Kernels read more than they use: a tile is loaded whole, and what is not wanted of it is masked away. So reads of unwritten
memory (``simulate/emulator/sanitizers/initcheck.py``) are no fault by themselves. A launch that has some is run once more with every bit of that
memory turned that varies. Where both runs write the same, nothing depends on it; where they write bytes that differ in
just these bits, it was copied, and is as unwritten as before; everything else is computed from it.
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
    """``run`` a launch. Raises the fault of its first read of unwritten memory in ``spans`` (address, bytes), if what it
    writes depends on such memory; memory then holds what the first run has written. One that is not repeatable is not judged."""
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
    """Whether some bytes are neither the same nor copies of what was turned."""
    for start in range(0, len(one), CHUNK):
        changed = one[start : start + CHUNK] ^ other[start : start + CHUNK]
        if ((changed != 0) & (changed != VARYING)).any():
            return True
    return False


def _images(memory: emulator.Memory) -> Images:
    return [region.bytes().copy() for region in memory.regions]


def _restore(memory: emulator.Memory, images: Images) -> None:
    """Arrays that are only read may be in memory that cannot be written."""
    for region, image in zip(memory.regions, images, strict=True):
        for start in range(0, len(image), CHUNK):
            own, part = region.bytes()[start : start + CHUNK], image[start : start + CHUNK]
            if not np.array_equal(own, part):
                own[:] = part
