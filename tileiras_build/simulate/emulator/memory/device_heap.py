"""The device's heap, which malloc and free manage (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation")."""

from __future__ import annotations

import numpy as np

from .address_space import Memory

HEAP_BYTES = 8 << 20  # cudaLimitMallocHeapSize where nobody has set it
ALIGNMENT = 16  # of every address that malloc gives
POISON_BYTE = 0xCD  # what nobody has written reads as this


class DeviceHeap:
    """Blocks in the memory of one launch; one that was freed faults when it is used."""

    def __init__(self, memory: Memory):
        self._memory, self._left = memory, HEAP_BYTES
        self._blocks: dict[int, np.ndarray] = {}
        self._freed: list[np.ndarray] = []  # kept, so that no other block gets their addresses

    def allocate(self, size: int) -> int:
        """The address of ``size`` bytes; 0 if there are not as many left."""
        if size > self._left:
            return 0
        block = np.full(size + ALIGNMENT, POISON_BYTE, np.uint8)
        address = -(-block.__array_interface__["data"][0] // ALIGNMENT) * ALIGNMENT
        self._memory.map(address, max(size, 1), block)
        self._blocks[address] = block
        self._left -= size
        return address

    def free(self, address: int) -> bool:
        """End a block; False if there is none at ``address``."""
        if address == 0:
            return True
        if (block := self._blocks.pop(address, None)) is None:
            return False
        self._memory.unmap(address)
        self._left += block.size - ALIGNMENT
        self._freed.append(block)
        return True
