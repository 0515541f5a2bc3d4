"""Operations against independent NumPy formulas, each through a small kernel of text."""

import ml_dtypes
import numpy as np
import pytest

from tests.simulate.interpreter.kernels import apply, held_array, kernel, load, pointers_text, run, store

RANDOM = np.random.default_rng(0)
INTS = RANDOM.integers(-100, 100, (2, 64))
FLOATS = RANDOM.standard_normal((2, 64)) * 3


def binary(operation: str, element: str, x, y, result: str | None = None):
    x, y = held_array(x, element), held_array(y, element)
    arrow = f" : tile<64x{element}>" + (f" -> tile<64x{result}>" if result else "")
    return apply(
        f"%r = {operation.format('%x, %y')}{arrow}", [("x", x, element), ("y", y, element)], ((64,), result or element)
    )


@pytest.mark.parametrize(("operation", "expected"), [
    ("addi {}", lambda x, y: x + y),
    ("subi {}", lambda x, y: x - y),
    ("muli {}", lambda x, y: x * y),
    ("andi {}", lambda x, y: x & y),
    ("xori {}", lambda x, y: x ^ y),
    ("maxi {} signed", np.maximum),
    ("mini {} unsigned", lambda x, y: np.minimum(x.view(np.uint8), y.view(np.uint8)).view(np.int8)),
    ("mulhii {}", lambda x, y: (x.view(np.uint8).astype(int) * y.view(np.uint8) >> 8).astype(np.uint8).view(np.int8)),
])  # fmt: skip
def test_bytes_wrap(operation, expected):
    x, y = INTS.astype(np.int8)
    assert (binary(operation, "i8", x, y) == expected(x, y)).all()


def test_high_half_of_a_64_bit_multiplication():
    x, y = (RANDOM.integers(-(2**63), 2**63 - 1, 64) for _ in range(2))
    exact = [((int(a) % 2**64) * (int(b) % 2**64)) >> 64 for a, b in zip(x, y)]
    assert binary("mulhii {}", "i64", x, y).view(np.uint64).tolist() == exact


@pytest.mark.parametrize(("rounding", "expected"), [
    ("", lambda x, y: np.trunc(x / y)),
    (" rounding<positive_inf>", lambda x, y: np.ceil(x / y)),
    (" rounding<negative_inf>", lambda x, y: np.floor(x / y)),
])  # fmt: skip
def test_integer_division_rounding(rounding, expected):
    x, y = INTS[0], np.where(INTS[1] == 0, 7, INTS[1])
    assert (binary("divi {} signed" + rounding, "i32", x, y) == expected(x, y)).all()
    assert (binary("remi {} signed", "i32", x, y) == np.fmod(x, y)).all()


def test_shifts_fill_with_zeros_or_the_sign():
    x, amount = INTS[0], np.arange(64) % 32
    assert (binary("shri {} signed", "i32", x, amount) == x >> amount).all()
    assert (
        binary("shri {} unsigned", "i32", x, amount).view(np.uint32) == (x.astype(np.int32).view(np.uint32) >> amount)
    ).all()


@pytest.mark.parametrize("flags", ["", " propagate_nan"])
def test_extrema_of_nan_and_zeros(flags):
    x = np.array([np.nan, 1, -0.0, 0.0, 3, np.nan] + [1] * 58, np.float32)
    y = np.array([2, np.nan, 0.0, -0.0, 4, np.nan] + [1] * 58, np.float32)
    low, high = binary(f"minf {{}}{flags}", "f32", x, y), binary(f"maxf {{}}{flags}", "f32", x, y)
    assert np.isnan(low[5]) and np.isnan(high[5])
    assert np.isnan(low[:2]).all() if flags else low[:2].tolist() == [2, 1]
    assert np.signbit(low[2:4]).all() and not np.signbit(high[2:4]).any()
    assert (low[4], high[4]) == (3, 4)


