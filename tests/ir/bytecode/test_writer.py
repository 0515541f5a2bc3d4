"""Writing bytecode: what is read back is the same, and a file's own tables reproduce it byte by byte."""

from pathlib import Path

import pytest
from sample_modules import sample

from tileiras_build.core.errors import InvalidInput
from tileiras_build.ir.bytecode import disassemble, read_module
from tileiras_build.ir.bytecode.byte_cursor import Cursor
from tileiras_build.ir.bytecode.existing_tables import Tables
from tileiras_build.ir.bytecode.opcodes import OPCODES, VERSIONS
from tileiras_build.ir.bytecode.reader import CLASSES
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.varint_encoding import Table, integers, signed_varint, varint
from tileiras_build.ir.bytecode.writer import OPCODES_BY_NAME, write_module
from tileiras_build.ir.dialects.cuda_tile.location import (
    LOC,
    DICompileUnitAttr,
    DIFileAttr,
    DILocAttr,
    DISubprogramAttr,
)

PREBUILT = sorted((Path(__file__).parents[3] / "examples" / "prebuilt").glob("*.tilebc"))


@pytest.mark.parametrize("path", PREBUILT, ids=lambda path: path.stem)
def test_a_file_is_reproduced_byte_by_byte(path):
    data = path.read_bytes()
    assert write_module(read_module(data), like=Tables(data)) == data


@pytest.mark.parametrize("path", PREBUILT, ids=lambda path: path.stem)
def test_new_tables_mean_the_same(path):
    module = read_module(path.read_bytes())
    written = write_module(module)
    assert read_module(written).is_structurally_equivalent(module)
    assert write_module(read_module(written)) == written


TEXT = """
global constant @table alignment = 16 <f32: [1.000000e+00, 2.000000e+00]> : tile<2xf32>
entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>) optimization_hints=<sm_90 = {num_cta_in_cga = 2, occupancy = 3}> {
  %0 = get_global @table : tile<ptr<f32>>
  %1 = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %2 = assume bounded<-3, ?>, %arg1 : tile<i32>
  %3 = constant <f64: [0xFFF0000000000000, -0.000000e+00]> : tile<2xf64>
  %4 = reduce %3 dim=0 identities=[0xFFF0000000000000 : f64] : tile<2xf64> -> tile<f64>
  (%a: tile<f64>, %b: tile<f64>) {
    %5 = maxf %a, %b propagate_nan : tile<f64>
    yield %5 : tile<f64>
  }
  %6 = constant <i1: [true, false, true, true]> : tile<4xi1>
  %7 = constant <i64: -9223372036854775808> : tile<i64>
  return
}
"""


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: ".".join(map(str, version)))
def test_every_version_is_read_back(version):
    # Older files do not say that a global is constant.
    module = parse_text(TEXT if version >= (13, 3) else TEXT.replace("constant @", "@"))
    data = write_module(module, version=version)
    assert tuple(data[8:10]) == version
    again = read_module(data)
    assert again.is_structurally_equivalent(module)
    assert write_module(again, version=version) == data


MULTICAST = """entry @k(%arg0: tile<ptr<i32, <multicast>>> {ab.c = 3 : i32, ab.d = "x"}, %arg1: tile<ptr<i32, <unicast>>>) {
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %tview = make_tensor_view %arg0, shape = [16, %cst_0_i32], strides = [1, 16] : tile<ptr<i32, <multicast>>>, tile<i32> -> tensor_view<16x?xi32, strides=[1,16], #cuda_tile.ptr_attr<multicast>>
  %pview = make_partition_view %tview : partition_view<tile=(4x8), tensor_view<16x?xi32, strides=[1,16], #cuda_tile.ptr_attr<multicast>>>
  %reduced_values, %result_token = multimem_load_reduce_view_tko acquire sys %pview[%cst_0_i32, %cst_0_i32] inbounds = [false, true] attributes {reduction = #cuda_tile.multimem_reduction_kind<umin>} : partition_view<tile=(4x8), tensor_view<16x?xi32, strides=[1,16], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<4x8xi32>, token
  return
}
"""


@pytest.mark.parametrize("name", ["since_13_3", "since_13_4", "flagged_views", "since_13_5", "globals", "memory"])
def test_what_is_printed_of_each_version_is_written_again(name):
    text = disassemble(sample(name))
    assert disassemble(write_module(parse_text(text), version=VERSIONS[-1])) == text


def test_what_13_5_adds_is_read_back():
    data = write_module(parse_text(MULTICAST), version=(13, 5))
    module = read_module(data)
    assert disassemble(data) == MULTICAST and module.is_structurally_equivalent(parse_text(MULTICAST))
    assert write_module(module, like=Tables(data)) == data


