"""Gradients of attention, whose loops have three or four dots with tiles that live across several of them."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case, Scalar

ConstInt = ct.Constant[int]
ROWS, COLUMNS, WIDTH = 128, 64, 64


@ct.kernel
def gradients(q, k, v, d_out, d_k, d_v, ROWS: ConstInt, COLUMNS: ConstInt, WIDTH: ConstInt):
    """Of the total of d_out * (p v), p = exp2(q k^T), as if nothing normalized p: in tf32, to which threads convert operands."""
    keys = ct.load(k, (ct.bid(0), 0), (COLUMNS, WIDTH)).astype(ct.float32).astype(ct.tfloat32)
    values = ct.load(v, (ct.bid(0), 0), (COLUMNS, WIDTH)).astype(ct.float32).astype(ct.tfloat32)
    grad_k = ct.zeros((COLUMNS, WIDTH), dtype=ct.float32)
    grad_v = ct.zeros((COLUMNS, WIDTH), dtype=ct.float32)
    zeros = ct.zeros((ROWS, COLUMNS), dtype=ct.float32)
    for i in range(ct.num_tiles(q, axis=0, shape=(ROWS, WIDTH))):
        queries = ct.load(q, (i, 0), (ROWS, WIDTH)).astype(ct.float32).astype(ct.tfloat32)
        outer = ct.load(d_out, (i, 0), (ROWS, WIDTH)).astype(ct.float32).astype(ct.tfloat32)
        powers = ct.exp2(ct.mma(queries, ct.transpose(keys), zeros))
        grad_v = ct.mma(ct.transpose(powers).astype(ct.tfloat32), outer, grad_v)
        inner = powers * ct.mma(outer, ct.transpose(values), zeros)
        grad_k = ct.mma(ct.transpose(inner).astype(ct.tfloat32), queries, grad_k)
    ct.store(d_k, (ct.bid(0), 0), grad_k)
    ct.store(d_v, (ct.bid(0), 0), grad_v)


def _add_gradients(q, d_out, keys, values, grad_k, grad_v, count, ROWS, COLUMNS, WIDTH):
    """The gradients of a tile of keys and of values, by so many tiles of queries; the scores have a row for each key."""
    zeros = ct.zeros((COLUMNS, ROWS), dtype=ct.float32)
    for i in range(count):
        queries, outer = ct.load(q, (i, 0), (ROWS, WIDTH)), ct.load(d_out, (i, 0), (ROWS, WIDTH))
        powers = ct.exp2(ct.mma(keys, ct.transpose(queries), zeros))
        grad_v = ct.mma(powers.astype(q.dtype), outer, grad_v)
        inner = powers * ct.mma(values, ct.transpose(outer), zeros)
        grad_k = ct.mma(inner.astype(q.dtype), queries, grad_k)
    return grad_k, grad_v


@ct.kernel
def wide_gradients(q, k, v, d_out, d_k, d_v, ROWS: ConstInt, COLUMNS: ConstInt, WIDTH: ConstInt):
    """The same from scores with a row for each key, in f16: tensor memory holds no keys and values beside six other tiles."""
    keys, values = ct.load(k, (ct.bid(0), 0), (COLUMNS, WIDTH)), ct.load(v, (ct.bid(0), 0), (COLUMNS, WIDTH))
    grad_k = ct.zeros((COLUMNS, WIDTH), dtype=ct.float32)
    grad_v = ct.zeros((COLUMNS, WIDTH), dtype=ct.float32)
    count = ct.num_tiles(q, axis=0, shape=(ROWS, WIDTH))
    grad_k, grad_v = _add_gradients(q, d_out, keys, values, grad_k, grad_v, count, ROWS, COLUMNS, WIDTH)
    ct.store(d_k, (ct.bid(0), 0), grad_k)
    ct.store(d_v, (ct.bid(0), 0), grad_v)


@ct.kernel
def query_gradients(q, k, v, d_out, d_q, ROWS: ConstInt, COLUMNS: ConstInt, WIDTH: ConstInt):
    """The last of three dots reads the tile of the first again, and what threads compute from the results of the others."""
    queries, outer = ct.load(q, (ct.bid(0), 0), (ROWS, WIDTH)), ct.load(d_out, (ct.bid(0), 0), (ROWS, WIDTH))
    grad_q = ct.zeros((ROWS, WIDTH), dtype=ct.float32)
    zeros = ct.zeros((ROWS, COLUMNS), dtype=ct.float32)
    for j in range(ct.num_tiles(k, axis=0, shape=(COLUMNS, WIDTH))):
        keys, values = ct.load(k, (j, 0), (COLUMNS, WIDTH)), ct.load(v, (j, 0), (COLUMNS, WIDTH))
        powers = ct.exp2(ct.mma(queries, ct.transpose(keys), zeros))
        inner = powers * ct.mma(outer, ct.transpose(values), zeros)
        grad_q = ct.mma(inner.astype(q.dtype), keys, grad_q)
    ct.store(d_q, (ct.bid(0), 0), grad_q)


@ct.kernel
def group_gradients(q, k, v, d_out, totals, d_k, d_v, ROWS: ConstInt, COLUMNS: ConstInt, WIDTH: ConstInt):
    """Gradients of keys that several heads share: of queries from the keys' on, with a total for each row."""
    first = ct.bid(0) * COLUMNS // ROWS
    keys, values = ct.load(k, (ct.bid(0), 0), (COLUMNS, WIDTH)), ct.load(v, (ct.bid(0), 0), (COLUMNS, WIDTH))
    grad_k = ct.zeros((COLUMNS, WIDTH), dtype=ct.float32)
    grad_v = ct.zeros((COLUMNS, WIDTH), dtype=ct.float32)
    zeros = ct.zeros((ROWS, COLUMNS), dtype=ct.float32)
    for head in range(q.shape[0]):
        for i in range(first, ct.cdiv(q.shape[1], ROWS)):
            queries = ct.load(q, (head, i, 0), (1, ROWS, WIDTH)).reshape((ROWS, WIDTH))
            outer = ct.load(d_out, (head, i, 0), (1, ROWS, WIDTH)).reshape((ROWS, WIDTH))
            total = ct.load(totals, (head, i), (1, ROWS)).reshape((ROWS, 1))
            places = (
                i * ROWS + ct.arange(ROWS, dtype=ct.int32),
                ct.bid(0) * COLUMNS + ct.arange(COLUMNS, dtype=ct.int32),
            )
            powers = ct.exp2(ct.mma(queries, ct.transpose(keys), zeros) - total)
            powers = ct.where(places[0][:, None] >= places[1][None, :], powers, 0.0)
            grad_v = ct.mma(ct.transpose(powers).astype(q.dtype), outer, grad_v)
            inner = powers * (ct.mma(outer, ct.transpose(values), zeros) - total)
            grad_k = ct.mma(ct.transpose(inner).astype(q.dtype), queries, grad_k)
    ct.store(d_k, (ct.bid(0), 0), grad_k)
    ct.store(d_v, (ct.bid(0), 0), grad_v)


