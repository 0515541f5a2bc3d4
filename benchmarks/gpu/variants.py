"""The problems of each benchmark kernel: its kind, and the shapes, scalars and grid of each variant, from its name."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tileiras_build.frontend.export_cutile import Array, Case

BENCHMARKS = Path(__file__).resolve().parents[1]
KERNELS = (BENCHMARKS / "key_kernels.py", BENCHMARKS / "gpu_kernels.py")


@dataclass(frozen=True)
class Sizes:
    """How large problems are: sides of matmuls (half of transposes), attention's length and heads, rows, elements.

    ``tail`` is what matmuls have beyond ``side``: so many rows more, and columns less.
    """

    side: int
    length: int
    heads: int
    rows: int
    elements: int
    tail: int = 0


# Of kernels whose arrays are promised to be multiples of 16, of 128 along sequences and of 4096 elements; the sides of a
# tail are no multiples of any tile. Of those that are promised nothing, everything is odd.
PROMISED = {"small": Sizes(256, 256, 1, 4, 8192), "tail": Sizes(1008, 896, 3, 37, 12288, tail=16),
            "full": Sizes(4096, 4096, 32, 16384, 1 << 26)}  # fmt: skip
ODD = {"small": Sizes(251, 251, 1, 3, 8191), "tail": Sizes(1005, 901, 3, 37, 12289, tail=6),
       "full": Sizes(4095, 4095, 32, 16383, (1 << 26) - 1)}  # fmt: skip
# The same for a GPU that is emulated.
SMALL = {"tail": Sizes(208, 128, 2, 3, 12288, tail=16), "full": PROMISED["small"]}
SMALL_ODD = {"tail": Sizes(205, 133, 2, 3, 12289, tail=6), "full": ODD["small"]}


def variant(shapes: list, grid: list[int], scalars: tuple = (), work: float = 0) -> dict:
    """The parameters of one launch."""
    return {"shapes": shapes, "scalars": list(scalars), "grid": grid, "work": work}


def _tiles(length: int, tile: int) -> int:
    return -(-length // tile)


def _up(length: int, multiple: int) -> int:
    return _tiles(length, multiple) * multiple


def _tiled(case: Case, tile: list[int], m: int, n: int) -> list[int]:
    """A grid of the tiles of an (m, n) result; a persistent kernel counts them along one axis."""
    rows, columns = _tiles(m, tile[0]), _tiles(n, tile[1])
    return [rows * columns, 1, 1] if is_persistent(case) else [rows, columns, 1]


def _matmul(case: Case, tile_sizes: list[int], sizes: Sizes) -> dict:
    m, n, k = sizes.side + sizes.tail, sizes.side - sizes.tail, sizes.side
    k = _up(k, tile_sizes[2]) if "nan" in words(case) else k
    added = {"gelu": [[n]], "residual": [[m, n]]}
    shapes = [[m, k], [k, n], *(shape for word in words(case) for shape in added.get(word, [])), [m, n]]
    return variant(shapes, _tiled(case, tile_sizes, m, n), work=2 * m * n * k)


def _scaled(case: Case, tile_sizes: list[int], sizes: Sizes) -> dict:
    """Arrays of scales have 16 columns or a multiple of it; two fp4 of an array of bytes are one element of it."""
    block, pair = tile_sizes[3], 2 if case.arguments[0].dtype == "uint8" else 1
    m, n, k = sizes.side + sizes.tail, sizes.side - sizes.tail, _up(sizes.side, 16 * block)
    operands = [[m, k // pair], [m, k // block], [n, k // pair], [n, k // block]]
    return variant([*operands, [m, n]], _tiled(case, tile_sizes, m, n), work=2 * m * n * k)


def _attention(case: Case, tile_sizes: list[int], sizes: Sizes) -> dict:
    tile, dim, length = tile_sizes[0], tile_sizes[2], sizes.length
    work = 4 * sizes.heads * length * length * dim // (2 if case.arguments[-1] else 1)
    return variant([[sizes.heads, length, dim]] * 4, [_tiles(length, tile), sizes.heads, 1], (dim**-0.5,), work)


def _row_length(case: Case, tile: int, sizes: Sizes) -> int:
    """A row fills its tile, or leaves some of it over."""
    return tile - 1 - sizes.tail if is_odd(case) else tile


def _layer_norm(case: Case, tile_sizes: list[int], sizes: Sizes) -> dict:
    n = _row_length(case, tile_sizes[0], sizes)
    return variant([[sizes.rows, n], [n], [n], [sizes.rows, n]], [sizes.rows, 1, 1], (1e-5,))


def _rms_norm(case: Case, tile_sizes: list[int], sizes: Sizes) -> dict:
    n = _row_length(case, tile_sizes[0], sizes)
    return variant([[sizes.rows, n], [n], [sizes.rows, n]], [sizes.rows, 1, 1], (1e-5,))


def _softmax(case: Case, tile_sizes: list[int], sizes: Sizes) -> dict:
    return variant([[sizes.rows, _row_length(case, tile_sizes[0], sizes)]] * 2, [sizes.rows, 1, 1])


def _transpose(case: Case, tile_sizes: list[int], sizes: Sizes) -> dict:
    m, n = 2 * sizes.side + sizes.tail - is_odd(case), 2 * sizes.side - sizes.tail - is_odd(case)
    return variant([[m, n], [n, m]], _tiled(case, tile_sizes, m, n))


def _vector_add(case: Case, tile_sizes: list[int], sizes: Sizes) -> dict:
    return variant([[sizes.elements]] * 3, [_tiles(sizes.elements, tile_sizes[0]), 1, 1])


PROBLEMS: dict[str, Callable[[Case, list[int], Sizes], dict]] = {
    "matmul": _matmul, "scaled": _scaled, "attention": _attention, "layer_norm": _layer_norm, "rms_norm": _rms_norm,
    "softmax": _softmax, "transpose": _transpose, "vector_add": _vector_add,
}  # fmt: skip
# Words of a name that are part of its kind (``problems.KINDS``).
KIND_WORDS = ("gelu", "residual", "causal")


def words(case: Case) -> list[str]:
    """What a case's name says."""
    return case.name.split("_")


