"""The public text form, operation by operation. The expected text was checked against tileirdisasm 13.5."""

import textwrap

import pytest
from sample_modules import SAMPLES, S, build, e, sample, tile
from xdsl.dialects.builtin import StringAttr

from tileiras_build.ir.bytecode import disassemble, read_module
from tileiras_build.ir.bytecode.attribute_text import symbol
from tileiras_build.ir.bytecode.op_assembly_formats import FORMATS
from tileiras_build.ir.bytecode.opcodes import OPCODES
from tileiras_build.ir.bytecode.printer import print_module

TEXTS = {
    "control": """
        entry @k() {
          %cst_0_i32 = constant <i32: 0> : tile<i32>
          %cst_9_i32 = constant <i32: 9> : tile<i32>
          %for = for %loopIdx in (%cst_0_i32 to %cst_9_i32, step %cst_9_i32) : tile<i32> iter_values(%iterArg0 = %cst_0_i32) -> (tile<i32>) {
            continue %iterArg0 : tile<i32>
          }
          %true = constant <i1: true> : tile<i1>
          %0 = if %true -> (tile<i32>) {
            yield %cst_0_i32 : tile<i32>
          } else {
            yield %cst_9_i32 : tile<i32>
          }
          %1 = loop iter_values(%arg0 = %cst_0_i32) : tile<i32> -> tile<i32> {
            %true_0 = constant <i1: true> : tile<i1>
            if %true_0 {
              break %arg0 : tile<i32>
            } else {
            }
            continue %arg0 : tile<i32>
          }
          return
        }
    """,
    "aggregates": """
        entry @k() {
          %cst_1_f32 = constant <f32: 1.000000e+00> : tile<4x8xf32>
          %reduce = reduce %cst_1_f32 dim=1 identities=[0xFF800000 : f32] : tile<4x8xf32> -> tile<4xf32>\x20
          (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
            %1 = maxf %reduce_lhs, %reduce_rhs : tile<f32>
            yield %1 : tile<f32>
          }
          %cst_1_i32 = constant <i32: 1> : tile<8xi32>
          %0 = scan %cst_1_i32 dim=0 reverse=true identities=[0 : i32] : tile<8xi32> -> tile<8xi32>\x20
          (%arg0: tile<i32>, %arg1: tile<i32>) {
            %1 = addi %arg0, %arg1 : tile<i32>
            yield %1 : tile<i32>
          }
          return
        }
    """,
    "views": """
        entry @k(%arg0: tile<ptr<f32>>) {
          %cst_32_i32 = constant <i32: 32> : tile<i32>
          %tview = make_tensor_view %arg0, shape = [%cst_32_i32, 16], strides = [16, %cst_32_i32] : tile<i32> -> tensor_view<?x16xf32, strides=[16,?]>
          %pview = make_partition_view %tview : partition_view<tile=(4x8), padding_value = neg_inf, tensor_view<?x16xf32, strides=[16,?]>, dim_map=[1, 0]>
          %tile, %result_token = load_view_tko weak %pview[%cst_32_i32, %cst_32_i32] optimization_hints = <default = {latency = 2}> : partition_view<tile=(4x8), padding_value = neg_inf, tensor_view<?x16xf32, strides=[16,?]>, dim_map=[1, 0]>, tile<i32> -> tile<4x8xf32>, token
          %0 = store_view_tko weak %tile, %pview[%cst_32_i32, %cst_32_i32] token = %result_token : tile<4x8xf32>, partition_view<tile=(4x8), padding_value = neg_inf, tensor_view<?x16xf32, strides=[16,?]>, dim_map=[1, 0]>, tile<i32> -> token
          %1:2 = get_tensor_shape %tview : tensor_view<?x16xf32, strides=[16,?]> -> tile<i32>
          %2:2 = get_index_space_shape %pview : partition_view<tile=(4x8), padding_value = neg_inf, tensor_view<?x16xf32, strides=[16,?]>, dim_map=[1, 0]> -> tile<i32>
          return
        }
    """,
    "memory": """
        entry @k(%arg0: tile<ptr<f32>>) {
          %0 = make_token : token
          %cst_5_i32 = constant <i32: 5> : tile<i32>
          %assume_cst_5_i32 = assume bounded<0, ?>, %cst_5_i32 : tile<i32>
          %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
          %1 = offset %assume, %assume_cst_5_i32 : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
          %2 = ptr_to_int %1 : tile<ptr<f32>> -> tile<i64>
          %cst_0_i64 = constant <i64: 0> : tile<i64>
          %3 = int_to_ptr %cst_0_i64 : tile<i64> -> tile<ptr<f32>>
          %4 = ptr_to_ptr %1 : tile<ptr<f32>> -> tile<ptr<i32>>
          %true = constant <i1: true> : tile<i1>
          %cst_2_f32 = constant <f32: 2.000000e+00> : tile<f32>
          %result, %result_token = load_ptr_tko relaxed device %1, %true, %cst_2_f32 token=%0 : tile<ptr<f32>>, tile<i1>, tile<f32> -> tile<f32>, token
          %5 = store_ptr_tko weak %1, %result, %true token=%result_token optimization_hints = <sm_90 = {allow_tma = false, latency = 3}> : tile<ptr<f32>>, tile<f32>, tile<i1> -> token
          %result_0, %result_token_1 = atomic_rmw_tko relaxed device %1, addf, %result token=%0 : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
          %result_2, %result_token_3 = atomic_cas_tko relaxed device %1, %result, %result, %true : tile<ptr<f32>>, tile<f32>, tile<i1> -> tile<f32>, token
          %6 = join_tokens %0, %result_token : token
          assert %true, "not \\22ok\\22\\0A" : tile<i1>
          return
        }
    """,
    "globals": """
        global  @table alignment = 16 <f32: [1.000000e+00, 2.000000e+00]> : tile<2xf32>
        entry @k() {
          %0 = get_global @table : tile<ptr<f32>>
          return
        }
    """,
    "since_13_4": """
        entry @k() {
          %cst_2_f32 = constant <f32: 2.000000e+00> : tile<f32>
          %cst_5_i32 = constant <i32: 5> : tile<i32>
          %0 = fpowi %cst_2_f32, %cst_5_i32 : tile<f32>, tile<i32>
          %1 = ftoi %cst_2_f32 signed  saturating : tile<f32> -> tile<i32>
          %cst_1_f32 = constant <f32: 1.000000e+00> : tile<2xf32>
          %cst_0_f32 = constant <f32: 0.000000e+00> : tile<8xf32>
          %2 = insert %cst_1_f32, %cst_0_f32[%cst_5_i32] : tile<2xf32>, tile<8xf32>
          %3 = gdc_wait_tko -> token
          %4 = gdc_launch_dependents_tko token = %3 -> token
          %5 = memory_fence_alias_tko %3
          %6 = ftof %cst_2_f32 rounding<nearest_away> : tile<f32> -> tile<tf32>
          return
        }
    """,
    "since_13_5": """
        entry @k(%arg0: tile<ptr<f32, <multicast>>>, %arg1: tile<ptr<f32>>) {
          %cst_0_i32 = constant <i32: 0> : tile<i32>
          %cst_1_f32 = constant <f32: 1.000000e+00> : tile<4x8xf32>
          %tview = make_tensor_view %arg0, shape = [16, 16], strides = [16, 1] : tile<ptr<f32, <multicast>>> -> tensor_view<16x16xf32, strides=[16,1], #cuda_tile.ptr_attr<multicast>>
          %pview = make_partition_view %tview : partition_view<tile=(4x8), tensor_view<16x16xf32, strides=[16,1], #cuda_tile.ptr_attr<multicast>>>
          %reduced_values, %result_token = multimem_load_reduce_view_tko weak %pview[%cst_0_i32, %cst_0_i32]  : partition_view<tile=(4x8), tensor_view<16x16xf32, strides=[16,1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<4x8xf32>, token
          %0 = multimem_reduce_view_tko relaxed sys %pview, %reduced_values[%cst_0_i32, %cst_0_i32] token = %result_token inbounds = [true, false] : partition_view<tile=(4x8), tensor_view<16x16xf32, strides=[16,1], #cuda_tile.ptr_attr<multicast>>>, tile<4x8xf32>, tile<i32>, token -> token
          %1 = multimem_store_view_tko relaxed device %pview, %cst_1_f32[%cst_0_i32, %cst_0_i32] token = %0  : partition_view<tile=(4x8), tensor_view<16x16xf32, strides=[16,1], #cuda_tile.ptr_attr<multicast>>>, tile<4x8xf32>, tile<i32>, token -> token
          %tview_0 = make_tensor_view %arg1, shape = [16, 16], strides = [16, 1] : tensor_view<16x16xf32, strides=[16,1]>
          %pview_1 = make_partition_view %tview_0 : partition_view<tile=(4x8), tensor_view<16x16xf32, strides=[16,1]>>
          %2 = atomic_red_view_tko relaxed device %pview_1[%cst_0_i32, %cst_0_i32], addf, %cst_1_f32 inbounds = [true, true] : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<16x16xf32, strides=[16,1]>>, tile<i32> -> token
          return
        }
    """,
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name):
    expected = textwrap.dedent(TEXTS[name]).lstrip("\n")
    assert disassemble(sample(name)) == expected


