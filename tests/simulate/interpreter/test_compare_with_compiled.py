"""Derived inputs, and the comparison of compiled code with the interpreter: right code matches, wrong code does not."""

from pathlib import Path

import numpy as np
import pytest

import tileiras_build
from tests.simulate.interpreter.kernels import held_array, kernel, load, store, tile
from tileiras_build.core.errors import InvalidInput
from tileiras_build.ir.bytecode import read_module
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.simulate.emulator import EmulatorFault
from tileiras_build.simulate.interpreter import entry_names, run_inputs
from tileiras_build.simulate.interpreter.compare_with_compiled import ExpectedMemory, elements, run_in_emulator
from tileiras_build.simulate.interpreter.derive_inputs import derive_inputs, usable_inputs
from tileiras_build.simulate.interpreter.parse_arguments import bind_arguments, parse_grid, save_buffers

PREBUILT = Path(__file__).parents[3] / "examples" / "prebuilt"


def module_of(name: str):
    return read_module((PREBUILT / name).read_bytes())


def test_derived_sizes_satisfy_the_kernels_assumptions():
    module = module_of("matmul_f16_nt.tilebc")
    [entry] = entry_names(module)
    inputs = derive_inputs(module, entry, seed=3)
    again = derive_inputs(module, entry, seed=3)
    assert len(inputs.buffers) == 3 and all(buffer.address % 256 == 0 for buffer in inputs.buffers)
    assert inputs.scalars == again.scalars
    assert all((a.bytes == b.bytes).all() for a, b in zip(inputs.buffers, again.buffers))
    run_inputs(module, entry, inputs)  # a broken assumption or an access outside of a buffer would raise


# Sizes add up over the dimensions with one nonzero term, as CUDA Tile C++ writes them.
SUMMED = """cuda_tile.module @m {
entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %d0 = constant <i64: 0> : tile<i64>
  %d1 = constant <i64: 1> : tile<i64>
  %eight = constant <i32: 8> : tile<i32>
  %is = cmpi equal %d1, %d1, unsigned : tile<i64> -> tile<i1>
  %one = exti %is unsigned : tile<i1> -> tile<i32>
  %not = cmpi equal %d0, %d1, unsigned : tile<i64> -> tile<i1>
  %none = exti %not unsigned : tile<i1> -> tile<i32>
  %first = muli %one, %n : tile<i32>
  %second = muli %none, %eight : tile<i32>
  %size = addi %first, %second : tile<i32>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %t = make_tensor_view %p, shape = [%size], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %v = make_partition_view %t : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %tile, %token = load_view_tko weak %v[%x] inbounds = [true] : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  return
}}"""


def test_derived_sizes_are_whole_tiles_where_none_leaves_a_tensor():
    module = parse_text(SUMMED)
    inputs, _ = usable_inputs(module, "k", lambda inputs: run_inputs(module, "k", inputs))
    assert (inputs.grid, inputs.scalars) == ((2, 1, 1), {1: 128})


@pytest.mark.parametrize(("name", "target"), [("matmul_f16_nt", "sm_90"), ("vector_add_f32", "sm_80")])
def test_compiled_examples_agree(name, target):
    data = (PREBUILT / f"{name}.tilebc").read_bytes()
    module = read_module(data)
    inputs, expected = usable_inputs(module, name, lambda inputs: ExpectedMemory(module, name, inputs))
    actual = run_in_emulator(tileiras_build.compile(data, target, stop_at="ptx"), name, inputs)
    assert any((after != buffer.initial_bytes.view(after.dtype)).any() for after, buffer in zip(actual, inputs.buffers))
    assert expected.compare(actual) == []
    assert all((buffer.bytes == buffer.initial_bytes).all() for buffer in inputs.buffers)


def expectation(text: str):
    module = parse_text(text)
    inputs = derive_inputs(module, "k")
    return ExpectedMemory(module, "k", inputs), inputs


