"""The device heap of malloc and free (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation")."""

from __future__ import annotations

import numpy as np

from .address_space import Memory

HEAP_BYTES = 8 << 20  # the default of cudaLimitMallocHeapSize
ALIGNMENT = 16  # of the addresses returned by malloc
POISON_BYTE = 0xCD  # the value of uninitialized bytes


class DeviceHeap:
    """Allocations in the memory of one launch; accesses of freed blocks are faults."""

    def __init__(self, memory: Memory):
        self._memory, self._left = memory, HEAP_BYTES
        self._blocks: dict[int, np.ndarray] = {}
        self._freed: list[np.ndarray] = []  # retained, so that their addresses are not reused

    def allocate(self, size: int) -> int:
        """Allocate ``size`` bytes; returns the address, or 0 if the heap is full."""
        if size > self._left:
            return 0
        block = np.full(size + ALIGNMENT, POISON_BYTE, np.uint8)
        address = -(-block.__array_interface__["data"][0] // ALIGNMENT) * ALIGNMENT
        self._memory.map(address, max(size, 1), block)
        self._blocks[address] = block
        self._left -= size
        return address

    def free(self, address: int) -> bool:
        """Free a block; returns False if there is none at ``address``."""
        if address == 0:
            return True
        if (block := self._blocks.pop(address, None)) is None:
            return False
        self._memory.unmap(address)
        self._left += block.size - ALIGNMENT
        self._freed.append(block)
        return True
