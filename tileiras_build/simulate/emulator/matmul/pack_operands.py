"""Packs operands for ``gemm.py`` in float64, from arrays or from PTX registers.

A factor of matrices (rows, k) becomes (rows / width, k, width): the numbers of ``width`` rows side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np

from ..native.native_code import address, addresses, identities, kernel, record
from ..numerics import float_formats

ROWS, COLUMNS = 4, 8  # of a group of A and of B
BLOCK, LINE = 8, 16  # rows of so many bytes, which a register of a warp holds: lane 4 r + t has word t of row r
# Kinds of numbers, in the order of packing.c -> the type of their bits.
KINDS: dict[str, type[np.unsignedinteger]] = {
    "f16": np.uint16, "bf16": np.uint16, "tf32": np.uint32, "f32": np.uint32, "e4m3": np.uint8, "e5m2": np.uint8,
}  # fmt: skip
_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
WIDTHS = ROWS, COLUMNS  # of A and of B
FEW_ARRAYS = 6  # arrays up to which their addresses are read one by one
IDENTITY_ORDER = np.arange(COLUMNS)
EVEN_COLUMNS_FIRST = np.concatenate([IDENTITY_ORDER[::2], IDENTITY_ORDER[1::2]])


class PackableMatrices(Protocol):
    """What is packed: ``stored``, an array (stack, rows, k), or if there are any ``blocks``, (rows / 8, columns of blocks) arrays (warps, 32 words) of the
    numbers of a ``kind`` with significant ``bits``, warps of which ``fold`` are one matrix."""

    @property
    def kind(self) -> str: ...
    @property
    def stored(self) -> np.ndarray: ...
    @property
    def blocks(self) -> Sequence[Sequence[np.ndarray]]: ...
    @property
    def fold(self) -> int: ...
    @property
    def shape(self) -> tuple[int, int, int]: ...
    @property
    def bits(self) -> int: ...


def kind_of(factor: PackableMatrices) -> str | None:
    """The kind of the elements, a key of ``KINDS``; None if unsupported."""
    if factor.blocks:
        return {"f16": "f16", "bf16": "bf16", "tf32": "tf32"}.get(factor.kind)
    stored = factor.stored.dtype
    return factor.kind if stored.kind == "u" else _OF_NUMBERS.get(stored)


_OF_NUMBERS = {np.dtype(np.float16): "f16", np.dtype(np.float32): "f32"}


def known_kind_of(factor: PackableMatrices) -> str:
    """The kind of the elements of a supported operand."""
    kind = kind_of(factor)
    assert kind is not None
    return kind


class PackedOperand:
    """One factor of every step, packed: (steps, matrices, rows / width, k, width), of ``each`` matrices of the stack at a time,
    or of the one that there is. ``step`` and ``matrix`` are how far the next one is, in numbers."""

    def __init__(self, steps: Sequence[PackableMatrices], side: int, each: int, *, is_apart: bool):
        stack, rows, k = steps[0].shape
        self.is_shared, self.width = stack == 1, WIDTHS[side]
        self.out = np.empty((len(steps), 1 if self.is_shared else each, rows // self.width, k, self.width))
        self.address, self.step = address(self.out), self.out[0].size
        self.matrix = 0 if self.is_shared else rows * k
        self.keepalive: list[np.ndarray] = []  # keeps arrays alive while their addresses are in use
        order = EVEN_COLUMNS_FIRST if is_apart and side else IDENTITY_ORDER[: self.width]
        prepare = self.from_registers if steps[0].blocks else self.from_arrays
        self.pack_some = prepare(steps, order)

    def pack(self, first: int, count: int) -> None:
        """Pack ``count`` matrices from index ``first`` on."""
        if not self.is_shared:
            self.pack_some(first, count)
        elif not first:
            self.pack_some(0, 1)

    def from_arrays(self, steps: Sequence[PackableMatrices], order: np.ndarray) -> Callable[[int, int], object]:
        arrays, kind = [factor.stored for factor in steps], known_kind_of(steps[0])
        _, rows, k = arrays[0].shape
        _, _, column = arrays[0].strides
        are_alike = all(one.strides == arrays[0].strides for one in arrays)
        if are_alike and rows % BLOCK == 0 and column == arrays[0].itemsize and k % _side_of(kind) == 0:
            return self.from_lines(arrays, kind, order)
        places = [self.address + 8 * self.step * number for number in range(len(arrays))]
        if are_alike:
            return self.from_rows(arrays, places, kind, order)
        calls = [self.from_rows([one], [place], kind, order) for one, place in zip(arrays, places)]

        def pack(first: int, count: int) -> None:
            for call in calls:
                call(first, count)

        return pack

    def from_rows(
        self, arrays: Sequence[np.ndarray], places: list[int], kind: str, order: np.ndarray
    ) -> Callable[[int, int], object]:
        """Of arrays with the same strides."""
        _, rows, k = arrays[0].shape
        matrix, row, column = arrays[0].strides
        table = np.array([[*map(address, arrays)], places])
        self.keepalive += [table, order]
        source, order_place = address(table), address(order)
        place, code, number = source + table.strides[0], kernel("pack_rows", 3), _NUMBERS[kind]

        def pack(first: int, count: int) -> None:
            fields = record(
                source, place, order_place, len(arrays), first * matrix, rows // self.width, count, k, matrix, row, column
            )  # fmt: skip
            code(address(fields), number, self.width)

        return pack

    def from_lines(self, arrays: Sequence[np.ndarray], kind: str, order: np.ndarray) -> Callable[[int, int], object]:
        """Of arrays whose rows are lines of numbers, all with the same strides."""
        _, rows, k = arrays[0].shape
        matrix, row, size = arrays[0].strides
        starts = np.array([address(one) for one in arrays])[:, None]
        side = _side_of(kind)
        shape = rows // BLOCK, k // side
        sources = (starts + _lines(*shape, row, side * size)).reshape(-1)
        return self.from_register_blocks(kind, order, sources, (len(arrays), *shape, k), (row, matrix), 1)

    def from_registers(self, steps: Sequence[PackableMatrices], order: np.ndarray) -> Callable[[int, int], object]:
        blocks = [block for factor in steps for line in factor.blocks for block in line]
        shape = len(steps), len(steps[0].blocks), len(steps[0].blocks[0]), steps[0].shape[2]
        return self.from_register_blocks(
            known_kind_of(steps[0]),
            order,
            places_of(blocks),
            shape,
            (LINE, BLOCK * LINE),
            steps[0].fold,
            steps[0].shape[1],
        )

    def from_register_blocks(
        self, kind: str, order: np.ndarray, sources: np.ndarray, shape: tuple[int, int, int, int],
        strides: tuple[int, int], fold: int, rows: int | None = None
    ) -> Callable[[int, int], object]:  # fmt: skip
        """Of blocks, eight lines each, from ``sources`` on: (steps, rows, columns) of them, and k. ``strides``: bytes from a line
        to the next, and from a matrix, or one of ``fold`` parts of it that have their ``rows`` after each other, to the next."""
        steps, lines, columns, k = shape
        order = order if self.width == BLOCK else IDENTITY_ORDER
        table = np.array([sources, self.address + _offsets(steps, lines, columns, k, self.step, self.width)])
        self.keepalive += [table, order]
        source, order_place = address(table), address(order)
        place, code, number = source + table.strides[0], kernel("pack_blocks", 3), _NUMBERS[kind]
        per_part = (BLOCK * lines if rows is None else rows // fold) * k

        def pack(first: int, count: int) -> None:
            fields = record(
                source, place, order_place, table.shape[1], first * fold, count * fold, per_part, self.width * k, *strides
            )  # fmt: skip
            code(address(fields), number, self.width)

        return pack


@lru_cache(maxsize=64)
def _lines(rows: int, columns: int, row: int, line: int) -> np.ndarray:
    """Bytes from the first number to those of the blocks (rows, columns), flat, of lines of ``line`` bytes, ``row`` apart."""
    block, column = np.ogrid[:rows, :columns]
    return (block * BLOCK * row + column * line).reshape(-1)


@lru_cache(maxsize=256)
def _offsets(steps: int, rows: int, columns: int, k: int, step: int, width: int) -> np.ndarray:
    """Bytes from the first factor to those of the blocks (steps, rows, columns), flat."""
    number, row, column = np.ogrid[:steps, :rows, :columns]
    return (8 * (number * step + row * BLOCK * k + column * (k // columns) * width)).reshape(-1)


def _side_of(kind: str) -> int:
    """Numbers of a row of a block that are packed together."""
    return 4 if KINDS[kind] is np.uint32 else 8


def places_of(blocks: Sequence[np.ndarray]) -> np.ndarray:
    """Where arrays begin that are in one piece of memory."""
    first, out = blocks[0], np.empty(len(blocks), np.int64)
    if (
        len(blocks) < FEW_ARRAYS
        or first.ndim != 2
        or addresses(tuple(blocks), _kinds(first.dtype, len(blocks)), first.shape, out)
    ):
        out[:] = [address(block) for block in blocks]
    return out


@lru_cache(maxsize=64)
def _kinds(kind: np.dtype, count: int) -> np.ndarray:
    return identities([kind] * count)


# -- how large the numbers are -----------------------------------------------------------------------
def magnitudes(groups: Sequence[Sequence[np.ndarray]], kind: str, parts_per_group: int = 1) -> np.ndarray:
    """The bits (groups, 2) of the largest magnitude and of the smallest but zero (0 if there is none) in groups of blocks of a
    kind, each in one piece of memory, all of one size: a multiple of 32 bytes. All groups have as many.

    ``parts``: of which each block has as many, for which the bits (groups, parts, 2) are found apart.
    """
    out = np.empty((len(groups), parts_per_group, 2), KINDS[kind])
    size = groups[0][0].nbytes // parts_per_group
    blocks = places_of([block for blocks in groups for block in blocks]).reshape(len(groups), 1, -1)
    sources = np.ascontiguousarray(blocks + np.arange(0, parts_per_group * size, size)[:, None])
    kernel("find_extremes", 6)(
        address(out), address(sources), len(groups) * parts_per_group, sources.shape[-1], size, _NUMBERS[kind]
    )  # fmt: skip
    return out


def any_nan(places: np.ndarray, size: int) -> bool:
    """Whether a float32 in one of the pieces of memory at ``places`` (int64) is none, each of ``size`` bytes: a multiple of 32."""
    out = np.empty((1, 2), np.uint32)
    places = np.ascontiguousarray(places)
    kernel("find_extremes", 6)(address(out), address(places), 1, len(places), size, _NUMBERS["f32"])
    return int(out[0, 0]) > INFINITY


INFINITY = 0x7F800000  # the bits of a float32


def numbers_of(bits: np.ndarray, kind: str) -> np.ndarray:
    """The numbers of a kind that have such bits, as float16 or float32."""
    if kind in float_formats.FORMATS and bits.dtype == np.uint8:
        return float_formats.table(kind)[bits]
    if kind == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return bits.view(np.float16 if kind == "f16" else np.float32)
