"""A launch as the model sees it: the grid, the block size and the constant banks.

A pointer's value encodes the index of its parameter, so that an address identifies its array.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...target.gpu_rates import BankLayout
from .tile_order import ROW_MAJOR, Shape, TileOrder

BUFFER_BITS = 40  # address bits of an array


@dataclass(frozen=True)
class GlobalBuffer:
    """An array in global memory; ``access`` as in a launch manifest. ``content``: bytes that it repeats; empty if unknown."""

    name: str
    size: int  # bytes
    access: str = "updated"
    content: bytes = b""

    @property
    def is_read(self) -> bool:
        """Whether the kernel reads it."""
        return self.access in ("loaded", "updated")

    @property
    def is_written(self) -> bool:
        """Whether the kernel writes it."""
        return self.access in ("stored", "updated")


@dataclass(frozen=True)
class Argument:
    """A parameter of a launch: ``size`` bytes at ``offset`` from the first; ``value`` is an array, a scalar, or None."""

    offset: int
    size: int
    value: GlobalBuffer | int | float | None


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel; ``shared_memory`` is the dynamic part, in bytes of a block.

    ``tile_programs``: the tile blocks that the clusters of a persistent kernel loop over; 0 for other kernels.
    ``order``: which tile block each cluster computes.
    """

    grid: Shape
    block: Shape
    arguments: tuple[Argument, ...]
    cluster: Shape = (1, 1, 1)
    shared_memory: int = 0
    tile_programs: int = 0
    order: TileOrder = ROW_MAJOR

    @property
    def blocks(self) -> int:
        """The number of CTAs."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        """The number of threads of a CTA."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def cluster_blocks(self) -> int:
        """The number of CTAs of a cluster."""
        return self.cluster[0] * self.cluster[1] * self.cluster[2]

    @property
    def clusters(self) -> Shape:
        """The number of clusters along each axis, rounded up."""
        x, y, z = (-(-size // part) for size, part in zip(self.grid, self.cluster, strict=True))
        return x, y, z

    @property
    def buffers(self) -> dict[int, GlobalBuffer]:
        """The arrays by ``buffer_of`` their addresses."""
        return {n: one.value for n, one in enumerate(self.arguments, 1) if isinstance(one.value, GlobalBuffer)}


def buffer_of(address: int) -> int:
    """The array of an address: the index of its parameter, counted from 1."""
    return address >> BUFFER_BITS


STACK = 0xFFFC00  # the initial stack pointer of a thread
PARAMETER_SPACE = 1 << 62  # the generic address of the parameters


@dataclass
class Constants:
    """What a launch does not change: bank 0 as words by offset, the others as bytes from the cubin, and what arrays that are only
    read contain, by ``buffer_of`` their addresses.
    """

    words: dict[int, int]
    banks: Mapping[int, bytes] = field(default_factory=dict)
    contents: Mapping[int, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, launch: Launch, layout: BankLayout, banks: Mapping[int, bytes]) -> Constants:
        """The constant banks of a launch."""
        words: dict[int, int] = {layout.stack: STACK}
        rows = ((layout.block, launch.block), (layout.grid, launch.grid), (layout.cluster, launch.cluster),
                (layout.clusters, launch.clusters), (layout.rank, (launch.cluster_blocks,)),
                (layout.reciprocals, tuple(map(_reciprocal, launch.cluster))))  # fmt: skip
        for start, extents in rows:
            if start is not None:
                words |= {start + 4 * axis: extent for axis, extent in enumerate(extents)}
        words |= _split(layout.pointer, struct.pack("<Q", PARAMETER_SPACE))
        for number, argument in enumerate(launch.arguments, 1):
            words |= _split(layout.parameters + argument.offset, _packed(number, argument))
        contents = {n: one.content for n, one in launch.buffers.items() if one.content and not one.is_written}
        return cls(words, banks, contents)

    def word(self, bank: int, offset: int) -> int | None:
        """A 32-bit word; None if it is unknown."""
        if bank == 0:
            return self.words.get(offset)
        data = self.banks.get(bank, b"")[offset : offset + 4]
        return int.from_bytes(data, "little") if len(data) == 4 else None

    def element(self, address: int, size: int, is_signed: bool = False) -> int | None:
        """``size`` bytes of global memory as an integer; None if they are unknown."""
        content = self.contents.get(buffer_of(address))
        if content is None:
            return None
        start = address % (1 << BUFFER_BITS)
        data = bytes(content[(start + n) % len(content)] for n in range(size))
        return int.from_bytes(data, "little", signed=is_signed)


def _reciprocal(extent: int) -> int:
    """The bits of 1 / ``extent`` in f32."""
    return int.from_bytes(struct.pack("<f", 1 / extent), "little")


def _packed(number: int, argument: Argument) -> bytes:
    value = argument.value
    if value is None:
        return b""
    if isinstance(value, GlobalBuffer):
        return struct.pack("<Q", number << BUFFER_BITS)
    if isinstance(value, float):
        return struct.pack("<d" if argument.size == 8 else "<f", value)
    return (value & (1 << 8 * argument.size) - 1).to_bytes(argument.size, "little")


def _split(offset: int, data: bytes) -> dict[int, int]:
    """Words by offset; partial words are padded with zeros."""
    padding = offset % 4
    data = bytes(padding) + data
    data += bytes(-len(data) % 4)
    return {offset - padding + n: int.from_bytes(data[n : n + 4], "little") for n in range(0, len(data), 4)}