def test_comparison_of_nan_depends_on_the_ordering():
    x, y = np.full(64, np.nan), FLOATS[1]
    for predicate in ("equal", "not_equal", "less_than"):
        assert not binary(f"cmpf {predicate} ordered {{}}", "f16", x, y, "i1").any()
        assert binary(f"cmpf {predicate} unordered {{}}", "f16", x, y, "i1").all()


def convert(operation: str, before: str, after: str, values) -> np.ndarray:
    values = held_array(values, before)
    return apply(
        f"%r = {operation} : tile<{len(values)}x{before}> -> tile<{len(values)}x{after}>",
        [("x", values, before)],
        ((len(values),), after),
    )


def test_conversions_to_narrow_floats_saturate():
    values = [1e9, -1e9, 0.3, np.inf]
    assert convert("ftof %x", "f32", "f8E4M3FN", values).astype(float).tolist() == [448, -448, 0.3125, 448]
    assert convert("ftof %x rounding<zero>", "f32", "f8E8M0FNU", [3.0, 4.0, 0.7, 1.0]).astype(float).tolist() == [
        2,
        4,
        0.5,
        1,
    ]
    assert convert("ftof %x rounding<positive_inf>", "f32", "f8E8M0FNU", [3.0, 4.0]).astype(float).tolist() == [4, 4]
    assert convert("ftof %x", "f32", "f16", [1e9, 70000]).tolist() == [np.inf, np.inf]


def test_float_to_integer_truncates_and_saturates():
    assert convert("ftoi %x signed", "f32", "i8", [1.9, -1.9, 100.5, -0.5]).tolist() == [1, -1, 100, 0]
    assert convert("ftoi %x unsigned", "f32", "i1", [0.5, -0.0, 2, np.nan]).tolist() == [True, False, True, True]
    assert convert("ftoi %x signed saturating", "f32", "i8", [1e9, -1e9]).tolist() == [127, -128]
    assert convert("ftoi %x unsigned saturating", "f32", "i8", [1e9, -1e9]).view(np.uint8).tolist() == [255, 0]


def test_integer_to_float_rounds_once():
    odd = 2**62 + 2**38 + 1  # halfway between floats, and a bit more
    assert convert("itof %x signed", "i64", "f32", [odd, -odd]).tolist() == [2.0**62 + 2**39, -(2.0**62) - 2**39]
    assert convert("itof %x unsigned", "i8", "f32", [-1, 1]).tolist() == [255, 1]
    assert convert("itof %x signed", "i1", "f32", [True, False]).tolist() == [-1, 0]


def test_pack_and_unpack_keep_bytes():
    values = held_array(FLOATS[0][:8], "f32")
    packed = apply("%r = pack %x : tile<8xf32> -> tile<32xi8>", [("x", values, "f32")], ((32,), "i8"))
    assert packed.tobytes() == values.tobytes()
    halves = apply("%r = unpack %x : tile<32xi8> -> tile<16xf16>", [("x", packed, "i8")], ((16,), "f16"))
    assert halves.tobytes() == values.tobytes()


def test_shapes():
    x = held_array(INTS[0].reshape(4, 16), "i32")
    inputs = [("x", x, "i32")]
    assert (apply("%r = permute %x [1, 0] : tile<4x16xi32> -> tile<16x4xi32>", inputs, ((16, 4), "i32")) == x.T).all()
    assert (
        apply("%r = reshape %x : tile<4x16xi32> -> tile<8x8xi32>", inputs, ((8, 8), "i32")) == x.reshape(8, 8)
    ).all()
    assert (
        apply("%r = cat %x, %x dim = 0 : tile<4x16xi32>, tile<4x16xi32> -> tile<8x16xi32>", inputs, ((8, 16), "i32"))
        == np.concatenate([x, x])
    ).all()
    text = "%i = constant <i32: 1> : tile<i32>\n  %r = extract %x[%i, %zero] : tile<4x16xi32> -> tile<2x8xi32>"
    assert (apply(text, inputs, ((2, 8), "i32")) == x[2:4, :8]).all()


