"""The kernels of ``schedule_cost.py``: matmuls of many tiles and types, attention, rows, and copies.

They are those of ``key_kernels.py`` with other tiles, which no schedule was tuned for.
"""

from __future__ import annotations

from collections.abc import Iterator

from key_kernels import (
    attention,
    layer_norm,
    matmul,
    matmul_persistent,
    matmul_tf32,
    matrix,
    row_case,
    scaled_fp4,
    scaled_fp8,
    softmax,
    transpose,
    vector_add,
)

from tileiras_build.frontend.export_cutile import Array, Case, Scalar

F16_TILES = (
    *((64, 64, 64), (64, 128, 64), (128, 64, 64), (64, 256, 64), (128, 128, 32), (128, 128, 64)),
    *((128, 128, 128), (128, 256, 64), (256, 128, 64), (256, 256, 64)),
)
PERSISTENT_TILES = ((128, 128, 64), (128, 256, 64))
F8_TILES = ((64, 128, 128), (128, 128, 64), (128, 128, 128), (128, 256, 128))
TF32_TILES = ((64, 64, 32), (128, 128, 32))
SCALED_TILES = ((128, 128, 128), (128, 256, 256))
ATTENTIONS = ((64, 64, 64), (64, 128, 128), (128, 64, 128), (128, 128, 64), (256, 128, 128))


def _matmuls() -> Iterator[Case]:
    for tile in F16_TILES:
        yield _matmul("f16", "float16", tile, unit_b=1)
    for tile in PERSISTENT_TILES:
        yield _matmul("f16_persistent", "float16", tile, unit_b=1, kernel=matmul_persistent)
    for tile in F8_TILES:
        yield _matmul("f8e4m3", "float8_e4m3fn", tile, unit_b=0)
    for tile in TF32_TILES:
        yield _matmul("tf32", "float32", tile, unit_b=1, kernel=matmul_tf32)


def _matmul(kind: str, dtype: str, tile: tuple[int, ...], unit_b: int, kernel=matmul) -> Case:
    arrays = matrix(dtype, 2), matrix(dtype, 2, unit_b), matrix("float32" if dtype == "float32" else "float16", 2)
    return Case(f"matmul_{kind}_{'x'.join(map(str, tile))}", kernel, (*arrays, *tile))


def _scaled() -> Iterator[Case]:
    for tile in SCALED_TILES:
        name = "x".join(map(str, tile))
        for kind, dtype, scale, kernel, block in (
            ("mxf8e4m3", "float8_e4m3fn", "float8_e8m0fnu", scaled_fp8, 32),
            ("nvfp4", "uint8", "float8_e4m3fn", scaled_fp4, 16),
        ):
            arrays = matrix(dtype, 2), matrix(scale, 2)
            yield Case(f"scaled_{kind}_{name}", kernel, (*arrays, *arrays, matrix("float16", 2), *tile, block))


def _attentions() -> Iterator[Case]:
    for rows, columns, dim in ATTENTIONS:
        tensor = Array("float16", 3, stride_divisible_by=16, shape_divisible_by=(1, 256, dim))
        arguments = (*(tensor,) * 4, Scalar("float32"), rows, columns, dim, False)
        yield Case(f"attention_f16_{rows}x{columns}x{dim}", attention, arguments)


def _rows() -> Iterator[Case]:
    for dtype, length in (("float16", 2048), ("float16", 8192), ("float32", 4096)):
        yield row_case(f"softmax_{dtype}_{length}", softmax, dtype, 0, length)
    yield row_case("layer_norm_float16_4096", layer_norm, "float16", 2, Scalar("float32"), 4096)
    yield Case("transpose_float16_64", transpose, (matrix("float16", 2),) * 2 + (64, 64))
    yield Case("vector_add_float32_1024", vector_add, (Array("float32", 1, shape_divisible_by=1024),) * 3 + (1024,))


CASES = [*_matmuls(), *_scaled(), *_attentions(), *_rows()]