REDUCTION = (
    load("x", "px", (64,), "f32")
    + """
  %s = reduce %x dim=0 identities=[0.000000e+00 : f32] : tile<64xf32> -> tile<f32>
  (%a: tile<f32>, %b: tile<f32>) {
    %c = addf %a, %b : tile<f32>
    yield %c : tile<f32>
  }
  %r = reshape %s : tile<f32> -> tile<1xf32>"""
    + store("r", "pr", (1,), "f32")
)


def test_tolerance_of_a_reduction_is_small_and_not_zero():
    expected, _ = expectation(kernel({"px": "f32", "pr": "f32"}, REDUCTION))
    exact = expected.exact[1].view(np.float32)[0]
    for factor, wrong in ((1, False), (1 + 3e-7, False), (1 + 1e-3, True)):
        actual = [words.copy() for words in expected.exact]
        actual[1].view(np.float32)[0] = exact * np.float32(factor)
        assert bool(expected.compare(actual)) is wrong


def test_exact_results_are_compared_bit_by_bit():
    body = load("x", "px", (8,), "f32") + "\n  %r = mulf %x, %x : tile<8xf32>" + store("r", "pr", (8,), "f32")
    expected, _ = expectation(kernel({"px": "f32", "pr": "f32"}, body))
    actual = [words.copy() for words in expected.exact]
    assert expected.compare(actual) == []
    actual[1][5] ^= 1
    [mismatch] = expected.compare(actual)
    assert (mismatch.parameter, mismatch.index, mismatch.count, mismatch.of) == (1, 5, 1, 8)
    assert "first at index 5" in str(mismatch)


def test_unspecified_elements_are_not_compared():
    body = (
        load("x", "px", (8,), "i32").replace("<8xi32, strides", "<5xi32, strides").replace("shape = [8]", "shape = [5]")
    )
    expected, _ = expectation(kernel({"px": "i32", "pr": "i32"}, body + store("x", "pr", (8,), "i32")))
    actual = [words.copy() for words in expected.exact]
    actual[1][5:] = 77
    assert expected.compare(actual) == []
    actual[1][4] += 1
    assert len(expected.compare(actual)) == 1


def test_unspecified_elements_found_by_further_runs():
    load_some = load("x", "px", (64,), "i8").replace("<64xi8, strides", "<8xi8, strides").replace("[64]", "[8]")
    body = f"""{load_some}
  %most = constant <i8: 120> : tile<64xi8>
  %m = cmpi greater_than %x, %most, signed : tile<64xi8> -> tile<64xi1>
  %r = exti %m unsigned : tile<64xi1> -> tile<64xi8>
"""
    body += store("x", "po", (64,), "i8") + store("r", "pr", (64,), "i8")
    expected, _ = expectation(kernel({"px": "i8", "po": "i8", "pr": "i8"}, body))
    seldom = np.flatnonzero(~expected.open[2][8:]) + 8
    actual = [words.copy() for words in expected.exact]
    actual[2][seldom] ^= 1
    [mismatch] = expected.compare(actual)
    assert 0 < mismatch.count < len(seldom)
    actual[2][~expected.open[2]] = expected.exact[2][~expected.open[2]]
    assert expected.compare(actual) == []


def test_miscompiled_kernel_is_reported():
    body = load("x", "px", (64,), "f32") + "\n  %r = {} %x : tile<64xf32>" + store("r", "pr", (64,), "f32")
    right, wrong = (kernel({"px": "f32", "pr": "f32"}, body.format(name)) for name in ("sin", "cos"))
    expected, inputs = expectation(right)
    from tileiras_build.ir.bytecode.writer import write_module

    other = tileiras_build.compile(write_module(parse_text(wrong)), "sm_80", stop_at="ptx")
    assert len(expected.compare(run_in_emulator(other, "k", inputs))) == 1