def test_the_program_that_wrote_a_file_is_named_first():
    module = read_module(sample("control"))
    assert not print_module(module).startswith("//")
    module.body.block.first_op.properties["producer"] = StringAttr("a front end\n@k")
    assert print_module(module).startswith("// Producer: a front end\n// @k\nentry @k")


def test_every_operation_has_a_format():
    assert set(FORMATS) == {row.name for row in OPCODES.values()}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_prints_one_line_per_operation(name):
    text = disassemble(sample(name))
    assert text.startswith(("entry @k(", "global ")) and text.rstrip().endswith("}")


def test_locations():
    def where(table):
        source = table.file("k.py", "/src")
        function = table.subprogram(source, 1, "k", "k", table.compile_unit(source), 1)
        own = table.loc(function, "/src/k.py", 2, 1)
        return own, table.call_site(table.loc(function, "/src/lib.py", 7, 3), own)

    def fill(_, types, code, values):
        e.encode_IotaOp(code, tile(types, S.I32, 4))

    text = disassemble(build(fill, debug=where), locations=True)
    assert '%0 = iota : tile<4xi32> loc(callsite("/src/lib.py":7:3 at "/src/k.py":2:1))\n' in text
    assert "iota : tile<4xi32> loc(unknown)\n" in disassemble(build(fill), locations=True)
    assert "loc(" not in disassemble(build(fill, debug=where))


def test_symbols_that_are_not_identifiers_are_quoted():
    assert symbol("a_b$1.c") == "@a_b$1.c"
    assert symbol("a b") == '@"a b"'
    assert symbol('é"') == '@"\\C3\\A9\\22"'


def test_large_constants_are_bytes():
    def fill(_, types, code, values):
        e.encode_ConstantOp(code, tile(types, S.I8, 128), bytes(range(128)))
        e.encode_ConstantOp(code, tile(types, S.I8, 2, 2), bytes([1, 2, 3, 255]))

    text = disassemble(build(fill))
    assert f'constant <i8: "0x{bytes(range(128)).hex().upper()}"> : tile<128xi8>' in text
    assert "constant <i8: [[1, 2], [3, -1]]> : tile<2x2xi8>" in text
