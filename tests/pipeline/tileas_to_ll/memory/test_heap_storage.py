"""``alloca global``: storage on the device's heap lives as long as its block, however control leaves that."""

import numpy as np
import pytest

import tileiras_build
from tests.simulate.interpreter.kernels import kernel, run
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator import EmulatorFault
from tileiras_build.simulate.emulator.isa import system_calls
from tileiras_build.simulate.emulator.memory import device_heap

PLACES = """
  %{p}_1 = reshape %{p} : tile<ptr<i32>> -> tile<1xptr<i32>>
  %{p}_n = broadcast %{p}_1 : tile<1xptr<i32>> -> tile<64xptr<i32>>
  %{p}_o = offset %{p}_n, %lanes : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>"""
LANES = "  %lanes = iota : tile<64xi32>"
# Writes 64 elements, reads them in reverse.
THROUGH = """
  %{p} = alloca num_elem = 64, alignment = 256 global : tile<ptr<i32>>""" + PLACES + """
  %{p}_t = store_ptr_tko weak %{p}_o, %{x} : tile<64xptr<i32>>, tile<64xi32> -> token
  %{p}_r = offset %{p}_n, %back : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
  %{p}_y, %{p}_u = load_ptr_tko weak %{p}_r token=%{p}_t : tile<64xptr<i32>> -> tile<64xi32>, token"""  # fmt: skip
BACK = """
  %last = constant <i32: 63> : tile<64xi32>
  %back = subi %last, %lanes : tile<64xi32>"""
STORE = """
  %o_t = store_ptr_tko weak %o_o, %{x} : tile<64xptr<i32>>, tile<64xi32> -> token"""
STRAIGHT = LANES + BACK + PLACES.format(p="o") + THROUGH.format(p="a", x="lanes") + """
  %twice = addi %a_y, %a_y : tile<64xi32>""" + THROUGH.format(p="b", x="twice") + STORE.format(x="b_y")  # fmt: skip
# Trips 0, 2, 4 continue from a branch, 1 and 3 by the end of the body, 5 breaks with storage of its own.
LOOP = LANES + BACK + PLACES.format(p="o") + """
  %one = constant <i32: 1> : tile<i32>
  %five = constant <i32: 5> : tile<i32>
  %r:2 = loop iter_values(%i = %zero, %s = %lanes) : tile<i32>, tile<64xi32> -> tile<i32>, tile<64xi32> {""" + THROUGH.format(p="a", x="s") + """
    %next = addi %i, %one : tile<i32>
    %ends = cmpi equal %i, %five, signed : tile<i32> -> tile<i1>
    if %ends {""" + THROUGH.format(p="b", x="a_y") + """
      break %i, %b_y : tile<i32>, tile<64xi32>
    }
    %bit = andi %i, %one : tile<i32>
    %even = cmpi equal %bit, %zero, signed : tile<i32> -> tile<i1>
    if %even {
      %odd = addi %a_y, %lanes : tile<64xi32>
      continue %next, %odd : tile<i32>, tile<64xi32>
    }
    continue %next, %a_y : tile<i32>, tile<64xi32>
  }""" + STORE.format(x="r#1")  # fmt: skip
EARLY = LANES + BACK + PLACES.format(p="o") + THROUGH.format(p="a", x="lanes") + """
  %x, %y, %z = get_tile_block_id : tile<i32>
  %leaves = cmpi equal %x, %zero, signed : tile<i32> -> tile<i1>
  if %leaves {""" + STORE.format(x="a_y") + """
    return
  }""" + STORE.format(x="lanes")  # fmt: skip


@pytest.fixture
def heaps(monkeypatch):
    """Every heap that a launch makes."""
    made = []

    class Recorded(device_heap.DeviceHeap):
        def __init__(self, memory):
            super().__init__(memory)
            made.append(self)

    monkeypatch.setattr(system_calls, "DeviceHeap", Recorded)
    return made


def launched(text: str, sm: str, **options) -> tuple[np.ndarray, np.ndarray]:
    """What the interpreter and the compiled code leave."""
    text = kernel({"o": "i32"}, text)
    [expected] = run(text, [np.zeros(64, np.int32)], ["i32"])
    artifacts = tileiras_build.compile(write_module(parse_text(text)), sm, stop_at="ptx", **options)
    actual, memory = np.zeros(64, np.int32), emulator.Memory()
    memory.map_array(actual)
    emulator.launch(artifacts, "k", 1, [actual.ctypes.data.to_bytes(8, "little")], memory=memory, check_races=True)
    return expected, actual


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize(("text", "blocks"), [(STRAIGHT, 2), (LOOP, 7), (EARLY, 1)], ids=["straight", "loop", "early"])
def test_each_block_is_freed_once(text, blocks, sm, heaps):
    expected, actual = launched(text, sm)
    np.testing.assert_array_equal(actual, expected)
    [made] = heaps
    assert len(made._freed) == blocks and not made._blocks


def test_serializer_of_nvidia(heaps):
    expected, actual = launched(LOOP, "sm_90", serializer="libnvvm")
    np.testing.assert_array_equal(actual, expected)


def test_kernel_traps_where_the_heap_is_full(monkeypatch):
    monkeypatch.setattr(device_heap, "HEAP_BYTES", 100)
    with pytest.raises(EmulatorFault, match="trap"):
        launched(STRAIGHT, "sm_90")
