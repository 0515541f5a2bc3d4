"""What people write that ``dis`` does not print: prefixes, aliases, the generic syntax, other modules around."""

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.ir.bytecode import disassemble
from tileiras_build.ir.bytecode.text_parser import assemble, parse_text
from tileiras_build.ir.bytecode.writer import write_module

PLAIN = """entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>) {
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %0 = addi %arg1, %cst_1_i32 overflow<no_signed_wrap> : tile<i32>
  %cst_2_f32 = constant <f32: 2.000000e+00> : tile<f32>
  %1 = make_token : token
  %2 = cmpi less_than %0, %cst_1_i32, signed : tile<i32> -> tile<i1>
  if %2 {
    %3 = store_ptr_tko weak %arg0, %cst_2_f32 token=%1 : tile<ptr<f32>>, tile<f32> -> token
  }
  return
}
"""
PREFIXED = """cuda_tile.module @m attributes {producer = "by hand"} {
  cuda_tile.entry @k(%p: !cuda_tile.tile<!cuda_tile.ptr<f32>>, %n: !cuda_tile.tile<i32>) {
    %c = cuda_tile.constant <i32: 1> : !cuda_tile.tile <i32>
    %s = cuda_tile.addi %n, %c overflow <no_signed_wrap> : !cuda_tile.tile<i32>
    %x = cuda_tile.constant <f32: 2.0> : !cuda_tile.tile<f32>
    %t = cuda_tile.make_token : !cuda_tile.token
    %l = cuda_tile.cmpi less_than %s, %c, signed : !cuda_tile.tile<i32> -> !cuda_tile.tile<i1>
    cuda_tile.if %l {
      %u = cuda_tile.store_ptr_tko weak %p, %x token = %t : tile<ptr<f32>>, tile<f32> -> token
      cuda_tile.yield
    }
  }
}
"""
GENERIC = """module attributes {gpu.container_module} {
"cuda_tile.module"() <{sym_name = "m"}> ({
  "cuda_tile.entry"() <{arg_attrs = [{}, {}], function_type = (!cuda_tile.tile<ptr<f32>>, !word) -> (),
                        sym_name = "k", optimization_hints = #cuda_tile.optimization_hints<>}> ({
  ^bb0(%p: !cuda_tile.tile<ptr<f32>>, %n: !word):
    %c = "cuda_tile.constant"() <{value = dense<1> : !word}> : () -> !word
    %s = "cuda_tile.addi"(%n, %c) <{overflow = 1 : i32}> : (!word, !word) -> !word
    %x = "cuda_tile.constant"() {value = dense<[2.0]> : !cuda_tile.tile<1xf32>} : () -> !cuda_tile.tile<1xf32>
    %y = "cuda_tile.reshape"(%x) : (!cuda_tile.tile<1xf32>) -> !cuda_tile.tile<f32>
    %t = "cuda_tile.make_token"() : () -> !cuda_tile.token
    %l = "cuda_tile.cmpi"(%s, %c) {comparison_predicate = #cuda_tile.comparison_predicate<less_than>,
      signedness = #cuda_tile.signedness<signed>} : (!word, !word) -> !cuda_tile.tile<i1>
    "cuda_tile.if"(%l) ({
      %u = "cuda_tile.store_ptr_tko"(%p, %y, %t) <{memory_ordering_semantics = 0 : i32,
        operandSegmentSizes = array<i32: 1, 1, 0, 1>}> : (tile<ptr<f32>>, tile<f32>, token) -> token
      "cuda_tile.yield"() : () -> ()
    }, {
    }) : (!cuda_tile.tile<i1>) -> ()
    "cuda_tile.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
}
!word = !cuda_tile.tile<i32>
"""


def assembled(text: str, remarks: list[str] | None = None) -> str:
    """The text of what a text is assembled to."""
    return disassemble(write_module(parse_text(text, "k.mlir", (remarks if remarks is not None else []).append)))