def test_compiled_code_has_a_block_limit(monkeypatch):
    """The limit is derived from the interpreter's operations, because equivalent code executes a similar number of blocks."""
    from tileiras_build.ir.bytecode.writer import write_module
    from tileiras_build.simulate.interpreter import compare_with_compiled

    counted = """
  %end = constant <i32: {}> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %n = for %i in (%zero to %end, step %one) : tile<i32> iter_values(%a = %zero) -> (tile<i32>) {{
    %b = xori %a, %i : tile<i32>
    continue %b : tile<i32>
  }}
  %r = reshape %n : tile<i32> -> tile<1xi32>""" + store("r", "pr", (1,), "i32")
    short, long = (kernel({"pr": "i32"}, counted.format(count)) for count in (10, 100_000_000))
    expected, inputs = expectation(short)
    assert 20 < expected.steps < 60
    monkeypatch.setattr(compare_with_compiled, "MIN_BLOCK_LIMIT", 100)
    other = tileiras_build.compile(write_module(parse_text(long)), "sm_80", stop_at="ptx")
    with pytest.raises(EmulatorFault, match="exceeds its limit of .* basic blocks") as caught:
        run_in_emulator(other, "k", inputs, steps=expected.steps)
    assert caught.value.kind == "time-limit"
    same = tileiras_build.compile(write_module(parse_text(short)), "sm_80", stop_at="ptx")
    assert expected.compare(run_in_emulator(same, "k", inputs, steps=expected.steps)) == []


class TestArguments:
    def test_array_fills_sizes_and_strides(self):
        module = module_of("vector_add_f32.tilebc")
        inputs = bind_arguments(module, "vector_add_f32", ["f32:300:1", "f32:300:2", "f32:300"], (2, 1, 1))
        assert [int.from_bytes(inputs.params[n], "little") for n in (1, 2)] == [300, 1]
        run_inputs(module, "vector_add_f32", inputs)
        first, second, total = (elements(buffer).view(np.float32) for buffer in inputs.buffers)
        assert (total == first + second).all()

    def test_saved_arrays_can_be_passed_again(self, tmp_path):
        module = module_of("vector_add_f32.tilebc")
        inputs = bind_arguments(module, "vector_add_f32", ["f32:300:1", "f32:300:2", "f32:300"], (2, 1, 1))
        paths = save_buffers(inputs, tmp_path)
        again = bind_arguments(module, "vector_add_f32", list(map(str, paths)), (2, 1, 1))
        assert (again.buffers[1].bytes == inputs.buffers[1].bytes).all()

    @pytest.mark.parametrize(("texts", "message"), [
        (["f32:300"], "arguments supply 3, 0 left over"),
        (["f16:300"] * 3, "does not have the parameter's element type f32"),
        (["5"] * 3, "is not an array"),
        (["missing.npy"] * 3, "cannot be read"),
        (["f32:300"] * 4, "1 left over"),
    ])  # fmt: skip
    def test_wrong_arguments(self, texts, message):
        with pytest.raises(InvalidInput, match=message):
            bind_arguments(module_of("vector_add_f32.tilebc"), "vector_add_f32", texts, (1, 1, 1))

    def test_grids(self):
        assert parse_grid("4") == (4, 1, 1) and parse_grid("4,2,3") == (4, 2, 3)
        for text in ("", "0", "1,2,3,4", "x"):
            with pytest.raises(InvalidInput, match="grid"):
                parse_grid(text)


FP8_MMA = (
    load("x", "px", (32, 32), "f8E4M3FN") + load("y", "py", (32, 32), "f8E4M3FN") + load("z", "pz", (32, 32), "f32")
    + "\n  %r = mmaf %x, %y, %z : tile<32x32xf8E4M3FN>, tile<32x32xf8E4M3FN>, tile<32x32xf32>"
    + store("r", "pr", (32, 32), "f32")
)  # fmt: skip


def test_few_bits_of_fp8_matmuls_are_tolerated_and_not_of_what_they_are_added_to():
    module = parse_text(kernel({"px": "f8E4M3FN", "py": "f8E4M3FN", "pz": "f32", "pr": "f32"}, FP8_MMA))
    inputs = derive_inputs(module, "k")
    start = inputs.buffers[2]
    for large, wrong in ((0.0, False), (1e6, True)):
        start.bytes.view(np.float32)[:] = start.initial_bytes.view(np.float32)[:] = large
        expected = ExpectedMemory(module, "k", inputs)
        actual = [words.copy() for words in expected.exact]
        actual[3] &= np.uint32(0xFFFFFC00)  # 13 bits of fraction
        assert bool(expected.compare(actual)) is wrong


