"""The address space of kernels: mapped regions of the process's memory, without copies.

A generic address is a process address, except in two windows above every process address: ``SHARED_WINDOW``
(+ offset in the CTA's shared memory) and ``LOCAL_WINDOW`` (+ offset in the thread's local memory). Kernel
parameters are in ``PARAM_WINDOW``. ``.global`` and ``.const`` variables are ordinary process memory. A multicast object
has copies in the memory of several GPUs; its address is ``MULTICAST_WINDOW`` + that of the first copy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SHARED_WINDOW = 1 << 56
LOCAL_WINDOW = 1 << 57
PARAM_WINDOW = 1 << 58
MULTICAST_WINDOW = 1 << 59
WINDOW_SIZE = 1 << 32

_ORIGIN_ALIGN = 64  # covers the widest access, 32 bytes


def bytes_at(address: int, count: int) -> np.ndarray:
    """Bytes of the process's memory, without a copy."""
    return np.frombuffer(
        (ctypes.c_uint8 * count).from_address(address), np.uint8
    )  # avoids the import of numpy.ctypeslib


class Region:
    """A mapped region ``[base, base + size)``. Views start at ``origin``, the base rounded down to 64 bytes.

    The bytes between origin and base (and past the end up to the next 64) belong to the same pages, and are
    never accessed: every access is checked against [pad, pad + size) first.
    """

    __slots__ = ("at", "base", "end", "keep", "origin", "pad", "size", "views")

    def __init__(self, base: int, size: int, keep=None):
        self.base, self.size, self.keep = base, size, keep
        self.origin = base & ~(_ORIGIN_ALIGN - 1)
        self.pad = base - self.origin
        self.end = self.pad + size
        self.views: dict[type, np.ndarray] = {}
        self.at = self.origin

    def view(self, dtype) -> np.ndarray:
        """The region from ``origin`` as a flat array of ``dtype`` (rounded up to whole elements)."""
        found = self.views.get(dtype)
        if found is None:
            length = -(-self.end // _ORIGIN_ALIGN) * _ORIGIN_ALIGN
            found = self.views[dtype] = bytes_at(self.at, length).view(dtype)
        return found

    def bytes(self) -> np.ndarray:
        """A view of the bytes of the region."""
        return bytes_at(self.base, self.size)

    def move(self, at: int | None) -> None:
        """Redirect the region to a copy with its origin at ``at`` (None: the original bytes), under the same addresses."""
        self.at = self.origin if at is None else at
        self.views = {}


@dataclass(frozen=True)
class MulticastObject:
    """``size`` bytes at ``base``, and the address of each copy."""

    base: int
    size: int
    copies: tuple[int, ...]


class Memory:
    """The set of mapped regions of one launch."""

    def __init__(self):
        self.regions: list[Region] = []
        self.multicast_objects: list[MulticastObject] = []
        self.heap = None  # a DeviceHeap, created by the first malloc
        self._bases = None

    def map(self, address: int, size: int, keep=None) -> None:
        """Map ``size`` bytes of process memory at ``address``. Overlapping regions are merged."""
        if size <= 0:
            return
        start, end = int(address), int(address) + int(size)
        keeps, rest = [keep], []
        for region in self.regions:
            if region.base < end and start < region.base + region.size:
                start, end = min(start, region.base), max(end, region.base + region.size)
                keeps.append(region.keep)
            else:
                rest.append(region)
        self.regions = sorted([*rest, Region(start, end - start, keeps)], key=lambda r: r.base)
        self._bases = None

    def unmap(self, address: int) -> None:
        """Unmap the region that starts at ``address``."""
        self.regions = [region for region in self.regions if region.base != address]
        self._bases = None

    def map_array(self, array: np.ndarray) -> int:
        """Map the storage of a contiguous NumPy array and return its address."""
        if not array.flags.c_contiguous:
            raise ValueError("only C-contiguous arrays can be mapped")
        address = array.__array_interface__["data"][0]
        self.map(address, array.nbytes, array)
        return address

    def map_multicast(self, copies: Sequence[np.ndarray]) -> int:
        """Map arrays of equal size as the copies of one multicast object; returns its address, for multimem instructions."""
        if len({array.nbytes for array in copies}) != 1:
            raise ValueError("the copies of a multicast object need the same size")
        addresses = tuple(map(self.map_array, copies))
        known = MulticastObject(MULTICAST_WINDOW + addresses[0], copies[0].nbytes, addresses)
        self.multicast_objects = sorted([*self.multicast_objects, known], key=lambda one: one.base)
        return known.base

    def find(self, address: int) -> Region | None:
        """The region that contains ``address``."""
        for region in self.regions:
            if region.base <= address < region.base + region.size:
                return region
        return None

    def locate(self, addresses: np.ndarray) -> np.ndarray:
        """Index of the region of each address (int64), -1 for unmapped addresses."""
        if not self.regions:
            return np.full(addresses.shape, -1)
        if self._bases is None:
            self._bases = np.array([r.base for r in self.regions], np.uint64)
            self._ends = np.array([r.base + r.size for r in self.regions], np.uint64)
        index = np.searchsorted(self._bases, addresses, "right").astype(np.int64) - 1
        inside = (index >= 0) & (addresses < self._ends[np.maximum(index, 0)])
        return np.where(inside, index, -1)