def is_persistent(case: Case) -> bool:
    """Whether each block takes many tiles."""
    return "persistent" in words(case)


def is_odd(case: Case) -> bool:
    """Whether a kernel is promised nothing about lengths."""
    return "odd" in words(case)


def problem(case: Case, small: bool) -> dict:
    """What a kernel is run on: its kind, and shapes, scalars, grid, operations and bytes of each variant."""
    tile_sizes = [argument for argument in case.arguments if isinstance(argument, int)]
    prefix = next(name for name in PROBLEMS if case.name.startswith(name))
    sizes = (ODD if is_odd(case) else PROMISED) | ((SMALL_ODD if is_odd(case) else SMALL) if small else {})
    variants = {name: PROBLEMS[prefix](case, tile_sizes, size) for name, size in sizes.items()}
    for one in variants.values():
        one["bytes"] = sum(map(_bytes, _arrays(case), one["shapes"]))
    kind = "_".join([prefix, *(word for word in words(case) if word in KIND_WORDS)])
    return {"kind": kind, "persistent": is_persistent(case), "variants": variants}


def _arrays(case: Case) -> list[Array]:
    return [argument for argument in case.arguments if isinstance(argument, Array)]


def _bytes(array: Array, shape: list[int]) -> int:
    pair = 2 if array.dtype == "float4_e2m1fn" else 1
    return math.prod(shape) * np.dtype(array.dtype).itemsize // pair


def arrays_of(case: Case) -> dict:
    """What a row says of its arrays."""
    return {"dtypes": formats(case), "unit_strides": [array.unit_stride for array in _arrays(case)]}


def formats(case: Case) -> list[str]:
    """How each array's tile_sizes are stored: ``problems.FORMATS``. Scales of fp8 have no sign."""
    scales = case.name.startswith("scaled")
    return [
        "scale_e4m3" if scales and i in (1, 3) and array.dtype == "float8_e4m3fn" else array.dtype
        for i, array in enumerate(_arrays(case))
    ]
