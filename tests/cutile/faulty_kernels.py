"""cuTile Python kernels with faults, and a few without; marked lines are named in tests."""

import cuda.tile as ct

TILE = 64


@ct.kernel
def shifted(x, y, offset):
    i = ct.arange(TILE, dtype=ct.int32) + ct.bid(0) * TILE + offset
    ct.store(y, (ct.bid(0),), ct.gather(x, i, check_bounds=False))  # reads past x


@ct.kernel
def spread(x, y, offset):
    i = ct.arange(TILE, dtype=ct.int32) + ct.bid(0) * TILE + offset
    ct.scatter(y, i, ct.load(x, (ct.bid(0),), (TILE,)), check_bounds=False)  # writes past y


@ct.kernel
def asserting(x):
    t = ct.load(x, (ct.bid(0),), (TILE,))
    ct.assert_(t >= 0, "all are positive")  # fails


@ct.kernel
def endless(x):
    while ct.extract(ct.load(x, (0,), (1,)), 0, ()).item() == 0:
        ct.atomic_add(x, 1, 0)


@ct.kernel
def plus(x, *, value: int, tile: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(x, (i,), ct.load(x, (i,), (tile,)) + value)


@ct.kernel
def plus_one(x, tile: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(x, (i,), ct.load(x, (i,), (tile,)) + 1)  # adds one


@ct.kernel
def overlapping(x, y, value: ct.Constant[int]):
    ct.store(y, (0,), ct.load(x, (0,), (TILE,)) + (ct.bid(0) if value == 0 else value))  # all write y


@ct.kernel
def leaning(x):
    i = ct.arange(TILE, dtype=ct.int32) + ct.bid(0) * TILE
    ct.scatter(x, i, ct.gather(x, i + 1))  # each reads one of the next


@ct.kernel
def masked(x, y, used):
    t = ct.load(x, (0,), (TILE,))
    ct.store(y, (0,), ct.where(ct.arange(TILE, dtype=ct.int32) < used, t + 1, 0))


@ct.kernel
def matmul(a, b, c):
    zeros = ct.zeros((TILE, TILE), ct.float32)
    ct.store(c, (0, 0), ct.mma(ct.load(a, (0, 0), (TILE, TILE)), ct.load(b, (0, 0), (TILE, TILE)), zeros))


@ct.kernel
def listing(x, tile: ct.Constant[int]):
    held = ct.load(x, (ct.bid(0),), (tile,))
    ct.printf("%d%% %d, %4.1f\n", ct.bid(0), ct.reshape(held, (2, tile // 2)), held * 0.5)


@ct.kernel
def printing(x):
    ct.printf("block %d\n", ct.bid(0))


@ct.kernel
def item_of(xs, y, index: ct.Constant[int]):
    ct.store(y, (0,), ct.load(xs[index], (0,), (TILE,)))  # of a list


def line_of(text: str) -> int:
    """The line of this file that ends with a comment."""
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if line.rstrip().endswith(f"# {text}"))


@ct.kernel
def sum_of_many(arrays, out):
    total = ct.zeros((TILE,), dtype=ct.float32)
    for number in ct.static_iter(range(len(arrays))):
        total = total + ct.load(arrays[number], (0,), (TILE,))
    ct.store(out, (0,), total)