REGION = """%r = {kind} %x dim={dim} {reverse}identities=[{identity} : {element}] : tile<4x16x{element}> -> {result}
  (%a: tile<{element}>, %b: tile<{element}>) {{
    %c = {combine} : tile<{element}>
    yield %c : tile<{element}>
  }}"""


@pytest.mark.parametrize("dim", [0, 1])
def test_reduction(dim):
    x = INTS[0].reshape(4, 16).astype(np.int32)
    shape = x.sum(dim).shape
    text = REGION.format(
        kind="reduce",
        dim=dim,
        reverse="",
        identity=0,
        element="i32",
        combine="addi %a, %b",
        result=f"tile<{shape[0]}xi32>",
    )
    assert (apply(text, [("x", x, "i32")], (shape, "i32")) == x.sum(dim)).all()


@pytest.mark.parametrize(("reverse", "dim"), [("false", 1), ("true", 1), ("false", 0)])
def test_scan_passes_the_accumulated_value_first(reverse, dim):
    """A region that returns its first argument keeps the first element of each prefix."""
    x = INTS[0].reshape(4, 16).astype(np.int32)
    text = REGION.format(
        kind="scan",
        dim=dim,
        reverse=f"reverse={reverse} ",
        identity=0,
        element="i32",
        combine="addi %a, %b",
        result="tile<4x16xi32>",
    )
    flipped = np.flip(x, dim) if reverse == "true" else x
    prefix_sums = np.cumsum(flipped, dim)
    assert (
        apply(text, [("x", x, "i32")], ((4, 16), "i32"))
        == (np.flip(prefix_sums, dim) if reverse == "true" else prefix_sums)
    ).all()
    first = REGION.format(
        kind="scan",
        dim=dim,
        reverse=f"reverse={reverse} ",
        identity=0,
        element="i32",
        combine="maxi %a, %a signed",
        result="tile<4x16xi32>",
    )
    kept = np.take(x, [15 if reverse == "true" else 0] if dim else [0], axis=dim)
    assert (apply(first, [("x", x, "i32")], ((4, 16), "i32")) == np.broadcast_to(kept, x.shape)).all()


def test_mma():
    a, b = held_array(FLOATS[0].reshape(4, 16), "f16"), held_array(FLOATS[1].reshape(16, 4), "f16")
    c = held_array(FLOATS[0][:16].reshape(4, 4), "f32")
    inputs = [("a", a, "f16"), ("b", b, "f16"), ("c", c, "f32")]
    result = apply("%r = mmaf %a, %b, %c : tile<4x16xf16>, tile<16x4xf16>, tile<4x4xf32>", inputs, ((4, 4), "f32"))
    assert np.allclose(result, a.astype(float) @ b.astype(float) + c, rtol=1e-6)
    x, y = INTS[0].reshape(4, 16).astype(np.int8), INTS[1].reshape(16, 4).astype(np.int8)
    inputs = [("a", x, "i8"), ("b", y, "i8"), ("c", np.zeros((4, 4), np.int32), "i32")]
    text = "%r = mmai %a, %b, %c unsigned signed : tile<4x16xi8>, tile<16x4xi8>, tile<4x4xi32>"
    assert (apply(text, inputs, ((4, 4), "i32")) == x.view(np.uint8).astype(int) @ y.astype(int)).all()


