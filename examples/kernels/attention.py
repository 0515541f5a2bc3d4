"""Fused attention: softmax(Q K^T * scale) V with one tile of the score matrix at a time.

The softmax is online: a running maximum and sum per row, and the accumulator is rescaled when the maximum
changes. Exponentials are exp2; the scale includes the factor log2(e). f16 operands, f32 accumulators.
"""

import math

import cuda.tile as ct
import numpy as np

from tileiras_build.cases import Array, Case, Scalar, Tolerance, Values, ceil_div, epsilon, place, poisoned, wide

HEADS, LENGTH, HEAD_DIM = 2, 100, 64
TILE_M, TILE_N = 64, 32
LOG2_E = math.log2(math.e)
ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def attention(q, k, v, out, scale, TILE_M: ConstInt, TILE_N: ConstInt, HEAD_DIM: ConstInt, CAUSAL: ct.Constant[bool]):
    """out = softmax(q k^T * scale) v per head; all of shape (heads, length, HEAD_DIM); CAUSAL hides later keys."""
    block, head, length = ct.bid(0), ct.bid(1), k.shape[1]
    scale = scale * LOG2_E
    queries = ct.load(q, (head, block, 0), (1, TILE_M, HEAD_DIM), padding_mode=ZERO).reshape((TILE_M, HEAD_DIM))
    row = block * TILE_M + ct.arange(TILE_M, dtype=ct.int32)[:, None]
    peak = ct.full((TILE_M, 1), -math.inf, dtype=ct.float32)
    weight = ct.zeros((TILE_M, 1), dtype=ct.float32)
    total = ct.zeros((TILE_M, HEAD_DIM), dtype=ct.float32)

    visible = min(length, (block + 1) * TILE_M) if CAUSAL else length
    for j in range(ct.cdiv(visible, TILE_N)):
        keys = ct.load(k, (head, 0, j), (1, HEAD_DIM, TILE_N), order=(0, 2, 1), padding_mode=ZERO)
        scores = ct.mma(queries, keys.reshape((HEAD_DIM, TILE_N)), ct.zeros((TILE_M, TILE_N), dtype=ct.float32))
        column = j * TILE_N + ct.arange(TILE_N, dtype=ct.int32)[None, :]
        seen = column < length
        if CAUSAL:
            seen = seen & (column <= row)
        scores = ct.where(seen, scores * scale, -math.inf)

        new_peak = ct.maximum(peak, ct.max(scores, axis=1, keepdims=True))
        shrink = ct.exp2(peak - new_peak)
        powers = ct.exp2(scores - new_peak)
        weight = weight * shrink + ct.sum(powers, axis=1, keepdims=True)
        values = ct.load(v, (head, j, 0), (1, TILE_N, HEAD_DIM), padding_mode=ZERO).reshape((TILE_N, HEAD_DIM))
        total = ct.mma(powers.astype(v.dtype), values, total * shrink)
        peak = new_peak

    ct.store(out, (head, block, 0), (total / weight).astype(out.dtype).reshape((1, TILE_M, HEAD_DIM)))


def attend(values: Values, causal: bool) -> np.ndarray:
    scores = wide(values["q"]) @ wide(values["k"]).transpose(0, 2, 1) * values["scale"]
    if causal:
        scores = np.where(np.tri(LENGTH, dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=2, keepdims=True))
    return (powers / powers.sum(axis=2, keepdims=True)) @ wide(values["v"])


def _attention(name: str, dtype: str, causal: bool) -> Case:
    def make_inputs(rng: np.random.Generator) -> Values:
        shape = (HEADS, LENGTH, HEAD_DIM)
        operands = {key: place(rng.uniform(-1, 1, shape), dtype) for key in ("q", "k", "v")}
        return operands | {"out": poisoned(shape, dtype), "scale": 1 / math.sqrt(HEAD_DIM)}

    def reference(values: Values) -> Values:
        return {"out": attend(values, causal).astype(dtype)}

    def grid(values: Values) -> tuple[int, int, int]:
        return ceil_div(LENGTH, TILE_M), HEADS, 1

    tensor = Array(dtype, 3, stride_divisible_by=8)
    arguments = (tensor, tensor, tensor, tensor, Scalar("float32"), TILE_M, TILE_N, HEAD_DIM, causal)
    # The weights are rounded to the operand type: half an epsilon of values up to 1, with weights of total 1.
    close = Tolerance(epsilon(dtype), epsilon(dtype) / 2 + 64 * epsilon("float32"))
    return Case(name, attention, arguments, grid=grid, inputs=make_inputs, reference=reference, tolerance=close)


CASES = [
    _attention("attention_f16", "float16", causal=False),
    _attention("attention_f16_causal", "float16", causal=True),
    _attention("attention_bf16_causal", "bfloat16", causal=True),
]
