"""Matmul C = A B for every tensor-core operand type, both storage orders, and sizes that are no multiple of a tile.

An operand is stored row- or column-major; the kernel is the same, since the order is a property of the array
argument (which axis has stride 1), not of the code. In a name, n is row-major (BLAS's "not transposed") and t
column-major. All but the ``_odd`` case keep the strides multiples of 16 bytes, which lets the compiler use TMA
and 16-byte copies although the matrix ends in the middle of one.
"""

import cuda.tile as ct
import numpy as np

from tileiras_build.cases import Array, Case, Tolerance, Values, epsilon, first_tiles, place, poisoned, tolerate, wide

M, N, K = 150, 130, 70
TILE_M, TILE_N, TILE_K = 64, 64, 32
GROUPED_TILES = (TILE_M, TILE_N, TILE_K, 2)
ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def matmul(a, b, c, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """c = a @ b for a (m, k), b (k, n), c (m, n); accumulated in f32."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(TILE_M, TILE_K))):
        left = ct.load(a, (row, step), (TILE_M, TILE_K), padding_mode=ZERO)
        right = ct.load(b, (step, column), (TILE_K, TILE_N), padding_mode=ZERO)
        total = ct.mma(left, right, total)
    ct.store(c, (row, column), total.astype(c.dtype))


@ct.kernel
def matmul_tf32(a, b, c, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """c = a @ b in f32, the operands rounded to tf32 for the tensor cores."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(TILE_M, TILE_K))):
        left = ct.load(a, (row, step), (TILE_M, TILE_K), padding_mode=ZERO)
        right = ct.load(b, (step, column), (TILE_K, TILE_N), padding_mode=ZERO)
        total = ct.mma(left.astype(ct.tfloat32), right.astype(ct.tfloat32), total)
    ct.store(c, (row, column), total)


@ct.kernel
def matmul_grouped(a, b, c, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt, GROUP: ConstInt):
    """c = a @ b on a one-dimensional grid that walks GROUP rows of tiles at a time, so that b stays in the L2 cache."""
    rows, columns = ct.cdiv(c.shape[0], TILE_M), ct.cdiv(c.shape[1], TILE_N)
    group, inside = ct.bid(0) // (GROUP * columns), ct.bid(0) % (GROUP * columns)
    height = min(rows - group * GROUP, GROUP)  # the last group may have fewer rows
    row, column = group * GROUP + inside % height, inside // height
    total = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(TILE_M, TILE_K))):
        left = ct.load(a, (row, step), (TILE_M, TILE_K), padding_mode=ZERO)
        right = ct.load(b, (step, column), (TILE_K, TILE_N), padding_mode=ZERO)
        total = ct.mma(left, right, total)
    ct.store(c, (row, column), total.astype(c.dtype))


def round_to_tf32(values: np.ndarray) -> np.ndarray:
    """float32 rounded to tf32's 10 stored fraction bits, ties to even, in float64."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))
    return wide((rounded & np.uint32(0xFFFFE000)).view(np.float32))


def reference(values: Values) -> Values:
    return {"c": (wide(values["a"]) @ wide(values["b"])).astype(values["c"].dtype)}


def reference_tf32(values: Values) -> Values:
    return {"c": (round_to_tf32(values["a"]) @ round_to_tf32(values["b"])).astype(np.float32)}


# Hopper's fp8 tensor cores keep 13 fraction bits of an accumulator (22 bits), others a whole f32.
FP8_SUM = Tolerance(relative=epsilon("float32"), absolute=K * 2.0**-13)


def _product(
    name: str,
    dtype: str,
    order: str = "nn",
    out: str = "float32",
    *,
    kernel=matmul,
    check=reference,
    padded: bool = True,
    sizes: tuple[int, int, int] = (M, N, K),
    tiles: tuple[int, ...] = (TILE_M, TILE_N, TILE_K),
    grid=None,
    close: Tolerance | None = None,
) -> Case:
    """A case for ``dtype`` operands in storage ``order`` and a row-major ``out`` result."""
    unit_a, unit_b = (-1 if letter == "n" else 0 for letter in order)

    def make_inputs(rng: np.random.Generator) -> Values:
        m, n, k = sizes
        return {
            "a": _operand(rng, (m, k), dtype, unit_axis=unit_a, padded=padded),
            "b": _operand(rng, (k, n), dtype, unit_axis=unit_b, padded=padded),
            "c": poisoned((m, n), out, padded=padded),
        }

    def describe(kind: str, unit_axis: int) -> Array:
        return Array(kind, 2, unit_axis, stride_divisible_by=16 // np.dtype(kind).itemsize if padded else 1)

    arguments = (describe(dtype, unit_a), describe(dtype, unit_b), describe(out, -1), *tiles)
    close = close or tolerate(out, depth=sizes[2])
    return Case(
        name,
        kernel,
        arguments,
        grid=grid or first_tiles("c", *tiles[:2]),
        inputs=make_inputs,
        reference=check,
        tolerance=close,
    )


def _operand(rng: np.random.Generator, shape: tuple[int, int], dtype: str, **layout) -> np.ndarray:
    """Uniform in (-1, 1). An f32 gets an odd last bit: no value lies half way between two tf32 numbers, so rounding
    ties to even (Tile IR) and ties away (sm_80's ``cvt.rna.tf32``) agree."""
    array = place(rng.uniform(-1, 1, shape), dtype, **layout)
    if dtype == "float32":
        array[...] = (np.ascontiguousarray(array).view(np.uint32) | np.uint32(1)).view(np.float32)
    return array


def _grouped_grid(values: Values) -> tuple[int, int, int]:
    rows, columns, _ = first_tiles("c", TILE_M, TILE_N)(values)
    return rows * columns, 1, 1


CASES = [
    _product("matmul_f16_nn", "float16", "nn"),
    _product("matmul_f16_nt", "float16", "nt"),
    _product("matmul_f16_tn", "float16", "tn"),
    _product("matmul_f16_tt", "float16", "tt"),
    _product("matmul_f16_nn_f16", "float16", "nn", "float16"),
    _product("matmul_f16_nt_odd", "float16", "nt", padded=False),
    _product("matmul_f16_nt_grouped", "float16", "nt", kernel=matmul_grouped, tiles=GROUPED_TILES, grid=_grouped_grid),
    _product("matmul_f16_nt_wide", "float16", "nt", sizes=(200, 260, 136), tiles=(128, 128, 64)),
    _product("matmul_bf16_nn", "bfloat16", "nn"),
    _product("matmul_bf16_nt_bf16", "bfloat16", "nt", "bfloat16"),
    _product("matmul_tf32_nn", "float32", "nn", kernel=matmul_tf32, check=reference_tf32),
    _product("matmul_tf32_nt", "float32", "nt", kernel=matmul_tf32, check=reference_tf32),
    _product("matmul_f32_nn", "float32", "nn", sizes=(40, 36, 20), tiles=(32, 32, 16)),
    _product("matmul_f8e4m3_nt", "float8_e4m3fn", "nt", close=FP8_SUM),
    _product("matmul_f8e4m3_nn", "float8_e4m3fn", "nn", close=FP8_SUM),
]
