"""Families of operations run in the emulator, with its race check on, against NumPy; on every tier of targets where
the code differs.
"""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.emulated_kernels import cases, compiled, run
from tests.pairwise import alternate

KERNELS = Path(__file__).with_name("tile_kernels.py")


def launch(name, values, sm="sm_80", grid=(1, 1, 1)):
    return run(KERNELS, name, sm, values, grid)


def random_integers(shape, dtype=np.int32, low=None, high=None, seed=0):
    limits = np.iinfo(dtype)
    low, high = limits.min if low is None else low, limits.max if high is None else high
    return np.random.default_rng(seed).integers(low, high, shape, dtype=dtype, endpoint=True)


def expected_floats(x, y):
    magnitude = np.abs(x)
    return (
        x + y, x - y, x * y, x / y, -x, magnitude, np.minimum(x, y), np.maximum(x, y), np.sqrt(magnitude),
        1 / np.sqrt(magnitude), np.floor(x), np.ceil(x), np.exp(x), np.exp2(x), np.log(magnitude), np.log2(magnitude),
        np.sin(x), np.cos(x), np.tan(x), np.sinh(x), np.cosh(x), np.tanh(x), np.power(magnitude, y), np.arctan2(x, y),
        np.mod(x, y), np.where(x < y, x, y), x * y + x,
    )  # fmt: skip


EPSILON = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}


@pytest.mark.parametrize(
    ("name", "sm"),
    [  # sm_90 has instructions of its own for the short ones only
        ("f32", "sm_80"), ("f64", "sm_90"), ("f16", "sm_80"), ("f16", "sm_90"), ("bf16", "sm_80"), ("bf16", "sm_90"),
    ],
)  # fmt: skip
def test_float_arithmetic(name, sm):
    """Within a few units in the last place of the exact result, for arguments where no function amplifies errors."""
    dtype = np.dtype(cases(KERNELS)[f"float_arithmetic_{name}"].launch_arguments[0].dtype)
    rng = np.random.default_rng(3)
    x = (rng.uniform(0.2, 1.4, 256) * rng.choice([-1, 1], 256)).astype(dtype)
    y = (rng.uniform(0.3, 1.3, 256) * rng.choice([-1, 1], 256)).astype(dtype)
    expected = np.stack(expected_floats(x.astype(np.float64), y.astype(np.float64)))
    out = launch(f"float_arithmetic_{name}", [x, y, np.zeros(expected.shape, dtype)], sm)[2].astype(np.float64)
    ulp = EPSILON[name]
    # Sums of the intermediate roundings: x * y + x may be fused or not, tan and log lose some near their zeros.
    np.testing.assert_allclose(out, expected, rtol=8 * ulp, atol=6 * ulp)


INTEGERS = {"i32": np.int32, "i64": np.int64, "u32": np.uint32, "i8": np.int8, "u16": np.uint16}


