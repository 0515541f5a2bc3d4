"""Layer norm (forward) and RMS norm over rows longer than a tile: two passes over memory, partial sums in a tile."""

import cuda.tile as ct
import numpy as np

from tileiras_build.cases import Array, Case, Scalar, Values, place, poisoned, tolerate, wide

ROWS, COLUMNS, TILE = 6, 300, 128
EPSILON = 1e-5
ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def layer_norm(x, weight, bias, out, mean, rstd, eps, TILE: ConstInt):
    """out = (x - mean) * rstd * weight + bias for each row of x (m, n); also writes mean and rstd, both (m,)."""
    row, length = ct.bid(0), x.shape[1]
    tiles = ct.num_tiles(x, axis=1, shape=(1, TILE))
    sums = ct.zeros((1, TILE), dtype=ct.float32)
    for j in range(tiles):
        sums += ct.load(x, (row, j), (1, TILE), padding_mode=ZERO).astype(ct.float32)
    center = ct.sum(sums, axis=1, keepdims=True) / length

    squares = ct.zeros((1, TILE), dtype=ct.float32)
    for j in range(tiles):
        tile = ct.load(x, (row, j), (1, TILE), padding_mode=ZERO).astype(ct.float32)
        inside = j * TILE + ct.arange(TILE, dtype=ct.int32)[None, :] < length
        off_center = ct.where(inside, tile - center, 0.0)  # padding is no part of the variance
        squares += off_center * off_center
    scale = ct.rsqrt(ct.sum(squares, axis=1, keepdims=True) / length + eps)
    ct.store(mean, (row,), center.reshape((1,)))
    ct.store(rstd, (row,), scale.reshape((1,)))

    for j in range(tiles):
        tile = ct.load(x, (row, j), (1, TILE), padding_mode=ZERO).astype(ct.float32)
        gain = ct.load(weight, (j,), (TILE,), padding_mode=ZERO)
        shift = ct.load(bias, (j,), (TILE,), padding_mode=ZERO)
        ct.store(out, (row, j), ((tile - center) * scale * gain + shift).astype(out.dtype))


@ct.kernel
def rms_norm(x, weight, out, eps, TILE: ConstInt):
    """out = x / sqrt(mean x^2 + eps) * weight for each row of x (m, n)."""
    row, length = ct.bid(0), x.shape[1]
    tiles = ct.num_tiles(x, axis=1, shape=(1, TILE))
    squares = ct.zeros((1, TILE), dtype=ct.float32)
    for j in range(tiles):
        tile = ct.load(x, (row, j), (1, TILE), padding_mode=ZERO).astype(ct.float32)
        squares += tile * tile
    scale = ct.rsqrt(ct.sum(squares, axis=1, keepdims=True) / length + eps)
    for j in range(tiles):
        tile = ct.load(x, (row, j), (1, TILE), padding_mode=ZERO).astype(ct.float32)
        gain = ct.load(weight, (j,), (TILE,), padding_mode=ZERO)
        ct.store(out, (row, j), (tile * scale * gain).astype(out.dtype))


def reference_layer_norm(values: Values) -> Values:
    x = wide(values["x"])
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    rstd = 1 / np.sqrt(variance + values["eps"])
    out = (x - mean) * rstd * wide(values["weight"]) + wide(values["bias"])
    return {
        "out": out.astype(values["out"].dtype),
        "mean": mean[:, 0].astype(np.float32),
        "rstd": rstd[:, 0].astype(np.float32),
    }


def reference_rms_norm(values: Values) -> Values:
    x = wide(values["x"])
    rms = np.sqrt((x * x).mean(axis=1, keepdims=True) + values["eps"])
    return {"out": (x / rms * wide(values["weight"])).astype(values["out"].dtype)}


def _one_block_per_row(values: Values) -> tuple[int, int, int]:
    return len(values["x"]), 1, 1


def _parameters(rng: np.random.Generator, *names: str) -> Values:
    return {name: place(rng.uniform(0.5, 1.5, COLUMNS), "float32") for name in names}


def _layer_norm(name: str, dtype: str) -> Case:
    def make_inputs(rng: np.random.Generator) -> Values:
        return (
            {"x": place(rng.uniform(-1, 3, (ROWS, COLUMNS)), dtype)}
            | _parameters(rng, "weight", "bias")
            | {"out": poisoned((ROWS, COLUMNS), dtype)}
            | {key: poisoned((ROWS,), "float32") for key in ("mean", "rstd")}
            | {"eps": EPSILON}
        )

    matrix, vector = Array(dtype, 2), Array("float32", 1)
    arguments = (matrix, vector, vector, matrix, vector, vector, Scalar("float32"), TILE)
    close = tolerate(dtype, depth=COLUMNS // TILE + 16, magnitude=3)
    return Case(
        name,
        layer_norm,
        arguments,
        grid=_one_block_per_row,
        inputs=make_inputs,
        reference=reference_layer_norm,
        tolerance=close,
    )


def _rms_norm(name: str, dtype: str) -> Case:
    def make_inputs(rng: np.random.Generator) -> Values:
        return (
            {"x": place(rng.uniform(-2, 2, (ROWS, COLUMNS)), dtype)}
            | _parameters(rng, "weight")
            | {"out": poisoned((ROWS, COLUMNS), dtype), "eps": EPSILON}
        )

    matrix = Array(dtype, 2)
    arguments = (matrix, Array("float32", 1), matrix, Scalar("float32"), TILE)
    close = tolerate(dtype, depth=COLUMNS // TILE + 16, magnitude=3)
    return Case(
        name,
        rms_norm,
        arguments,
        grid=_one_block_per_row,
        inputs=make_inputs,
        reference=reference_rms_norm,
        tolerance=close,
    )


CASES = [
    _layer_norm("layer_norm_f32", "float32"),
    _layer_norm("layer_norm_f16", "float16"),
    _rms_norm("rms_norm_f32", "float32"),
    _rms_norm("rms_norm_bf16", "bfloat16"),
]
