"""The memory of a kernel: mapped ranges of the process's memory, without copies."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from .element_types import unsigned_dtype

# The address of a multicast object is this + the address of its first copy: no address of the process.
MULTICAST_WINDOW = 1 << 59


class OutsideMemory(Exception):
    """An access of bytes that are not mapped; ``address`` is the first such address."""

    def __init__(self, address: int):
        super().__init__(f"address {address:#x} is not mapped")
        self.address = address


class MappedRegion:
    """One mapped range of bytes."""

    def __init__(self, base: int, size: int, keep: object):
        self.base, self.size, self.keep = base, size, keep
        self.data = np.frombuffer(memoryview((ctypes.c_uint8 * size).from_address(base)), np.uint8)


class Memory:
    """The mapped ranges of one launch, with the methods of ``emulator.Memory`` that a launcher needs."""

    def __init__(self):
        self.pieces: list[MappedRegion] = []
        self._bases = self._ends = np.zeros(0, np.uint64)
        self._multicast: dict[int, tuple[int, list[int]]] = {}  # address -> bytes, addresses of the copies

    def map(self, address: int, size: int, keep: object = None) -> None:
        """Map ``size`` bytes of process memory at ``address``; overlapping ranges are merged."""
        if size <= 0:
            return
        start, end, kept = int(address), int(address) + int(size), [keep]
        apart = []
        for piece in self.pieces:
            if piece.base < end and start < piece.base + piece.size:
                start, end = min(start, piece.base), max(end, piece.base + piece.size)
                kept.append(piece.keep)
            else:
                apart.append(piece)
        self.pieces = sorted([*apart, MappedRegion(start, end - start, kept)], key=lambda piece: piece.base)
        self._bases = np.array([piece.base for piece in self.pieces], np.uint64)
        self._ends = np.array([piece.base + piece.size for piece in self.pieces], np.uint64)

    def map_array(self, array: np.ndarray) -> int:
        """Map an array's bytes; returns the address of its first element."""
        start, end = np.lib.array_utils.byte_bounds(array)
        self.map(start, end - start, array)
        return array.ctypes.data

    def map_multicast(self, copies: Sequence[np.ndarray]) -> int:
        """Map arrays of equal size as the copies of one multicast object; returns the object's address."""
        addresses = [self.map_array(array) for array in copies]
        self._multicast[MULTICAST_WINDOW + addresses[0]] = copies[0].nbytes, addresses
        return MULTICAST_WINDOW + addresses[0]

    def addresses_of_copies(self, addresses: np.ndarray, size: int) -> list[np.ndarray]:
        """The addresses in each copy of ``size`` bytes at flat addresses of one multicast object; raises OutsideMemory."""
        if not len(addresses):
            return []
        first, last = int(addresses.min()), int(addresses.max()) + size
        for base, (length, copies) in self._multicast.items():
            if base <= first and last <= base + length:
                return [addresses - np.uint64(base) + np.uint64(copy) for copy in copies]
        raise OutsideMemory(first)

    def _locate(self, addresses: np.ndarray, size: int) -> np.ndarray:
        """The index of the range of each access; raises OutsideMemory for one that is not inside a range."""
        index = np.searchsorted(self._bases, addresses, "right").astype(np.int64) - 1
        inside = index >= 0
        if len(self._ends):
            inside &= addresses + np.uint64(size) <= self._ends[np.maximum(index, 0)]
        if not inside.all():
            raise OutsideMemory(int(addresses[~inside][0]))
        return index

    def load(self, addresses: np.ndarray, size: int) -> np.ndarray:
        """The words of ``size`` bytes at flat uint64 ``addresses``."""
        found = np.empty(len(addresses), unsigned_dtype(size))
        for _, piece, chosen, offsets in self._split(addresses, size):
            if not (offsets % size).any() and not piece.base % size:
                found[chosen] = piece.data[: piece.size // size * size].view(unsigned_dtype(size))[offsets // size]
            else:
                rows = piece.data[offsets[:, None] + np.arange(size)]
                found[chosen] = np.ascontiguousarray(rows).view(unsigned_dtype(size))[:, 0]
        return found

    def store(self, addresses: np.ndarray, words: np.ndarray) -> None:
        """Write words at flat uint64 ``addresses``; the last of several writes to one address wins."""
        size = words.dtype.itemsize
        for _, piece, chosen, offsets in self._split(addresses, size):
            values = np.ascontiguousarray(words[chosen])
            if not (offsets % size).any() and not piece.base % size:
                piece.data[: piece.size // size * size].view(words.dtype)[offsets // size] = values
            else:
                piece.data[offsets[:, None] + np.arange(size)] = values.view(np.uint8).reshape(-1, size)

    def _split(self, addresses: np.ndarray, size: int):
        if not len(addresses):
            return
        index = self._locate(addresses, size)
        for number in np.unique(index):
            piece = self.pieces[number]
            chosen = index == number
            yield number, piece, chosen, (addresses[chosen] - np.uint64(piece.base)).astype(np.int64)