def dot_expectation(terms: list[tuple[float, float]], start: float, element: str):
    """The expectation of one dot product plus an accumulator, and the dtype of its result."""
    result = "f64" if element == "f64" else "f32"
    shapes = {"x": (1, len(terms)), "y": (len(terms), 1), "z": (1, 1)}
    types = {"x": element, "y": element, "z": result}
    body = "".join(load(name, f"p{name}", shape, types[name]) for name, shape in shapes.items())
    kinds = ", ".join(tile(shapes[name], types[name]) for name in shapes)
    body += f"\n  %r = mmaf %x, %y, %z : {kinds}" + store("r", "pr", (1, 1), result)
    module = parse_text(kernel({f"p{name}": kind for name, kind in types.items()} | {"pr": result}, body))
    inputs = derive_inputs(module, "k")
    for buffer, values in zip(inputs.buffers, (*zip(*terms, strict=True), (start,))):
        packed = held_array(values, types["xyz"[buffer.parameter]]).view(np.uint8)
        buffer.bytes[: packed.size] = packed
        buffer.initial_bytes = buffer.bytes.copy()
    return ExpectedMemory(module, "k", inputs), np.dtype(f"f{8 if result == 'f64' else 4}")


def is_wrong(expected: ExpectedMemory, dtype: np.dtype, result: float) -> bool:
    actual = [words.copy() for words in expected.exact]
    actual[3].view(dtype)[0] = result
    return bool(expected.compare(actual))


@pytest.mark.parametrize("element", ["f64", "f16", "f32"])
def test_what_is_left_of_terms_that_cancel_depends_on_their_order(element):
    tiny = {"f64": 2.0**-300, "f16": 2.0**-40, "f32": 2.0**-80}[element]
    half = (tiny, 1.0) if element != "f16" else (2.0**-20, 2.0**-20)
    expected, dtype = dot_expectation([(2.0, 1.0), half], -2.0, element)
    assert expected.exact[3].view(dtype)[0] == (tiny if element == "f16" else 0)
    for result, wrong in ((0.0, False), (-tiny, False), (tiny, False), (2.0, True), (-2.0, True), (1e-3, True)):
        assert is_wrong(expected, dtype, result) is wrong


def test_terms_that_underflow_may_be_rounded_one_by_one_or_together():
    expected, dtype = dot_expectation([(2.0**-538, 2.0**-537)] * 4, 0.0, "f64")
    for result, wrong in ((0.0, False), (2.0**-1073, False), (2.0**-1060, True)):
        assert is_wrong(expected, dtype, result) is wrong


def test_products_of_zeros_are_zero():
    expected, dtype = dot_expectation([(0.0, 3.0), (-5.0, 0.0)], 0.0, "f64")
    assert is_wrong(expected, dtype, 2.0**-1074)


@pytest.mark.parametrize("element", ["f64", "f16", "f8E4M3FN"])
def test_products_of_small_integers_are_exact_in_any_order(element):
    expected, dtype = dot_expectation([(2.0, 1.0), (1.0, -4.0), (2.0, 1.0), (0.0, 3.0)], 0.5, element)
    assert expected.exact[3].view(dtype)[0] == 0.5
    assert is_wrong(expected, dtype, np.nextafter(dtype.type(0.5), dtype.type(1)))


@pytest.mark.parametrize(
    ("element", "count", "step"), [("f64", 2, 1), ("f64", 64, 4), ("f16", 256, 16), ("f8E4M3FN", 64, 32)]
)
def test_a_term_too_few_or_a_step_too_many_is_noticed(element, count, step):
    rng = np.random.default_rng(count)
    factors = held_array(rng.standard_normal((count, 2)), element).astype(float)
    expected, dtype = dot_expectation([tuple(pair) for pair in factors], 1.0, element)
    terms = factors.prod(axis=1)
    whole = 1 + terms.sum()
    assert not is_wrong(expected, dtype, whole)
    assert is_wrong(expected, dtype, whole - terms[np.abs(terms).argmax()])
    assert is_wrong(expected, dtype, whole + terms[:step].sum())


