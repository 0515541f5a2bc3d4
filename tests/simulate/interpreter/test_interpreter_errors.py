"""Faults of the interpreter: each names its operation and, if any, the address."""

import numpy as np
import pytest

from tests.simulate.interpreter.kernels import kernel, load, pointers_text, run, store
from tileiras_build.core.errors import InvalidInput
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.simulate import interpreter
from tileiras_build.simulate.interpreter import InterpreterFault, Memory, OutsideMemory

ASSUME = (
    load("x", "px", (8,), "i32")
    + """
  %y = assume {}, %x : tile<8xi32>"""
)


def run_assume(predicate: str, values) -> None:
    run(kernel({"px": "i32"}, ASSUME.format(predicate)), [np.array(values, np.int32)], ["i32"])


@pytest.mark.parametrize(("predicate", "good", "bad"), [
    ("div_by<4>", [0, 4, 8, -4] * 2, [0, 4, 8, 2] * 2),
    ("div_by<4, every 4 along 0>", [4, 5, 6, 7, 0, 1, 2, 3], [4, 5, 6, 7, 0, 1, 2, 9]),
    ("bounded<0, 7>", range(8), range(1, 9)),
    ("bounded<?, 7>", range(-1, 7), range(1, 9)),
    ("same_elements<[2]>", [1, 1, 2, 2, 3, 3, 3, 3], [1, 1, 2, 2, 3, 3, 3, 4]),
])  # fmt: skip
def test_assumptions_are_checked(predicate, good, bad):
    run_assume(predicate, list(good))
    with pytest.raises(
        InterpreterFault, match=r"assume: .* breaks the assumption " + predicate.split("<")[0]
    ) as caught:
        run_assume(predicate, list(bad))
    assert caught.value.id == "broken-assumption"


def test_access_outside_of_memory_names_the_address():
    body = (
        load("i", "pi", (8,), "i32")
        + pointers_text("p", "pa", "f32", "i")
        + """
  %v, %t = load_ptr_tko weak %p : tile<8xptr<f32>> -> tile<8xf32>, token"""
    )
    text = kernel({"pi": "i32", "pa": "f32"}, body)
    index = np.zeros(8, np.int32)
    run(text, [index, np.zeros(4, np.float32)], ["i32", "f32"])
    index[5] = 1 << 28
    with pytest.raises(InterpreterFault, match="load_ptr_tko: address 0x") as caught:
        run(text, [index, np.zeros(4, np.float32)], ["i32", "f32"])
    assert caught.value.id == "outside-memory"
    assert f"{caught.value.address:#x}" in str(caught.value)


def test_failed_assertion_names_the_element():
    body = load("m", "pm", (8,), "i1") + '\n  assert %m, "all of them" : tile<8xi1>'
    text = kernel({"pm": "i1"}, body)
    run(text, [np.ones(8, bool)], ["i1"])
    with pytest.raises(InterpreterFault, match=r"'all of them' does not hold at \(3,\)"):
        run(text, [np.arange(8) != 3], ["i1"])


def test_a_tile_outside_of_the_tensor_reads_and_writes_nothing():
    """Its elements are padding; no memory is touched, so there is nothing to report."""
    text = kernel({"px": "f32", "po": "f32"}, load("x", "px", (8,), "f32") + store("x", "po", (8,), "f32"))
    far = "%far = constant <i32: {}> : tile<i32>\n  %x, %x_t"
    text = text.replace("%zero]", "%far]").replace("%x, %x_t", far)
    for index in (1, -1, 2**31 - 1):
        *_, out = run(
            text.replace("{}", str(index)), [np.ones(8, np.float32), np.full(8, 9, np.float32)], ["f32", "f32"]
        )
        assert (out == 9).all()


def test_endless_loop_stops_at_the_limit():
    text = kernel({}, "  loop {\n    continue\n  }")
    with pytest.raises(InterpreterFault, match="step limit of"):
        run(text, [], [], limit=1000)


COUNTED = """  %low = constant <i8: {}> : tile<i8>
  %high = constant <i8: {}> : tile<i8>
  %step = constant <i8: {}> : tile<i8>
  for {}%i in (%low to %high, step %step) : tile<i8> {{
    continue
  }}"""


@pytest.mark.parametrize(("low", "high", "step", "compared"), [
    (122, 127, 2, ""), (0, 10, 0, ""), (0, 127, -2, ""), (-56, -1, 50, "unsigned "), (-100, 126, 96, ""),
])  # fmt: skip
def test_counter_that_never_reaches_its_bound(low, high, step, compared):
    with pytest.raises(InterpreterFault, match=f"overflows before {high % 256 if compared else high}") as caught:
        run(kernel({}, COUNTED.format(low, high, step, compared)), [], [])
    assert caught.value.id == "loop-endless"