def test_the_prefix_may_stand_everywhere():
    assert assembled(PREFIXED).replace("// Producer: by hand\n", "") == PLAIN == assembled(PLAIN)


def test_a_kernel_without_a_return_ends_with_one():
    assert assembled(PLAIN.replace("  return\n", "")) == PLAIN


@pytest.mark.parametrize(
    "module", ["module attributes {gpu.container_module} {", '"builtin.module"() ({', "builtin.module @a {"]
)
def test_the_generic_syntax(module):
    reshaped = "  %cst_2_f32 = constant <f32: 2.000000e+00> : tile<1xf32>\n  %reshape = reshape %cst_2_f32 : tile<1xf32> -> tile<f32>\n"
    expected = PLAIN.replace("  %cst_2_f32 = constant <f32: 2.000000e+00> : tile<f32>\n", reshaped)
    end = "}) : () -> ()\n!word" if module.startswith('"') else "}\n!word"
    text = GENERIC.replace("module attributes {gpu.container_module} {", module).replace("}\n!word", end)
    assert assembled(text) == expected.replace("%arg0, %cst_2_f32 token", "%arg0, %reshape token")


BODY = "entry @k(%x: tile<f32>, %i: tile<i32>) {{\n  {}\n}}\n"


@pytest.mark.parametrize(("line", "expected", "remark"), [
    ("%0 = pow %x, %x : tile<f32>", "%0 = fpowf %arg0, %arg0 : tile<f32>", "asm-renamed]: 'pow' is a former name of 'fpowf'"),
    ("%0 = negf %x {a.b = 1} : tile<f32>", "%0 = negf %arg0 : tile<f32>", "asm-attribute]: bytecode cannot encode the attribute 'a.b'"),
    ("%0 = addf %x, %x {rounding_mode = #cuda_tile.rounding<zero>} : tile<f32>", "%0 = addf %arg0, %arg0 rounding<zero> : tile<f32>", ""),
    ("loop {\n break\n } {a.b}\n", "loop {", "asm-attribute"),
    ('%0 = "cuda_tile.addf"(%x, %x) : (tile<f32>, tile<f32>) -> tile<f32>', "%0 = addf %arg0, %arg0  : tile<f32>", ""),
])  # fmt: skip
def test_what_is_read_as_something_else(line, expected, remark):
    remarks: list[str] = []
    assert expected in assembled(BODY.format(line), remarks)
    assert remark in "\n".join(remarks) and bool(remark) == bool(remarks)
    assert not remarks or remarks[0].startswith("k.mlir:") and "remark[" in remarks[0]