def test_scaled_mma():
    a = held_array(RANDOM.choice([0.5, 1, 1.5, 2, -3], (4, 64)), "f8E4M3FN")
    b = held_array(RANDOM.choice([0.5, 1, 1.5, 2, -3], (64, 4)), "f8E4M3FN")
    s, t = held_array([[1, 2], [4, 0.5]] * 2, "f8E8M0FNU"), held_array([[2, 1, 1, 4], [1, 0.5, 2, 1]], "f8E8M0FNU")
    inputs = [
        ("a", a, "f8E4M3FN"),
        ("b", b, "f8E4M3FN"),
        ("c", np.ones((4, 4), np.float32), "f32"),
        ("s", s, "f8E8M0FNU"),
        ("t", t, "f8E8M0FNU"),
    ]
    text = (
        "%r = mmaf_scaled %a, %b, %c, %s, %t : tile<4x64xf8E4M3FN>, tile<64x4xf8E4M3FN>, tile<4x4xf32>, "
        "tile<4x2xf8E8M0FNU>, tile<2x4xf8E8M0FNU>"
    )
    wide = [np.asarray(v).astype(float) for v in (a, b, s, t)]
    exact = (wide[0] * np.repeat(wide[2], 32, 1)) @ (wide[1] * np.repeat(wide[3], 32, 0)) + 1
    assert np.allclose(apply(text, inputs, ((4, 4), "f32")), exact, rtol=1e-6)


def test_a_scale_beyond_the_end_is_the_smallest_one():
    """Padding of zeros is bits that are zero: 2^-127 in a type without a zero, and no NaN."""
    body = load("x", "px", (8,), "f8E8M0FNU").replace("<8xf8E8M0FNU, strides", "<5xf8E8M0FNU, strides")
    body = body.replace("shape = [8]", "shape = [5]").replace(
        "tile=(8), tensor", "tile=(8), padding_value = zero, tensor"
    )
    text = kernel({"px": "f8E8M0FNU", "pr": "f8E8M0FNU"}, body + store("x", "pr", (8,), "f8E8M0FNU"))
    ones = held_array([1.0] * 8, "f8E8M0FNU")
    _, result = run(text, [ones, ones], ["f8E8M0FNU"] * 2)
    assert list(np.asarray(result).astype(float)) == [1.0] * 5 + [2.0**-127] * 3


def test_negative_scale_is_unspecified():
    """Unspecified elements are 0 without random choices; elements without a negative scale are specified."""
    s, t = np.full((4, 2), 2.0), np.full((2, 4), 0.5)
    s[1, 0], s[2, 1], t[1, 3] = -2.0, -0.0, -1.0
    inputs = [
        ("a", np.full(64, 0x23, np.int8), "i8"),
        ("c", np.full((4, 4), 100, np.float32), "f32"),
        ("s", held_array(s, "f8E4M3FN"), "f8E4M3FN"),
        ("t", held_array(t, "f8E4M3FN"), "f8E4M3FN"),
    ]
    text = (
        "%p = unpack %a : tile<64xi8> -> tile<128xf4E2M1FN>\n  %x = reshape %p : tile<128xf4E2M1FN> -> tile<4x32xf4E2M1FN>\n"
        "  %y = reshape %p : tile<128xf4E2M1FN> -> tile<32x4xf4E2M1FN>\n"
        "  %r = mmaf_scaled %x, %y, %c, %s, %t : tile<4x32xf4E2M1FN>, tile<32x4xf4E2M1FN>, tile<4x4xf32>, "
        "tile<4x2xf8E4M3FN>, tile<2x4xf8E4M3FN>"
    )
    result = apply(text, inputs, ((4, 4), "f32"))
    known = np.ones((4, 4), bool)
    known[1, :] = known[:, 3] = False
    x = np.tile([1.5, 1.0], 64)  # 3 and 2 as fp4, the lower half of a byte first
    exact = (x.reshape(4, 32) * np.repeat(s, 16, 1)) @ (x.reshape(32, 4) * np.repeat(t, 16, 0)) + 100
    assert np.allclose(result[known], exact[known], rtol=1e-6)
    assert not result[~known].any()


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("exp2", np.exp2),
        ("sin", np.sin),
        ("tanh", np.tanh),
        ("floor", np.floor),
        ("rsqrt", lambda x: 1 / np.sqrt(x)),
        ("log", np.log),
    ],
)
def test_functions(name, function):
    x = held_array(np.abs(FLOATS[0]) + 0.1, "bf16")
    result = apply(f"%r = {name} %x : tile<64xbf16>", [("x", x, "bf16")], ((64,), "bf16"))
    assert (result == function(x.astype(float)).astype(np.float32).astype(ml_dtypes.bfloat16)).all()


