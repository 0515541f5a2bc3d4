"""Kernels for the emulator: one family of operations each, on int32 and float32 arrays."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case


# ---- elementwise -------------------------------------------------------------------------------------------------
@ct.kernel
def float_arithmetic(a, b, out, N: ct.Constant[int]):
    """Rows of out: every elementwise function of a and b."""
    x, y = ct.load(a, (0,), (N,)), ct.load(b, (0,), (N,))
    rows = (
        x + y, x - y, x * y, x / y, -x, ct.abs(x), ct.minimum(x, y), ct.maximum(x, y), ct.sqrt(ct.abs(x)),
        ct.rsqrt(ct.abs(x)), ct.floor(x), ct.ceil(x), ct.exp(x), ct.exp2(x), ct.log(ct.abs(x)), ct.log2(ct.abs(x)),
        ct.sin(x), ct.cos(x), ct.tan(x), ct.sinh(x), ct.cosh(x), ct.tanh(x), ct.pow(ct.abs(x), y), ct.atan2(x, y),
        x % y, ct.where(x < y, x, y), x * y + x,
    )  # fmt: skip
    for i, row in ct.static_iter(enumerate(rows)):
        ct.store(out, (i, 0), ct.reshape(row, (1, N)))


@ct.kernel
def integer_arithmetic(a, b, out, N: ct.Constant[int], SIGNED: ct.Constant[bool]):
    """Rows of out: every elementwise function of integers a and b; Tile IR has no unsigned division rounded down."""
    x, y = ct.load(a, (0,), (N,)), ct.load(b, (0,), (N,))
    shift = y & 7
    rows = (
        x + y, x - y, x * y, x // y if SIGNED else ct.cdiv(x, y), x % y, -x, x & y, x | y, x ^ y, ~x, x << shift, x >> shift, ct.minimum(x, y),
        ct.maximum(x, y), ct.abs(x), ct.cdiv(x, y), ct.where(x > y, x, y), ct.where(x == y, x, -y),
        ct.where(x <= y, 1, 0), ct.where(x != y, x, 0),
    )  # fmt: skip
    for i, row in ct.static_iter(enumerate(rows)):
        ct.store(out, (i, 0), ct.reshape(row.astype(out.dtype), (1, N)))


# ---- collectives -------------------------------------------------------------------------------------------------
@ct.kernel
def reductions(a, rows, columns, M: ct.Constant[int], N: ct.Constant[int]):
    """Reductions (add, min, max) along each axis of an (M, N) tile."""
    x = ct.load(a, (0, 0), (M, N))
    for i, f in ct.static_iter(enumerate((ct.sum, ct.min, ct.max))):
        ct.store(rows, (i, 0), ct.reshape(f(x, axis=1), (1, M)))
        ct.store(columns, (i, 0), ct.reshape(f(x, axis=0), (1, N)))


@ct.kernel
def arguments(a, rows, columns, M: ct.Constant[int], N: ct.Constant[int]):
    """Positions of the largest and smallest along each axis."""
    x = ct.load(a, (0, 0), (M, N))
    for i, f in ct.static_iter(enumerate((ct.argmax, ct.argmin))):
        ct.store(rows, (i, 0), ct.reshape(f(x, axis=1), (1, M)))
        ct.store(columns, (i, 0), ct.reshape(f(x, axis=0), (1, N)))


@ct.kernel
def scans(a, out, M: ct.Constant[int], N: ct.Constant[int]):
    """Running sums along each axis, forward and back."""
    x = ct.load(a, (0, 0), (M, N))
    scanned = (
        ct.cumsum(x, axis=0), ct.cumsum(x, axis=1), ct.cumsum(x, axis=0, reverse=True),
        ct.cumsum(x, axis=1, reverse=True),
    )  # fmt: skip
    for i, tile in ct.static_iter(enumerate(scanned)):
        ct.store(out, (i, 0, 0), ct.reshape(tile, (1, M, N)))


def compose(a, b, c, d):
    """x * c + d of x * a + b: the order matters."""
    return a * c, b * c + d


@ct.kernel
def compositions(a, out, M: ct.Constant[int], N: ct.Constant[int]):
    """The affine functions x * a + a composed along the rows, forward and back."""
    x = ct.load(a, (0, 0), (M, N))
    for i, back in ct.static_iter(enumerate((False, True))):
        factors, terms = ct.scan((x, x), 1, compose, (1, 0), reverse=back)
        ct.store(out, (2 * i, 0, 0), ct.reshape(factors, (1, M, N)))
        ct.store(out, (2 * i + 1, 0, 0), ct.reshape(terms, (1, M, N)))


# ---- control flow ------------------------------------------------------------------------------------------------
@ct.kernel
def collatz(a, out, LIMIT: ct.Constant[int]):
    """Steps until 1, at most LIMIT; -1 for values below 1: a loop left from nested branches."""
    number = ct.gather(a, ct.bid(0))
    steps = 0
    while True:
        if number < 1:
            steps = -1
            break
        if number == 1:
            break
        if number % 2 == 0:
            number = number // 2
            if steps > LIMIT:
                break
            steps += 1
            continue
        number = 3 * number + 1
        steps += 1
    ct.scatter(out, ct.bid(0), steps)


@ct.kernel
def skipping(a, out, N: ct.Constant[int]):
    """The sum of a tile's multiples by every i below a[0], but for multiples of 3, until it passes a[1]."""
    x = ct.load(a, (0,), (N,))
    total = ct.zeros((N,), dtype=ct.int32)
    count = 0
    for i in range(ct.gather(a, 0)):
        if i % 3 == 0:
            continue
        total = total + x * i
        count += i
        if count > ct.gather(a, 1):
            break
    ct.store(out, (0,), total)


