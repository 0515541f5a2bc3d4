"""Kernels that ask for their place in the grid."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

OUT = Array("int32", 3, -1)


@ct.kernel
def places(out):
    """out[x, y, z] = 10000 * x + 100 * y + z + 1, each by the program at that place."""
    x, y, z = ct.bid(0), ct.bid(1), ct.bid(2)
    ct.store(out, (x, y, z), ct.full((1, 1, 1), 10000 * x + 100 * y + z + 1, ct.int32))


@ct.kernel
def line(out):
    """out[x, 0, 0] = x, in one line of programs."""
    ct.store(out, (ct.bid(0), 0, 0), ct.full((1, 1, 1), ct.bid(0), ct.int32))


@ct.kernel
def waits(out):
    """out[x, y, 0] = x, where others may wait for it."""
    ct.store(out, (ct.bid(0), ct.bid(1), 0), ct.full((1, 1, 1), ct.bid(0), ct.int32))
    ct.atomic_xchg(out, (0, 0, 0), 1)


@ct.kernel
def matmul(a, b, out):
    """out = a @ b in tiles of 128 by 64."""
    acc = ct.zeros((128, 64), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(128, 64))):
        x = ct.load(a, (ct.bid(0), k), (128, 64))
        y = ct.load(b, (k, ct.bid(1)), (64, 64))
        acc = ct.mma(x, y, acc)
    ct.store(out, (ct.bid(0), ct.bid(1)), acc.astype(out.dtype))


@ct.kernel
def attended(a, b, out):
    """out[head] = a[head] @ b[head]: programs along axis 0 share the right operand, others nothing."""
    acc = ct.zeros((64, 64), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=2, shape=(1, 64, 64))):
        x = ct.load(a, (ct.bid(1), ct.bid(0), k), (1, 64, 64)).reshape((64, 64))
        y = ct.load(b, (ct.bid(1), k, 0), (1, 64, 64)).reshape((64, 64))
        acc = ct.mma(x, y, acc)
    ct.store(out, (ct.bid(1), ct.bid(0), 0), acc.astype(out.dtype).reshape((1, 64, 64)))


@ct.kernel
def many(a, b, out, BLOCKS: ct.Constant[int]):
    """out[n] = a[n] @ b[n], with rows of tiles along axis 1, and ``BLOCKS`` of 64 rows in a tile."""
    acc = ct.zeros((64 * BLOCKS, 64), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=2, shape=(1, 64 * BLOCKS, 64))):
        x = ct.load(a, (ct.bid(2), ct.bid(1), k), (1, 64 * BLOCKS, 64)).reshape((64 * BLOCKS, 64))
        y = ct.load(b, (ct.bid(2), k, ct.bid(0)), (1, 64, 64)).reshape((64, 64))
        acc = ct.mma(x, y, acc)
    ct.store(out, (ct.bid(2), ct.bid(1), ct.bid(0)), acc.astype(out.dtype).reshape((1, 64 * BLOCKS, 64)))


@ct.kernel
def grouped(a, experts, weights, out):
    """out = a @ the weights of the expert of each tile of rows, which are along axis 0."""
    rows, columns = ct.bid(0), ct.bid(1)
    expert = ct.load(experts, (rows,), (1,)).item()
    acc = ct.zeros((64, 64), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(64, 64))):
        x = ct.load(a, (rows, k), (64, 64))
        y = ct.load(weights, (expert, k, columns), (1, 64, 64)).reshape((64, 64))
        acc = ct.mma(x, y, acc)
    ct.store(out, (rows, columns), acc.astype(out.dtype))


@ct.kernel
def triangle(a, b, out):
    """out[head] = a with zeros above the diagonal @ b[head], in tiles of 64, the last of which are the longest."""
    block, head = ct.bid(0), ct.bid(1)
    acc = ct.zeros((64, 64), dtype=ct.float32)
    for k in range(ct.cdiv((block + 1) * 64, 32)):
        x = ct.load(a, (block, k), (64, 32))
        y = ct.load(b, (head, k, 0), (1, 32, 64)).reshape((32, 64))
        acc = ct.mma(x, y, acc)
    ct.store(out, (head, block, 0), acc.astype(out.dtype).reshape((1, 64, 64)))


@ct.kernel
def lengths(out, AXIS: ct.Constant[int]):
    """Each program adds up as many ones as its place along an axis says, and one."""
    place = ct.bid(0), ct.bid(1), ct.bid(2)
    total = ct.zeros((1, 1, 1), dtype=ct.int32)
    for _ in range(place[AXIS] + 1):
        total = total + 1
    ct.store(out, place, total)


_MATRIX = Array("float16", 2, -1, stride_divisible_by=16, shape_divisible_by=16)
_HEADS = Array("float16", 3, -1, stride_divisible_by=16, shape_divisible_by=(1, 16, 16))
CASES = [
    Case("places", places, (OUT,)),
    Case("line", line, (OUT,)),
    Case("waits", waits, (OUT,)),
    Case("matmul", matmul, (_MATRIX, _MATRIX, _MATRIX)),
    Case("grouped", grouped, (_MATRIX, Array("int32", 1), _HEADS, _MATRIX)),
    Case("triangle", triangle, (_MATRIX, _HEADS, _HEADS)),
    Case("attended", attended, (_HEADS, _HEADS, _HEADS)),
    *(Case(f"many_{blocks}", many, (_HEADS, _HEADS, _HEADS, blocks)) for blocks in (1, 4)),
    *(Case(f"lengths_{axis}", lengths, (OUT, axis)) for axis in range(3)),
    Case("matmul_in_clusters", matmul.replace_hints(num_ctas=2), (_MATRIX, _MATRIX, _MATRIX)),
]