def expected_integers(x, y):
    shift = (y & 7).astype(x.dtype)
    bits = np.array(-1).astype(x.dtype)
    # absi reads its operand as signed, whatever the front end calls it.
    magnitude = np.abs(x.view(f"i{x.itemsize}")).view(x.dtype)
    up = -(-x.astype(object) // y.astype(object))
    return (
        x + y, x - y, x * y, x // y if x.dtype.kind == "i" else up, x % y, np.array(0).astype(x.dtype) - x, x & y, x | y, x ^ y, x ^ bits, x << shift,
        x >> shift, np.minimum(x, y), np.maximum(x, y), magnitude, up,
        np.where(x > y, x, y), np.where(x == y, x, np.array(0).astype(x.dtype) - y), np.where(x <= y, 1, 0),
        np.where(x != y, x, 0),
    )  # fmt: skip


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_arithmetic(name):
    dtype = INTEGERS[name]
    x, y = random_integers(256, dtype, seed=1), random_integers(256, dtype, seed=2)
    x[:128] = random_integers(128, dtype, 0 if np.iinfo(dtype).min == 0 else -9, 9, seed=3)
    y[:128] = random_integers(128, dtype, 1, 6, seed=4)
    y[::7] = x[::7]
    y[y == 0] = 3
    x[(x == np.iinfo(dtype).min) & (y == np.array(-1).astype(dtype))] = 5
    with np.errstate(all="ignore"):
        rows = expected_integers(x, y)
    expected = np.stack([np.asarray([int(v) for v in row], object) & ((1 << 64) - 1) for row in rows])
    out = launch(f"integer_arithmetic_{name}", [x, y, np.zeros((len(rows), 256), dtype)])[2]
    width = (1 << 8 * out.itemsize) - 1
    np.testing.assert_array_equal(out.astype(object) & width, expected & width)


REDUCTIONS = [name for name in ("i32_64x32", "i32_1x512", "i32_4x4", "f16_32x64", "i64_16x128", "i8_16x64")]


@pytest.mark.parametrize(("name", "sm"), alternate(REDUCTIONS, ["sm_80", "sm_90"]))
def test_reductions(name, sm):
    shape = tuple(int(size) for size in name.rpartition("_")[2].split("x"))
    dtype = np.dtype(cases(KERNELS)[f"reductions_{name}"].launch_arguments[0].dtype)
    limit = 1 if dtype.itemsize == 1 else 9
    x = random_integers(shape, np.int8, -limit, limit).astype(dtype)
    expected = [np.stack([f(x, axis=axis) for f in (np.sum, np.min, np.max)]).astype(dtype) for axis in (1, 0)]
    outputs = [np.zeros((3, shape[0]), dtype), np.zeros((3, shape[1]), dtype)]
    _, rows, columns = launch(f"reductions_{name}", [x, *outputs], sm)
    np.testing.assert_array_equal(rows, expected[0])
    np.testing.assert_array_equal(columns, expected[1])


def test_positions_of_extrema():
    x = np.random.default_rng(5).permutation(32 * 64).astype(np.float32).reshape(32, 64)
    _, rows, columns = launch("arguments_f32_32x64", [x, np.zeros((2, 32), np.int32), np.zeros((2, 64), np.int32)])
    np.testing.assert_array_equal(rows, np.stack([x.argmax(1), x.argmin(1)]))
    np.testing.assert_array_equal(columns, np.stack([x.argmax(0), x.argmin(0)]))


@pytest.mark.parametrize("shape", [(32, 64), (2, 256), (128, 1)])
def test_scans(shape):
    x = random_integers(shape, np.int32, -100, 100)
    forward = [np.cumsum(x, axis=axis, dtype=np.int32) for axis in (0, 1)]
    back = [np.flip(np.cumsum(np.flip(x, axis), axis=axis, dtype=np.int32), axis) for axis in (0, 1)]
    out = launch(f"scans_i32_{shape[0]}x{shape[1]}", [x, np.zeros((4, *shape), np.int32)])[1]
    np.testing.assert_array_equal(out, np.stack(forward + back))


@pytest.mark.parametrize("shape", [(1, 4096), (2, 1024), (64, 32)])
def test_compositions(shape):
    """Elements in the order of the axis, also where warps exchange totals through shared memory."""
    x = random_integers(shape, np.int32, seed=1) | 1
    expected = []
    for row in (x, np.flip(x, 1)):
        factors, terms = row.astype(np.uint32), row.astype(np.uint32)
        for i in range(1, shape[1]):
            terms[:, i] += terms[:, i - 1] * factors[:, i]
            factors[:, i] *= factors[:, i - 1]
        expected += [factors, terms]
    expected[2:] = [np.flip(values, 1) for values in expected[2:]]
    out = launch(f"compositions_i32_{shape[0]}x{shape[1]}", [x, np.zeros((4, *shape), np.int32)], "sm_90")[1]
    np.testing.assert_array_equal(out.view(np.uint32), np.stack(expected))


# ---- control flow ------------------------------------------------------------------------------------------------
def collatz_steps(number, limit=100):
    if number < 1:
        return -1
    steps = 0
    while number != 1:
        if number % 2 == 0:
            number //= 2
            if steps > limit:
                break
            steps += 1
        else:
            number, steps = 3 * number + 1, steps + 1
    return steps


def test_loops_are_left_from_nested_branches():
    starts = np.array([1, 2, 3, 7, 27, 0, -5, 97, 1024, 703], np.int32)
    out = launch("collatz", [starts, np.zeros_like(starts)], grid=(len(starts), 1, 1))[1]
    assert out.tolist() == [collatz_steps(int(number)) for number in starts]


@pytest.mark.parametrize(("trips", "limit"), [(0, 100), (1, 100), (10, 10**6), (10, 11), (10, 0)])
def test_iterations_are_skipped_and_cut_short(trips, limit):
    x = np.arange(128, dtype=np.int32)
    x[:2] = trips, limit
    total, count = np.zeros_like(x), 0
    for i in range(trips):
        if i % 3 == 0:
            continue
        total, count = total + x * i, count + i
        if count > limit:
            break
    np.testing.assert_array_equal(launch("skipping", [x, np.zeros_like(x)])[1], total)


# ---- shapes ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "shape"), [("shapes_i32", (16, 64)), ("shapes_i8", (32, 32))])
def test_transposed_joined_and_reshaped(name, shape):
    dtype = np.dtype(cases(KERNELS)[name].launch_arguments[0].dtype)
    x = random_integers(shape, dtype, -100, 100)
    out = launch(name, [x, np.zeros((2 * shape[0], shape[1]), dtype)])[1]
    both = np.concatenate([x.T, x.T + np.array(1).astype(dtype)])
    expected = both.reshape(2, shape[1], shape[0]).transpose(0, 2, 1).reshape(2 * shape[0], shape[1])
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(("name", "shape"), [("slices_i32", (16, 32)), ("slices_i8", (16, 64))])
@pytest.mark.parametrize("row", [0, 1])
def test_slices_at_places_known_at_run_time(name, shape, row):
    dtype = np.dtype(cases(KERNELS)[name].launch_arguments[0].dtype)
    x = random_integers(shape, dtype, -100, 100)
    x[0, 0] = 4 + row
    half, quarter = shape[0] // 2, shape[1] // 4
    expected = x.copy()
    part = x[row * half : (row + 1) * half, quarter : 2 * quarter]
    expected[(1 - row) * half : (2 - row) * half, 2 * quarter : 3 * quarter] = -part
    np.testing.assert_array_equal(launch(name, [x, np.zeros(shape, dtype)])[1], expected)


def test_computed_constants():
    np.testing.assert_array_equal(launch("table", [np.zeros(64, np.int32)])[0], np.arange(64) * 3 - 5)


def test_words_taken_apart_and_joined():
    x = random_integers(128)
    expected = np.roll(x.view(np.int16).reshape(-1, 2), 1, axis=1).copy().view(np.int32).reshape(-1)
    np.testing.assert_array_equal(launch("bytes_round_trip", [x, np.zeros_like(x)])[1], expected)


# ---- memory ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("sm", ["sm_80", "sm_90"])
@pytest.mark.parametrize("size", [1024, 8])
def test_atomics_happen_once_and_all_threads_see_the_result(size, sm):
    x = random_integers(size, low=-1000, high=1000)
    start = random_integers(4 * size, low=-1000, high=1000, seed=1)
    _, counters, old = launch(f"atomics_{size}", [x, start, np.zeros_like(x)], sm)
    parts = start.reshape(4, size)
    expected = [parts[0] + x, np.maximum(parts[1], x), np.minimum(parts[2], x), parts[3] ^ x]
    np.testing.assert_array_equal(counters, np.concatenate(expected))
    np.testing.assert_array_equal(old, parts[0] + 1)


@pytest.mark.parametrize("sm", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_atomic_additions_of_16_bits(name, sm):
    """One instruction or a loop of compare-and-swaps: no addition is lost, each old value is seen once."""
    dtype, rng = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}[name], np.random.default_rng(5)
    x, start = rng.standard_normal(512).astype(dtype), rng.standard_normal(256).astype(dtype)
    start[:4] = [0.0, -0.0, np.inf, 2.0**-130 if name == "bf16" else 2.0**-24]
    values = [x, np.zeros(4, dtype), np.zeros(512, dtype), start]
    _, totals, old, added = launch(f"additions_{name}", values, sm, (2, 1, 1))
    assert totals.astype(int).tolist() == [128] * 4
    np.testing.assert_array_equal(
        np.sort(old.astype(int).reshape(128, 4), axis=0), np.arange(128)[:, None].repeat(4, 1)
    )
    np.testing.assert_array_equal(added.view(np.int16), ((start + x[:256]) + x[256:]).view(np.int16))


def test_loops_of_compare_and_swap_keep_order_and_scope():
    """The bf16 addition of sm_80 in PTX."""
    text = compiled(KERNELS, "additions_bf16", "sm_80").ptx
    assert "atom.acq_rel.gpu.global.cas.b16" in text and "atom.relaxed.gpu.global.cas.b16" in text
    assert "add.noftz.bf16" not in text and "ld.relaxed.gpu.global.b16" in text


@pytest.mark.parametrize("size", [128, 4])
def test_compare_and_swap(size):
    counters = random_integers(size)
    x = np.where(np.arange(size) % 2, counters, counters + 1)
    _, swapped, old = launch(f"compare_and_swap_{size}", [x, counters, np.zeros_like(x)])
    np.testing.assert_array_equal(swapped, np.where(np.arange(size) % 2, 7, counters))
    np.testing.assert_array_equal(old, counters)


def test_elements_outside_are_neither_read_nor_written():
    x, size = random_integers(100), 128
    index = np.arange(size) * 3 - size
    inside = (index >= 0) & (index < 100)
    expected = np.zeros(100, np.int32)
    expected[index[inside]] = x[index[inside]] + 1
    np.testing.assert_array_equal(launch("masked", [x, np.zeros_like(x)])[1], expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_zeros_outside_are_chosen_once(dtype):
    """By the load; the padding value of another load is chosen after it."""
    name = "zeros_outside_" + {"bfloat16": "bf16"}.get(dtype, dtype.replace("float", "f"))
    x = random_integers(100).astype(dtype)
    found = launch(name, [x, np.ones(128, dtype)])[1]
    np.testing.assert_array_equal(found, np.concatenate([x, np.zeros(28, dtype)]))
    lines = [line for one in (name, "masked") for line in compiled(KERNELS, one, "sm_80").ll.splitlines()]
    chosen = {line.split()[-1] for line in lines if "select i1" in line}
    assert not {"0x0000000000000000", "0xR0000"} & chosen and "-1" in chosen


@pytest.mark.parametrize("width", [8, 9, 10, 12])
def test_rows_that_begin_anywhere(width):
    x = np.arange(16 * width, dtype=np.float32).reshape(16, width)
    out = launch("odd_rows", [x, np.zeros_like(x)])[1]
    np.testing.assert_array_equal(out[:, :8], x[:, :8])
    np.testing.assert_array_equal(out[:, 8:], 0)


def test_diagonals():
    x = np.arange(48, dtype=np.float32)
    expected = x[np.add.outer(np.arange(16), np.arange(32))]
    np.testing.assert_array_equal(launch("diagonals", [x, np.zeros(512, np.float32)])[1], expected.reshape(-1))


@pytest.mark.parametrize("pivot", [64, 5])
def test_masks_that_differ_within_an_access(pivot):
    x = random_integers(128, low=1)
    index = np.arange(128)
    masks = [index < pivot, index <= pivot, index == pivot, index >= pivot, index > pivot, index != pivot]
    out = launch(f"selected_{pivot}", [x, np.zeros(6 * 128, np.int32)])[1]
    np.testing.assert_array_equal(out.reshape(6, 128), np.stack([np.where(mask, x, 0) for mask in masks]))


def test_print_of_a_scalar_and_of_a_tile(capfd):
    x = np.array([5, 6, 7, 8, 1, 2, 3, 4], np.int32)
    launch("printing", [x])
    assert capfd.readouterr().out == "total 36\neach [5, 6, 7, 8, 1, 2, 3, 4]\n"


def test_assertion_stops_the_kernel():
    good = np.ones(64, np.int32)
    np.testing.assert_array_equal(launch("asserting", [good, np.zeros_like(good)])[1], good)
    bad = good.copy()
    bad[63] = 0
    with pytest.raises(Exception, match="not positive"):
        launch("asserting", [bad, np.zeros_like(bad)])