# ---- shapes ------------------------------------------------------------------------------------------------------
@ct.kernel
def shapes(a, out, M: ct.Constant[int], N: ct.Constant[int]):
    """out = cat of a transposed twice along rows, then reshaped and broadcast."""
    x = ct.load(a, (0, 0), (M, N))
    t = ct.transpose(x)
    both = ct.cat((t, t + 1), 0)
    ct.store(out, (0, 0), ct.reshape(ct.permute(ct.reshape(both, (2, N, M)), (0, 2, 1)), (2 * M, N)))


@ct.kernel
def slices(a, out, M: ct.Constant[int], N: ct.Constant[int]):
    """out = a with one slice, chosen at run time, negated and moved to the mirrored place."""
    x = ct.load(a, (0, 0), (M, N))
    row = ct.gather(a, (0, 0)).astype(ct.int32) % 2
    part = ct.extract(x, (row, 1), (M // 2, N // 4))
    ct.store(out, (0, 0), ct.insert(x, (1 - row, 2), -part))


@ct.kernel
def table(out):
    """A tile of constants that are not all equal."""
    ct.store(out, (0,), ct.astype(ct.arange(64, dtype=ct.int32) * 3 - 5, ct.int32))


@ct.kernel
def bytes_round_trip(a, out, N: ct.Constant[int]):
    """out = the halves of each word of a exchanged, by way of bytes."""
    x = ct.pack_to_bytes(ct.load(a, (0,), (N,)))
    halves = ct.reshape(ct.unpack_from_bytes(x, ct.int16), (N, 2))
    swapped = ct.cat((ct.extract(halves, (0, 1), (N, 1)), ct.extract(halves, (0, 0), (N, 1))), 1)
    words = ct.unpack_from_bytes(ct.pack_to_bytes(swapped), ct.int32)
    ct.store(out, (0,), words)


# ---- memory ------------------------------------------------------------------------------------------------------
@ct.kernel
def atomics(a, counters, old, N: ct.Constant[int]):
    """Every block adds its tile to the counters, and the old values of small tiles reach every thread."""
    index = ct.arange(N, dtype=ct.int32)
    x = ct.gather(a, index)
    before = ct.atomic_add(counters, index, x)
    ct.atomic_max(counters, index + N, x)
    ct.atomic_min(counters, index + 2 * N, x)
    ct.atomic_xor(counters, index + 3 * N, x)
    ct.scatter(old, index, before + 1)


@ct.kernel
def additions(a, totals, old, added, PLACES: ct.Constant[int], N: ct.Constant[int]):
    """Threads of all blocks add to few totals; then each block adds its tile to ``added``."""
    index = ct.arange(N, dtype=ct.int32)
    block = ct.bid(0) * N + index
    x = ct.gather(a, block)
    ct.scatter(old, block, ct.atomic_add(totals, index % PLACES, ct.full((N,), 1, a.dtype)))
    added.tiled_view((N,)).atomic_store_add(0, x)


@ct.kernel
def compare_and_swap(a, counters, old, N: ct.Constant[int]):
    """counters[i] = 7 where it is a[i]."""
    index = ct.arange(N, dtype=ct.int32)
    ct.scatter(old, index, ct.atomic_cas(counters, index, ct.gather(a, index), ct.full((N,), 7, ct.int32)))


@ct.kernel
def masked(a, out, N: ct.Constant[int]):
    """Gather with indices outside the array, which read -1; scatter leaves them out."""
    index = ct.arange(N, dtype=ct.int32) * 3 - N
    ct.scatter(out, index, ct.gather(a, index, padding_value=-1) + 1)


@ct.kernel
def zeros_outside(a, out, N: ct.Constant[int]):
    """Gather with indices outside the array, which read zeros."""
    ct.store(out, (0,), ct.gather(a, ct.arange(N, dtype=ct.int32)))


@ct.kernel
def odd_rows(a, out, M: ct.Constant[int], N: ct.Constant[int]):
    """Copies an (M, N) corner through pointers; rows may begin anywhere."""
    rows, columns = ct.arange(M, dtype=ct.int32)[:, None], ct.arange(N, dtype=ct.int32)[None, :]
    x = ct.gather(a, (rows, columns), check_bounds=False)
    ct.scatter(out, (rows, columns), x, check_bounds=False)


@ct.kernel
def diagonals(a, out, M: ct.Constant[int], N: ct.Constant[int]):
    """out[N * i + j] = a[i + j]: consecutive along both dimensions, aligned along neither."""
    rows, columns = ct.arange(M, dtype=ct.int32)[:, None], ct.arange(N, dtype=ct.int32)[None, :]
    x = ct.gather(a, rows + columns, check_bounds=False)
    ct.scatter(out, rows * N + columns, x, check_bounds=False)


@ct.kernel
def selected(a, out, N: ct.Constant[int], pivot: ct.Constant[int]):
    """Copies the elements before, at and after a place to parts of out: masks that differ within an access."""
    index = ct.arange(N, dtype=ct.int32)
    x = ct.gather(a, index, check_bounds=False)
    masks = (index < pivot, index <= pivot, index == pivot, index >= pivot, index > pivot, index != pivot)
    for i, mask in ct.static_iter(enumerate(masks)):
        ct.scatter(out, i * N + index, x, mask=mask, check_bounds=False)


@ct.kernel
def printing(a, N: ct.Constant[int]):
    """Prints a scalar and a tile."""
    x = ct.load(a, (0,), (N,))
    ct.printf("total %d\n", ct.sum(x))
    ct.printf("each %d\n", x)


@ct.kernel
def asserting(a, out, N: ct.Constant[int]):
    """Stops unless all elements are positive."""
    x = ct.load(a, (0,), (N,))
    ct.assert_(x > 0, "not positive")
    ct.store(out, (0,), x)


F1, F2 = Array("float32", 1), Array("float32", 2)
I1, I2, I3 = Array("int32", 1), Array("int32", 2), Array("int32", 3)

CASES = [
    Case("float_arithmetic_f32", float_arithmetic, (F1, F1, F2, 256)),
    Case(
        "float_arithmetic_f64", float_arithmetic, (Array("float64", 1), Array("float64", 1), Array("float64", 2), 256)
    ),
    Case(
        "float_arithmetic_f16", float_arithmetic, (Array("float16", 1), Array("float16", 1), Array("float16", 2), 256)
    ),
    Case(
        "float_arithmetic_bf16",
        float_arithmetic,
        (Array("bfloat16", 1), Array("bfloat16", 1), Array("bfloat16", 2), 256),
    ),
    Case("integer_arithmetic_i32", integer_arithmetic, (I1, I1, I2, 256, True)),
    Case(
        "integer_arithmetic_i64",
        integer_arithmetic,
        (Array("int64", 1), Array("int64", 1), Array("int64", 2), 256, True),
    ),
    Case(
        "integer_arithmetic_u32",
        integer_arithmetic,
        (Array("uint32", 1), Array("uint32", 1), Array("uint32", 2), 256, False),
    ),
    Case(
        "integer_arithmetic_i8", integer_arithmetic, (Array("int8", 1), Array("int8", 1), Array("int8", 2), 256, True)
    ),
    Case(
        "integer_arithmetic_u16",
        integer_arithmetic,
        (Array("uint16", 1), Array("uint16", 1), Array("uint16", 2), 256, False),
    ),
    Case("reductions_i32_64x32", reductions, (I2, I2, I2, 64, 32)),
    Case("reductions_i32_1x512", reductions, (I2, I2, I2, 1, 512)),
    Case("reductions_i32_4x4", reductions, (I2, I2, I2, 4, 4)),
    Case("reductions_f16_32x64", reductions, (Array("float16", 2), Array("float16", 2), Array("float16", 2), 32, 64)),
    Case("reductions_i64_16x128", reductions, (Array("int64", 2), Array("int64", 2), Array("int64", 2), 16, 128)),
    Case("reductions_i8_16x64", reductions, (Array("int8", 2), Array("int8", 2), Array("int8", 2), 16, 64)),
    Case("arguments_f32_32x64", arguments, (F2, I2, I2, 32, 64)),
    Case("scans_i32_32x64", scans, (I2, I3, 32, 64)),
    Case("scans_i32_2x256", scans, (I2, I3, 2, 256)),
    Case("scans_i32_128x1", scans, (I2, I3, 128, 1)),
    Case("compositions_i32_1x4096", compositions, (I2, I3, 1, 4096)),
    Case("compositions_i32_2x1024", compositions, (I2, I3, 2, 1024)),
    Case("compositions_i32_64x32", compositions, (I2, I3, 64, 32)),
    Case("collatz", collatz, (I1, I1, 100)),
    Case("skipping", skipping, (I1, I1, 128)),
    Case("shapes_i32", shapes, (I2, I2, 16, 64)),
    Case("shapes_i8", shapes, (Array("int8", 2), Array("int8", 2), 32, 32)),
    Case("slices_i32", slices, (I2, I2, 16, 32)),
    Case("slices_i8", slices, (Array("int8", 2), Array("int8", 2), 16, 64)),
    Case("table", table, (I1,)),
    Case("bytes_round_trip", bytes_round_trip, (I1, I1, 128)),
    Case("atomics_1024", atomics, (I1, I1, I1, 1024)),
    Case("atomics_8", atomics, (I1, I1, I1, 8)),
    Case("additions_bf16", additions, (*[Array("bfloat16", 1)] * 4, 4, 256)),
    Case("additions_f16", additions, (*[Array("float16", 1)] * 4, 4, 256)),
    Case("compare_and_swap_128", compare_and_swap, (I1, I1, I1, 128)),
    Case("compare_and_swap_4", compare_and_swap, (I1, I1, I1, 4)),
    Case("masked", masked, (I1, I1, 128)),
    Case("zeros_outside_f32", zeros_outside, (*[Array("float32", 1)] * 2, 128)),
    Case("zeros_outside_f64", zeros_outside, (*[Array("float64", 1)] * 2, 128)),
    Case("zeros_outside_bf16", zeros_outside, (*[Array("bfloat16", 1)] * 2, 128)),
    Case("odd_rows", odd_rows, (F2, F2, 16, 8)),
    Case("diagonals", diagonals, (F1, F1, 16, 32)),
    Case("selected_64", selected, (I1, I1, 128, 64)),
    Case("selected_5", selected, (I1, I1, 128, 5)),
    Case("printing", printing, (I1, 8)),
    Case("asserting", asserting, (I1, I1, 64)),
]