def test_a_loop_without_iterations_has_any_step():
    for low, high, step in ((10, 10, 0), (10, 0, -1), (127, -128, 0)):
        run(kernel({}, COUNTED.format(low, high, step, "")), [], [])


@pytest.mark.parametrize("step", [0, 1])
def test_loop_with_a_return(step):
    body = "%stop = constant <i1: 1> : tile<i1>\n  if %stop {\n    return\n  } else {\n  }\n  continue"
    text = kernel({}, COUNTED.replace("i8", "i32").format(0, 2**31 - 1, step, "").replace("continue", body))
    run(text, [], [], limit=1000)


@pytest.mark.parametrize(("low", "high", "step"), [(0, 2**31 - 1, 1), (0, 10, -1), (-(2**31), 2**31 - 17, 2000)])
def test_loop_with_too_many_iterations_does_not_start(low, high, step):
    text = kernel(
        {},
        COUNTED.replace("i8", "i32")
        .format(low, high, step, "")
        .replace("continue", 'print_tko "x" -> token\n  continue'),
    )
    said: list[str] = []
    with pytest.raises(InterpreterFault, match="for: step limit of 1000000 operations"):
        run(text, [], [], limit=1_000_000, output=said.append)
    assert not said


def test_unknown_entry_and_wrong_parameters():
    module = parse_text(kernel({"px": "f32"}, ""))
    with pytest.raises(InvalidInput, match="no kernel 'other' in this module; use one of k"):
        interpreter.launch(module, "other", 1, [], memory=Memory())
    with pytest.raises(InvalidInput, match="takes 1 parameters, got 0"):
        interpreter.launch(module, "k", 1, [], memory=Memory())
    with pytest.raises(InvalidInput, match="has 8 bytes, got 4"):
        interpreter.launch(module, "k", 1, [bytes(4)], memory=Memory())


def test_print_formats_tiles_and_scalars():
    body = (
        load("x", "px", (4,), "i32") + '\n  %t = print_tko "%d and %5.2f%%", %x, %h : tile<4xi32>, tile<f32> -> token'
    )
    body = "  %h = constant <f32: 1.500000e+00> : tile<f32>\n" + body
    lines = []
    run(kernel({"px": "i32"}, body), [np.arange(4, dtype=np.int32)], ["i32"], output=lines.append)
    assert lines == ["[0, 1, 2, 3] and  1.50%"]


ORDER = """
  %x, %y, %z = get_tile_block_id : tile<i32>
  %o, %t = atomic_rmw_tko relaxed device %pc, xchg, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token"""


def test_blocks_run_in_the_given_order():
    text = kernel({"pc": "i32"}, ORDER)
    assert run(text, [np.zeros(1, np.int32)], ["i32"], grid=4)[0] == 3
    assert run(text, [np.zeros(1, np.int32)], ["i32"], grid=4, order=[(3, 0, 0), (1, 0, 0)])[0] == 1


class TestMemory:
    def test_overlapping_pieces_are_joined(self):
        data = np.arange(64, dtype=np.uint8)
        memory = Memory()
        memory.map(data.ctypes.data, 40)
        memory.map(data.ctypes.data + 30, 34)
        assert len(memory.pieces) == 1
        places = np.array([data.ctypes.data + 36], np.uint64)
        assert memory.load(places, 8).view(np.uint8).tolist() == list(range(36, 44))

    def test_unaligned_access(self):
        data = np.arange(64, dtype=np.uint8)
        memory = Memory()
        start = memory.map_array(data)
        memory.store(np.array([start + 3], np.uint64), np.array([0x04030201], np.uint32))
        assert data[3:7].tolist() == [1, 2, 3, 4]

    def test_access_that_leaves_a_piece(self):
        data = np.zeros(64, np.uint8)
        memory = Memory()
        start = memory.map_array(data)
        with pytest.raises(OutsideMemory) as caught:
            memory.load(np.array([start, start + 60], np.uint64), 8)
        assert caught.value.address == start + 60

    def test_nothing_mapped(self):
        with pytest.raises(OutsideMemory):
            Memory().load(np.array([16], np.uint64), 4)


def test_tail_of_a_view_is_padded_and_not_written():
    body = (
        load("x", "px", (8,), "f32").replace("<8xf32, strides", "<5xf32, strides").replace("shape = [8]", "shape = [5]")
    )
    body = body.replace("tile=(8), tensor", "tile=(8), padding_value = nan, tensor") + store("x", "py", (8,), "f32")
    outputs = run(kernel({"px": "f32", "py": "f32"}, body), [np.arange(8, dtype=np.float32)] * 2, ["f32"] * 2)
    assert outputs[1][:5].tolist() == [0, 1, 2, 3, 4] and np.isnan(outputs[1][5:]).all()