@pytest.mark.parametrize(("line", "message"), [
    ('%0 = "test.op"() : () -> tile<f32>', "2:8: .*unknown operation 'test.op'"),
    ('%0 = "cuda_tile.negf"(%x) : (tile<i32>) -> tile<f32>', "2:31: .*a value has type .*f32>, but the text has type .*i32>"),
    ('%0 = "cuda_tile.negf"() : () -> tile<f32>', "2:8: .*wrong number of operands"),
    ('%0 = "cuda_tile.negf"(%x) {b = 1} : (tile<f32>) -> tile<f32>', "2:30: .*has no attribute 'b'"),
    ('%0 = "cuda_tile.addi"(%i, %i) <{overflow = 9 : i32}> : (tile<i32>, tile<i32>) -> tile<i32>', "2:46: .*write one of none"),
    ('%0 = "cuda_tile.load_ptr_tko"(%x) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tile<f32>) -> tile<f32>', "2:8: .*does not fit the 1 operands"),
    ('%0 = "cuda_tile.load_ptr_tko"(%x) : (tile<f32>) -> tile<f32>', "2:8: .*needs 'operandSegmentSizes'"),
    ('"cuda_tile.loop"() ({\n ^a:\n "cuda_tile.break"() : () -> ()\n ^b:\n}) : () -> ()', "5:2: .*expected the name of an operation"),
    ("%0 = negf %x : !missing", "2:18: .*!missing is not defined"),
    ("%x = negf %x : tile<f32>", "2:3: .*%x is defined already"),
    ("%0 = negf %x : tile<f32>\n  %0 = negf %x : tile<f32>", "3:3: .*%0 is defined already"),
    ("%0, %1 = negf %x : tile<f32>", "2:3: .*more names than the 1 results"),
    ("break %x : tile<i32>", "2:14: .*a value has type .*f32>, but"),
    ('%0 = print_tko "%f", %x : tile<f64> -> token', "2:29: .*a value has type .*f32>, but"),
    ("for %j in (%i to %i, step %i) : tile<i64> {\n }", "2:35: .*a value has type .*i32>, but"),
    ("for %j in (%i to %i, step %i) : tile<i32> iter_values(%a = %x) -> (tile<i32>) {\n }", "2:66: .*a value has type"),
    ("loop iter_values(%a = %x) : tile<i32> {\n }", "2:31: .*a value has type .*f32>, but"),
    ("%0:2 = get_tensor_shape %x : tile<f32> -> tile<i32>", "2:10: "),
])  # fmt: skip
def test_what_is_refused(line, message):
    with pytest.raises(InvalidInput, match=f"k.mlir:{message}"):
        parse_text(BODY.format(line), "k.mlir")


def test_an_alias_that_refers_to_itself():
    with pytest.raises(InvalidInput, match="!a is an alias that nests more than 64 deep, or contains itself"):
        parse_text("!a = tile<!b>\n!b = tile<!a>\nentry @k(%x: !a) {\n}\n")
    doubled = "".join(f"!a{n} = tile<!a{n + 1}!a{n + 1}>\n" for n in range(40)) + "!a40 = tile<f32>\n"
    with pytest.raises(InvalidInput, match="expand to more than 65536 characters"):
        parse_text(doubled + "entry @k(%x: !a0) {\n}\n")


@pytest.mark.parametrize(("text", "message"), [
    ("testing$func @k() {\n}\n", "1:1: .*'testing.func' cannot be in a module"),
    ("entry @k() -> tile<f32> {\n}\n", "1:12: .*must not return values"),
    ("cuda_tile.module @m attributes {other = 1} {\n}\n", "1:33: .*has no attribute 'other'"),
    ('"cuda_tile.entry"() <{sym_name = "k"}> ({\n}) : () -> ()\n', "lacks the attribute 'function_type'"),
    ('"cuda_tile.global"() <{sym_name = "g"}> : () -> ()\n', "lacks the attribute 'value'"),
    ("cuda_tile.module @a {\n}\ncuda_tile.module @b {\n}\n", "3:1: .*expected the end of the text"),
])  # fmt: skip
def test_what_cannot_stand_in_a_module(text, message):
    with pytest.raises(InvalidInput, match=message):
        parse_text(text, "k.mlir")


@pytest.mark.parametrize(("text", "message"), [
    ('entry @"" () {\n}\n', "k.mlir:1:1: .*kernel name '' is not a PTX identifier"),
    ('\nentry @"a b"() {\n}\n', "k.mlir:2:1: .*'a b' is not a PTX identifier"),
    ('entry @k() {\n}\nglobal @"x y" <i32: 1> : tile<1xi32>\n', "k.mlir:3:1: .*'x y' is not a PTX identifier"),
])  # fmt: skip
def test_no_file_is_written_that_nobody_reads(text, message):
    with pytest.raises(InvalidInput, match=message):
        assemble(text, "k.mlir")


def test_a_generic_global():
    text = '"cuda_tile.global"() <{sym_name = "g", value = dense<[1, 2]> : !cuda_tile.tile<2xi32>, alignment = 16 : i64, constant}> : () -> ()\n'
    assert assembled(text) == "global  constant @g alignment = 16 <i32: [1, 2]> : tile<2xi32>\n"
