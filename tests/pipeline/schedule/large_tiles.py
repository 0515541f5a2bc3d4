"""Kernels whose tiles are larger than any shared memory: 256 KiB where sm_90 has 227 and sm_120 has 99."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case, Scalar

ConstInt = ct.Constant[int]


@ct.kernel
def transpose(x, out, M: ConstInt, N: ConstInt):
    """out = x.T, by the tile that no index bit of is moved by registers alone both before and after."""
    ct.store(out, (0, 0), ct.transpose(ct.load(x, (0, 0), (M, N))))


@ct.kernel
def part(x, out, number, M: ConstInt, N: ConstInt, ROWS: ConstInt, COLUMNS: ConstInt):
    """out is one of the blocks of x."""
    ct.store(out, (0, 0), ct.extract(ct.load(x, (0, 0), (M, N)), (number, number), (ROWS, COLUMNS)))


@ct.kernel
def replaced(x, y, out, number, M: ConstInt, N: ConstInt, ROWS: ConstInt, COLUMNS: ConstInt):
    """out is x with one of its blocks replaced by y."""
    tile = ct.load(x, (0, 0), (M, N))
    ct.store(out, (0, 0), ct.insert(tile, (number, number), ct.load(y, (0, 0), (ROWS, COLUMNS))))


@ct.kernel
def matmul(x, y, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = x @ y in f32, which no instruction for matrices multiplies."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    ct.store(out, (0, 0), ct.mma(ct.load(x, (0, 0), (M, K)), ct.load(y, (0, 0), (K, N)), acc))


F32, F64, I32 = Array("float32", 2), Array("float64", 2), Scalar("int32")
CASES = [
    Case("transpose_f32", transpose, (F32, F32, 256, 256)),
    Case("transpose_f64", transpose, (F64, F64, 128, 256)),
    Case("matmul_f32", matmul, (F32, F32, F32, 64, 64, 512)),
    Case("part_tiny", part, (F32, F32, I32, 256, 256, 16, 16)),
    Case("part_small", part, (F32, F32, I32, 256, 256, 64, 64)),
    Case("part_large", part, (F32, F32, I32, 256, 256, 128, 128)),
    Case("replaced_small", replaced, (F32, F32, F32, I32, 256, 256, 32, 64)),
    Case("replaced_large", replaced, (F32, F32, F32, I32, 256, 256, 128, 128)),
]