@ct.kernel
def chosen_gradients(q, k, v, d_out, d_k, d_v, wanted, ROWS: ConstInt, COLUMNS: ConstInt, WIDTH: ConstInt):
    """Gradients of keys and values where ``wanted`` is 1, else zeros: the results are stored behind the branch that loads them."""
    grad_k = ct.zeros((COLUMNS, WIDTH), dtype=ct.float32)
    grad_v = ct.zeros((COLUMNS, WIDTH), dtype=ct.float32)
    if wanted == 1:
        keys, values = ct.load(k, (ct.bid(0), 0), (COLUMNS, WIDTH)), ct.load(v, (ct.bid(0), 0), (COLUMNS, WIDTH))
        count = ct.num_tiles(q, axis=0, shape=(ROWS, WIDTH))
        grad_k, grad_v = _add_gradients(q, d_out, keys, values, grad_k, grad_v, count, ROWS, COLUMNS, WIDTH)
    ct.store(d_k, (ct.bid(0), 0), grad_k)
    ct.store(d_v, (ct.bid(0), 0), grad_v)


@ct.kernel
def transposed_gradients(q, k, v, d_out, d_k, d_v, ROWS: ConstInt, COLUMNS: ConstInt, WIDTH: ConstInt, MOST: ConstInt):
    """Gradients of keys and values whose scores have a row for each key, of at most MOST tiles of queries."""
    keys, values = ct.load(k, (ct.bid(0), 0), (COLUMNS, WIDTH)), ct.load(v, (ct.bid(0), 0), (COLUMNS, WIDTH))
    grad_k = ct.zeros((COLUMNS, WIDTH), dtype=ct.float32)
    grad_v = ct.zeros((COLUMNS, WIDTH), dtype=ct.float32)
    count = min(ct.num_tiles(q, axis=0, shape=(ROWS, WIDTH)), MOST)
    grad_k, grad_v = _add_gradients(q, d_out, keys, values, grad_k, grad_v, count, ROWS, COLUMNS, WIDTH)
    ct.store(d_k, (ct.bid(0), 0), grad_k)
    ct.store(d_v, (ct.bid(0), 0), grad_v)


