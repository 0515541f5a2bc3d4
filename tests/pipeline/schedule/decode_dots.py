"""The two dots of a decoder: many keys by few heads."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


@ct.kernel
def decoding(q, k, v, out, KEYS: ConstInt, HEADS: ConstInt, D: ConstInt):
    """out = v.T @ f16(k @ q.T + 1)."""
    queries = ct.load(q, (ct.bid(0), 0), (HEADS, D)).transpose()
    total = ct.zeros((D, HEADS), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(KEYS, D))):
        keys = ct.load(k, (step, 0), (KEYS, D))
        scores = ct.mma(keys, queries, ct.zeros((KEYS, HEADS), dtype=ct.float32)) + 1
        values = ct.load(v, (step, 0), (KEYS, D)).transpose()
        total = ct.mma(values, scores.astype(ct.float16), total)
    ct.store(out, (0, ct.bid(0)), total)


def _matrix(dtype: str) -> Array:
    return Array(dtype, 2, alignment=16, stride_divisible_by=8)


CASES = [
    Case(f"keys_{keys}", decoding, (*[_matrix("float16")] * 3, _matrix("float32"), keys, 8, 64)) for keys in (128, 256)
]
