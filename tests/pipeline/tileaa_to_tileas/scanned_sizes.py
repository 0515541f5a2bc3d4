"""Persistent products of experts, whose programs scan the experts' rows for their tile."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


@ct.kernel
def of_experts(x, w, sizes, out, EXPERTS: ConstInt, M: ConstInt, N: ConstInt, K: ConstInt):
    """out[i] = x[i] @ w[expert of row i]: each program takes tiles of M rows of one expert."""
    for tile in range(ct.bid(0), ct.cdiv(x.shape[0], M) + EXPERTS, ct.num_blocks(0)):
        before, start, row, rows, expert = 0, 0, 0, 0, 0
        for i in range(EXPERTS):
            size = ct.load(sizes, (i,), (1,)).item()
            tiles = ct.cdiv(size, M)
            if (tile >= before) & (tile < before + tiles):
                expert, row, rows = i, start + (tile - before) * M, start + size
            before, start = before + tiles, start + size
        if rows > 0:
            acc, places = ct.zeros((M, N), dtype=ct.float32), row + ct.arange(M, dtype=ct.int32)
            places = ct.where(places < rows, places, x.shape[0])
            for k in range(ct.num_tiles(x, axis=1, shape=(M, K))):
                columns = k * K + ct.arange(K, dtype=ct.int32)
                left = ct.gather(x, (places[:, None], columns[None, :]), check_bounds=True, padding_value=0)
                acc = ct.mma(left, ct.load(w, (expert, k, 0), (1, K, N)).reshape((K, N)), acc)
            ct.scatter(out, (places[:, None], ct.arange(N, dtype=ct.int32)[None, :]), acc)


@ct.kernel
def of_pointers(sizes, starts, out, N: ConstInt):
    """out = the sum of sizes[starts[i] + bid]: the places of the second load depend on the first, which is read for each row."""
    total = 0
    for i in range(N):
        total = total + ct.gather(sizes, (ct.gather(starts, (i,)) + ct.bid(0),))
    ct.scatter(out, (ct.bid(0),), total)


def _whole(ndim):
    return Array("float16", ndim, stride_divisible_by=8, shape_divisible_by=8)


CASES = [
    Case(
        "of_experts",
        of_experts,
        (_whole(2), Array("float16", 3, stride_divisible_by=8), Array("int32", 1), Array("float32", 2), 5, 64, 64, 64),
    ),
    Case("of_pointers", of_pointers, (*[Array("int32", 1)] * 3, 6)),
]
