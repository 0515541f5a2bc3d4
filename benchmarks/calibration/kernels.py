"""The tile programs of ``measurements.csv``: a case for each name in its column ``kernel``, generated from the name's words.

``matmul_f16_128x256x64_2ctas`` is ``matmul`` of ``key_kernels.py`` with f16 arrays, such tiles and the hint ``num_ctas=2``;
``attention_f16_128x64_d64_causal_occupancy2`` has heads of 64 elements, a mask and the hint ``occupancy=2``.
"""

import csv
import re
import sys
from pathlib import Path

import cuda.tile as ct

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import key_kernels
import norm_kernels
from key_kernels import ZERO, matrix

from tileiras_build.frontend.export_cutile import Array, Case, Scalar

ConstInt = ct.Constant[int]
TYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "tf32": "float32", "e4m3": "float8_e4m3fn"}
FILE = Path(__file__).with_name("measurements.csv")


@ct.kernel
def batch_matmul_tf32(a, b, c, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """c = a @ b for a (batch, m, k), b (batch, k, n), c (batch, m, n), f32 rounded to tf32."""
    row, column, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    total = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=2, shape=(1, TILE_M, TILE_K))):
        left = ct.load(a, (batch, row, step), (1, TILE_M, TILE_K), padding_mode=ZERO).reshape((TILE_M, TILE_K))
        right = ct.load(b, (batch, step, column), (1, TILE_K, TILE_N), padding_mode=ZERO).reshape((TILE_K, TILE_N))
        total = ct.mma(left.astype(ct.tfloat32), right.astype(ct.tfloat32), total)
    ct.store(c, (batch, row, column), total.reshape((1, TILE_M, TILE_N)))


@ct.kernel
def softmax_in_chunks(x, out, TILE_N: ConstInt):
    """Softmax of a row by three passes over it, TILE_N elements at a time."""
    row = ct.bid(0)
    count = ct.num_tiles(x, axis=1, shape=(1, TILE_N))
    peak = ct.full((1, 1), float("-inf"), dtype=ct.float32)
    for j in range(count):
        peak = ct.maximum(peak, ct.max(ct.load(x, (row, j), (1, TILE_N)), axis=1, keepdims=True))
    total = ct.zeros((1, TILE_N), dtype=ct.float32)
    for j in range(count):
        total = total + ct.exp(ct.load(x, (row, j), (1, TILE_N)) - peak)
    weight = ct.sum(total, axis=1, keepdims=True)
    for j in range(count):
        ct.store(out, (row, j), ct.exp(ct.load(x, (row, j), (1, TILE_N)) - peak) / weight)


@ct.kernel
def layer_norm_in_chunks(x, gamma, beta, out, epsilon, TILE_N: ConstInt):
    """Layer norm of a row by three passes over it, TILE_N elements at a time."""
    row = ct.bid(0)
    count, length = ct.num_tiles(x, axis=1, shape=(1, TILE_N)), x.shape[1]
    total = ct.zeros((1, TILE_N), dtype=ct.float32)
    for j in range(count):
        total = total + ct.load(x, (row, j), (1, TILE_N))
    mean = ct.sum(total, axis=1, keepdims=True) / length
    squares = ct.zeros((1, TILE_N), dtype=ct.float32)
    for j in range(count):
        centered = ct.load(x, (row, j), (1, TILE_N)) - mean
        squares = squares + centered * centered
    scale = ct.rsqrt(ct.sum(squares, axis=1, keepdims=True) / length + epsilon)
    for j in range(count):
        factors = ct.load(gamma, (j,), (TILE_N,)).reshape((1, TILE_N))
        shifts = ct.load(beta, (j,), (TILE_N,)).reshape((1, TILE_N))
        normal = (ct.load(x, (row, j), (1, TILE_N)) - mean) * scale
        ct.store(out, (row, j), normal * factors + shifts)


def _array(dtype: str, ndim: int, unit_axis: int = -1) -> Array:
    return Array(dtype, ndim, unit_axis, stride_divisible_by=16, shape_divisible_by=16)


def _hinted(kernel, words: list[str]):
    hints = {}
    for word in words:
        if word.endswith("ctas"):
            hints["num_ctas"] = int(word.removesuffix("ctas"))
        elif word.startswith("occupancy"):
            hints["occupancy"] = int(word.removeprefix("occupancy"))
    return kernel.replace_hints(**hints) if hints else kernel


def _matmul(name: str, words: list[str], tile: list[int]) -> Case:
    kernel = key_kernels.matmul_tf32 if words[1] == "tf32" else key_kernels.matmul
    dtype = TYPES[words[1]]
    out = "float32" if "out32" in words else "bfloat16" if words[1] == "e4m3" else dtype
    arrays = matrix(dtype, 2), matrix(dtype, 2, 0 if words[1] == "e4m3" or "nt" in words else -1), matrix(out, 2)
    return Case(name, _hinted(kernel, words), (*arrays, *tile))


def _attention(name: str, words: list[str], tile: list[int]) -> Case:
    dim = next(int(word[1:]) for word in words if re.fullmatch(r"d\d+", word))
    tensor = Array(TYPES[words[1]], 3, stride_divisible_by=16, shape_divisible_by=(1, tile[0], dim))
    more = (Scalar("float32"), *tile, dim, "causal" in words)
    return Case(name, _hinted(key_kernels.attention, words), ((tensor,) * 4 + more))


def _rows(kernel, vectors: int, scalars: int):
    def make(name: str, words: list[str], tile: list[int]) -> Case:
        more = [Scalar("float32")] * scalars
        return key_kernels.row_case(name, _hinted(kernel, words), TYPES[words[1]], vectors, *more, *tile)

    return make


def _transpose(name: str, words: list[str], tile: list[int]) -> Case:
    return Case(name, key_kernels.transpose, (matrix(TYPES[words[1]], 2), matrix(TYPES[words[1]], 2), *tile))


def _vector_add(name: str, words: list[str], tile: list[int]) -> Case:
    return Case(name, key_kernels.vector_add, (Array(TYPES[words[1]], 1, shape_divisible_by=tile[0]),) * 3 + (*tile,))


def _batch(name: str, words: list[str], tile: list[int]) -> Case:
    return Case(name, batch_matmul_tf32, (_array("float32", 3),) * 3 + (*tile,))


KINDS = {
    "matmul": _matmul, "attention": _attention, "transpose": _transpose, "add": _vector_add, "batch": _batch,
    "softmax": _rows(key_kernels.softmax, 0, 0), "layernorm": _rows(key_kernels.layer_norm, 2, 1),
    "rmsnorm": _rows(norm_kernels.rms_norm, 1, 1), "softmaxchunks": _rows(softmax_in_chunks, 0, 0),
    "layernormchunks": _rows(layer_norm_in_chunks, 2, 1),
}  # fmt: skip


def tile_of(name: str) -> list[int]:
    """The tile sizes in a name: its first word of digits."""
    return next(
        [int(part) for part in word.split("x")] for word in name.split("_") if re.fullmatch(r"\d+(x\d+)*", word)
    )


def case_of(name: str) -> Case:
    """The case that a name describes."""
    words = name.split("_")
    return KINDS[words[0]](name, words, tile_of(name))


def _names() -> list[str]:
    with FILE.open(newline="") as lines:
        return list(dict.fromkeys(row["kernel"] for row in csv.DictReader(lines) if row["compiler"] != "nvcc"))


CASES = [case_of(name) for name in _names()]
