"""Two block-scaled dots of an iteration with the same scales of their left operands: the second ones are known before the first dot."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


@ct.kernel
def difference(a, a_scale, b, b_scale, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = first rows of (a * a_scale) @ first rows of b - second rows of (a * the same scales) @ second rows of b"""
    first, second = ct.zeros((M, N), dtype=ct.float32), ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        y, y_scale = ct.load(b, (0, k), (N, K)).transpose(), ct.load(b_scale, (0, k), (N, K // 32)).transpose()
        x, scale = ct.load(a, (0, k), (M, K)), ct.load(a_scale, (0, k), (M, K // 32))
        w, z = ct.load(a, (1, k), (M, K)), ct.load(b, (1, k), (N, K)).transpose()
        z_scale = ct.load(b_scale, (1, k), (N, K // 32)).transpose()
        first, second = ct.mma_scaled(x, scale, y, y_scale, first), ct.mma_scaled(w, scale, z, z_scale, second)
    ct.store(out, (0, 0), first - second)


BYTES, SCALES = Array("float8_e4m3fn", 2, stride_divisible_by=16), Array("float8_e8m0fnu", 2)
FLOAT = Array("float32", 2, stride_divisible_by=16)
CASES = [
    Case(f"of_{columns}", difference, (BYTES, SCALES, BYTES, SCALES, FLOAT, 128, columns, 128)) for columns in (32, 128)
]