LOOP = """
  %lo = constant <i32: 0> : tile<i32>
  %hi = constant <i32: 7> : tile<i32>
  %st = constant <i32: 2> : tile<i32>
  %r = for %i in (%lo to %hi, step %st) : tile<i32> iter_values(%s = %x) -> (tile<4xi32>) {
    %q = reshape %i : tile<i32> -> tile<1xi32>
    %b = broadcast %q : tile<1xi32> -> tile<4xi32>
    %n = addi %s, %b : tile<4xi32>
    continue %n : tile<4xi32>
  }"""


def test_for_loop_carries_values():
    x = np.arange(4, dtype=np.int32)
    assert (apply(LOOP, [("x", x, "i32")], ((4,), "i32")) == x + 0 + 2 + 4 + 6).all()


LEAVE = """
  %one = constant <i32: 1> : tile<i32>
  %five = constant <i32: 5> : tile<i32>
  %n = loop iter_values(%c = %zero) : tile<i32> -> tile<i32> {
    %done = cmpi equal %c, %five, signed : tile<i32> -> tile<i1>
    if %done {
      break %c : tile<i32>
    } else {
    }
    %next = addi %c, %one : tile<i32>
    continue %next : tile<i32>
  }
  %q = reshape %n : tile<i32> -> tile<1xi32>
  %b = broadcast %q : tile<1xi32> -> tile<4xi32>
  %r = addi %x, %b : tile<4xi32>"""


def test_loop_ends_by_a_break_inside_of_a_branch():
    assert apply(LEAVE, [("x", np.zeros(4, np.int32), "i32")], ((4,), "i32")).tolist() == [5] * 4


def test_atomics_on_one_address():
    body = (
        load("i", "pi", (8,), "i32")
        + load("x", "px", (8,), "i32")
        + pointers_text("p", "pm", "i32", "i")
        + """
  %old, %t = atomic_rmw_tko relaxed device %p, add, %x : tile<8xptr<i32>>, tile<8xi32> -> tile<8xi32>, token"""
        + store("old", "po", (8,), "i32")
    )
    text = kernel({"pi": "i32", "px": "i32", "pm": "i32", "po": "i32"}, body)
    index, values = np.array([0, 1, 0, 0, 2, 1, 0, 3], np.int32), np.arange(1, 9, dtype=np.int32)
    *_, memory, old = run(text, [index, values, np.zeros(4, np.int32), np.zeros(8, np.int32)], ["i32"] * 4)
    assert memory.tolist() == [1 + 3 + 4 + 7, 2 + 6, 5, 8]
    assert sorted(old[[0, 2, 3, 6]].tolist()) == [0, 1, 4, 8]


def test_masked_load_takes_the_padding():
    body = (
        load("i", "pi", (8,), "i32")
        + load("m", "pm", (8,), "i1")
        + pointers_text("p", "pa", "f32", "i")
        + """
  %pad = constant <f32: -1.000000e+00> : tile<8xf32>
  %v, %t = load_ptr_tko weak %p, %m, %pad : tile<8xptr<f32>>, tile<8xi1>, tile<8xf32> -> tile<8xf32>, token"""
        + store("v", "po", (8,), "f32")
    )
    text = kernel({"pi": "i32", "pm": "i1", "pa": "f32", "po": "f32"}, body)
    index = np.array([0, 1, 2, 3, 999, 999, 2, 1], np.int32)  # far outside where the mask is off
    mask = index < 4
    arrays = [index, mask, np.arange(4, dtype=np.float32), np.zeros(8, np.float32)]
    assert run(text, arrays, ["i32", "i1", "f32", "f32"])[-1].tolist() == [0, 1, 2, 3, -1, -1, 2, 1]
