"""Attention whose scores are the sum of two dots, as in multi-head latent attention."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


@ct.kernel
def latent(q, q_position, k, k_position, v, out, ROWS: ConstInt, KEYS: ConstInt, D: ConstInt):
    """out = f8(q @ k.T + q_position @ k_position.T) @ v, with columns of v."""
    left = ct.load(q, (ct.bid(0), 0), (ROWS, D))
    left_position = ct.load(q_position, (ct.bid(0), 0), (ROWS, D))
    total = ct.zeros((ROWS, D), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(KEYS, D))):
        scores = ct.mma(left, ct.load(k, (step, 0), (KEYS, D)).transpose(), ct.zeros((ROWS, KEYS), dtype=ct.float32))
        scores = ct.mma(left_position, ct.load(k_position, (step, 0), (KEYS, D)).transpose(), scores)
        total = ct.mma(scores.astype(v.dtype), ct.load(v, (0, step), (D, KEYS)).transpose(), total)
    ct.store(out, (ct.bid(0), 0), total)


def _matrix(dtype: str) -> Array:
    return Array(dtype, 2, alignment=16, stride_divisible_by=16)


CASES = [
    *(
        Case(f"rows_{rows}", latent, (*[_matrix("float8_e4m3fn")] * 5, _matrix("float32"), rows, 64, 64))
        for rows in (64, 128)
    ),
    Case("halves", latent, (*[_matrix("float16")] * 5, _matrix("float32"), 256, 128, 64)),
]