@pytest.mark.parametrize(
    "text, message",
    [
        (MULTICAST, "the pointer attribute 'multicast' needs bytecode 13.5, not 13.4"),
        (
            "entry @k(%arg0: tile<i32> {ab.c = 3 : i32}) {\n  return\n}\n",
            "an attribute of a parameter needs bytecode 13.5, not 13.4",
        ),
    ],
)
def test_what_13_5_adds_is_not_written_as_13_4(text, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        write_module(parse_text(text))
    assert caught.value.remedy == "write bytecode 13.5 or newer"


ATTRIBUTES = ('{a.array = [3 : i32, "x"], a.dictionary = {"a b" = true, n = false}, a.divisor = #cuda_tile.div_by<16>, '
              'a.type = f32}')  # fmt: skip


def test_attributes_of_parameters_are_in_the_order_of_their_names():
    text = f"entry @k(%arg0: tile<i32>, %arg1: tile<f32> {ATTRIBUTES}) {{\n  return\n}}\n"
    swapped = text.replace('"a b" = true, n = false', 'n = false, "a b" = true')
    assert disassemble(write_module(parse_text(swapped), version=(13, 5))) == text


def test_a_declaration_is_written():
    file = DIFileAttr("k.py", "/src")
    function = DISubprogramAttr(file, 1, "k", "k", DICompileUnitAttr(file), 1, declaration=True)
    module = parse_text("entry @k() {\n  return\n}")
    entry = module.body.block.first_op.body.block.first_op
    entry.attributes[LOC] = DILocAttr("k.py", 1, 1, function)
    again = read_module(write_module(module, version=(13, 5)))
    assert again.body.block.first_op.body.block.first_op.attributes[LOC].scope == function
    with pytest.raises(InvalidInput, match="a declaration as a debug scope needs bytecode 13.5, not 13.4"):
        write_module(module, version=(13, 4))


# Written once, so that a reader and a writer that are wrong together do not pass.
FIXED = bytes.fromhex(
    "7f54696c654952000d050000823408cb01000502000b0006020a02010100030205030a001f100600430107000102004208037b02090a0102"
    "0206020001040202025c0000841508cb01cbcbcbcbcbcbcb0000000000000000040000000085960104cbcbcb0bcbcbcb0000000001000000"
    "05000000080000000c0000000f00000014000000170000003d0000005200000065000000030c0100020d01000c0100010d03001002020400"
    "0d00000e010002100000000000000000000000000000800201000000000000001000000000000000020f0002040000000800000007020000"
    "0000010000000d00020400000000000000080000000000000011811e04cbcbcb04cbcbcb000000000100000005000000090000006b61622e"
    "6361622e647800"
)


def test_bytes_written_before_are_written_again():
    assert write_module(parse_text(MULTICAST), version=(13, 5)) == FIXED
    assert disassemble(FIXED) == MULTICAST


def test_an_operation_that_the_version_lacks_is_refused():
    module = parse_text("entry @k(%p: tile<ptr<i8>>) {\n  %0 = gdc_wait_tko -> token\n  return\n}")
    with pytest.raises(InvalidInput, match=r"gdc_wait_tko needs bytecode 13\.4, not 13\.3"):
        write_module(module, version=(13, 3))


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**32, 2**64 - 1])
def test_varints_are_read_back(value):
    assert Cursor(varint(value)).varint() == value


@pytest.mark.parametrize("value", [0, 1, -1, 63, -64, 2**31, -(2**31), 2**63 - 1, -(2**63)])
def test_signed_varints_are_read_back(value):
    assert Cursor(signed_varint(value)).signed_varint() == value


def test_a_double_below_zero_is_read_as_either_writer_writes_it():
    """cuTile writes the identity of a maximum of doubles as an unsigned number of 65 bits, MLIR a signed one of 64."""
    lowest = 0xFFF0000000000000
    assert Cursor(varint(lowest << 1)).float_pattern() == lowest
    assert Cursor(signed_varint(lowest - 2**64)).float_pattern() == lowest
    with pytest.raises(InvalidInput, match="longer than 65 bits"):
        Cursor(varint(1 << 65)).float_pattern()


def test_integer_lists_are_read_back():
    assert Cursor(integers([1, -2, 300], 4)).integers(4, "values") == (1, -2, 300)


def test_equal_entries_share_an_index():
    table = Table()
    assert [table.add(entry) for entry in (b"a", b"bc", b"a")] == [0, 1, 0]
    assert table.encode(4) == b"\x02\xcb\xcb\xcb" + (0).to_bytes(4, "little") + (1).to_bytes(4, "little") + b"abc"


def test_every_opcode_has_a_class_to_write():
    assert set(OPCODES_BY_NAME) == {row.name for row in OPCODES.values()} and set(OPCODES_BY_NAME) <= set(CLASSES)