HALF, SINGLE = (Array(type, 2, stride_divisible_by=16, shape_divisible_by=(128, 64)) for type in ("float16", "float32"))
OPERANDS = (HALF, HALF, HALF, HALF, SINGLE, SINGLE, ROWS, COLUMNS, WIDTH)
QUERY_OPERANDS = tuple(
    Array(type, 2, stride_divisible_by=16, shape_divisible_by=64) for type in (*4 * ["float16"], "float32")
)
HEADS = Array("float16", 3, stride_divisible_by=16, shape_divisible_by=(1, 64, 128))
GROUP_OPERANDS = (HEADS, HALF, HALF, HEADS, Array("float32", 2, stride_divisible_by=4), SINGLE, SINGLE)
CASES = [
    Case("gradients", gradients, OPERANDS),
    Case("wide_gradients", wide_gradients, (HALF, HALF, HALF, HALF, SINGLE, SINGLE, 64, 128, 128)),
    Case("tall_gradients", wide_gradients, (HALF, HALF, HALF, HALF, SINGLE, SINGLE, 64, 128, 64)),
    Case("short_gradients", wide_gradients, (HALF, HALF, HALF, HALF, SINGLE, SINGLE, 128, 64, 64)),
    Case("square_gradients", wide_gradients, (HALF, HALF, HALF, HALF, SINGLE, SINGLE, 128, 128, 128)),
    Case("query_gradients", query_gradients, (*QUERY_OPERANDS, 128, 128, 128)),
    Case("narrow_query_gradients", query_gradients, (*QUERY_OPERANDS, 64, 64, 128)),
    Case("group_gradients", group_gradients, (*GROUP_OPERANDS, 128, 64, 128)),
    Case(
        "chosen_gradients", chosen_gradients, (HALF, HALF, HALF, HALF, SINGLE, SINGLE, Scalar("int32"), 128, 128, 128)
    ),
    Case("transposed_gradients", transposed_gradients, (*OPERANDS[:6], 64, 64, 128, 1024)),
    Case("transposed_narrow_tiles", transposed_gradients, (*OPERANDS[:6], 32, 64, 128, 1024)),
    Case("transposed_narrow_tiles_of_window", transposed_gradients, (*OPERANDS[:6], 32, 64, 128, 4)),
    Case("transposed_square_gradients", transposed_gradients, (*OPERANDS[:6], 128, 128, 128, 1024)),
    Case("shared_sm", gradients.replace_hints(occupancy=2), OPERANDS),
]
