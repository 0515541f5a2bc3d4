"""The few functions of cuda.tile that random kernels of matmuls call, on NumPy arrays: a kernel's source run block by block.

Shares nothing with the compiler, the interpreter or the emulator. Dot products are taken in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from types import FunctionType, SimpleNamespace

import ml_dtypes
import numpy as np

Tile = np.ndarray
LARGEST = 1 << 21  # integers beyond it are not all exact in f32 and tf32


class TooLarge(Exception):
    """A value is larger than all types have exactly."""


Place = tuple[int, ...]


def run_blocks(body: Callable, grid: tuple[int, int, int], arguments: Sequence) -> None:
    """Call ``body`` for each block of the grid, its ``ct`` being this file's; arrays are changed in place."""
    for block in product(*map(range, grid)):
        names = dict(body.__globals__) | {"ct": _functions(block, grid)}
        FunctionType(body.__code__, names)(*arguments)


def _functions(block: tuple[int, ...], grid: tuple[int, ...]) -> SimpleNamespace:
    types = {
        "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "tfloat32": np.float32, "int8": np.int8,
        "float8_e4m3fn": ml_dtypes.float8_e4m3fn, "int32": np.int32, "float4_e2m1fn": ml_dtypes.float4_e2m1fn,
    }  # fmt: skip
    return SimpleNamespace(
        bid=lambda axis: block[axis], num_blocks=lambda axis: grid[axis], cdiv=lambda a, b: -(-a // b), load=_load, store=_store,
        gather=_gather, mma=_mma, mma_scaled=_mma_scaled, unpack_from_bytes=_unpack, full=np.full, astype=lambda tile, dtype: tile.astype(dtype), arange=_arange, where=np.where,
        minimum=np.minimum, maximum=np.maximum, max=np.max, min=np.min, sum=np.sum, cumsum=np.cumsum, transpose=np.transpose,
        atomic_add=partial(_atomic, np.add), atomic_max=partial(_atomic, np.maximum), print=lambda *_: None,
        PaddingMode=SimpleNamespace(ZERO=0), **types,
    )  # fmt: skip


def _part(array: Tile, index: Place, shape: Place) -> Tile:
    return array[tuple(slice(at * size, (at + 1) * size) for at, size in zip(index, shape, strict=True))]


def _load(array: Tile, index: Place, shape: Place, order: Place | None = None, **_: object) -> Tile:
    straight = array if order is None else array.transpose(order)
    part, tile = _part(straight, index, shape), np.zeros(shape, array.dtype)
    tile[tuple(map(slice, part.shape))] = part
    return tile


def _store(array: Tile, index: Place, tile: Tile) -> None:
    part = _part(array, index, tile.shape)
    part[...] = tile[tuple(map(slice, part.shape))]


def _gather(array: Tile, places: tuple[Tile, Tile], padding_value: int) -> Tile:
    rows, columns = np.broadcast_arrays(*places)
    inside = (rows < array.shape[0]) & (columns < array.shape[1])
    tile = np.full(rows.shape, padding_value).astype(array.dtype)
    tile[inside] = array[rows[inside], columns[inside]]
    return tile


def _atomic(operation: np.ufunc, array: Tile, places: tuple[Tile], values: Tile) -> None:
    inside = places[0] < array.shape[0]
    operation.at(array, places[0][inside], values[inside])


def _mma(left: Tile, right: Tile, acc: Tile) -> Tile:
    found = left.astype(np.float64) @ right.astype(np.float64) + acc.astype(np.float64)
    if np.abs(found).max() > LARGEST:
        raise TooLarge
    return found.astype(acc.dtype)


def _mma_scaled(left: Tile, left_scale: Tile, right: Tile, right_scale: Tile, acc: Tile) -> Tile:
    return _mma(_scaled(left, left_scale, 1), _scaled(right, right_scale, 0), acc)


def _scaled(tile: Tile, scales: Tile, axis: int) -> Tile:
    wide = scales.astype(np.float64).repeat(tile.shape[axis] // scales.shape[axis], axis=axis)
    return tile.astype(np.float64) * wide


def _unpack(tile: Tile, dtype: type) -> Tile:
    """The elements of four bits, the lower ones of a byte first."""
    return np.stack([tile & 15, tile >> 4], axis=-1).reshape(-1).view(dtype)


def _arange(count: int, dtype: type) -> Tile:
    return np.arange(count, dtype=dtype)