LARGEST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize(("terms", "result", "wrong"), [
    ([3e38, -3e38, 3e38, -3e38], np.inf, False),
    ([3e38, -3e38, 3e37, -1e37], np.inf, True),
    ([3e38, 3e38, 3e38, 3e38], 1e38, True),
    ([LARGEST, 2.0**102, 2.0**102, 2.0**102], LARGEST, False),  # a quarter of its last place three times
])  # fmt: skip
def test_terms_whose_total_overflows_in_some_order(terms, result, wrong):
    expected, dtype = dot_expectation([(term, 1.0) for term in terms], 0.0, "f32")
    assert is_wrong(expected, dtype, result) is wrong


@pytest.mark.parametrize(("acc", "terms", "result", "wrong"), [
    (-np.inf, [3e38, 3e38], np.nan, False),  # the terms overflow before they meet what is there
    (-np.inf, [3e38, 1e37], np.nan, True),
    (np.inf, [3e38, 3e38], np.nan, True),
])  # fmt: skip
def test_terms_that_are_added_to_an_infinity(acc, terms, result, wrong):
    expected, dtype = dot_expectation([(term, 1.0) for term in terms], acc, "f32")
    assert is_wrong(expected, dtype, acc) is False
    assert is_wrong(expected, dtype, result) is wrong


HALVES = (
    load("x", "px", (4,), "f16")
    + """
  %s = reduce %x dim=0 identities=[0.000000e+00 : f16] : tile<4xf16> -> tile<f16>
  (%a: tile<f16>, %b: tile<f16>) {
    %c = addf %a, %b : tile<f16>
    yield %c : tile<f16>
  }
  %r = reshape %s : tile<f16> -> tile<1xf16>"""
    + store("r", "pr", (1,), "f16")
)


@pytest.mark.parametrize(("values", "result", "wrong"), [
    ([4e4, -3e4, -3e4, 4e4], np.inf, False),  # 4e4 + 4e4 comes first
    ([4e4, -3e4, 2e4, -3e4], np.inf, True),  # no order overflows
    ([4e4, -3e4, 2e4, -3e4], -3e4, True),
    ([4e4, 4e4, 4e4, 4e4], 65504.0, True),  # every order does
    ([4e4, 4e4, -np.inf, 0], np.nan, False),
    ([4e4, 2e4, -np.inf, 0], np.nan, True),
])  # fmt: skip
def test_reductions_that_overflow_in_some_order(values, result, wrong):
    module = parse_text(kernel({"px": "f16", "pr": "f16"}, HALVES))
    inputs = derive_inputs(module, "k")
    inputs.buffers[0].bytes.view(np.float16)[:4] = values
    inputs.buffers[0].initial_bytes = inputs.buffers[0].bytes.copy()
    expected = ExpectedMemory(module, "k", inputs)
    actual = [words.copy() for words in expected.exact]
    actual[1].view(np.float16)[0] = result
    assert bool(expected.compare(actual)) is wrong


def test_an_element_too_few_or_twice_of_a_reduction_that_may_overflow_elsewhere_is_noticed():
    """64 of f16, whose parts stay in range."""
    text = kernel(
        {"px": "f16", "pr": "f16"}, HALVES.replace("4xf16", "64xf16").replace("=(4)", "=(64)").replace("[4]", "[64]")
    )
    module = parse_text(text)
    inputs = derive_inputs(module, "k")
    values = (np.random.default_rng(1).standard_normal(64) * 100).astype(np.float16)
    inputs.buffers[0].bytes.view(np.float16)[:64] = values
    inputs.buffers[0].initial_bytes = inputs.buffers[0].bytes.copy()
    expected = ExpectedMemory(module, "k", inputs)
    whole, largest = values.astype(float).sum(), float(np.abs(values).max())
    for result, wrong in ((whole, False), (whole + largest, True), (whole - largest, True)):
        actual = [words.copy() for words in expected.exact]
        actual[1].view(np.float16)[0] = result
        assert bool(expected.compare(actual)) is wrong
