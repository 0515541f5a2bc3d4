"""Constants in the text are of the shape and the width that their type says."""

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.ir.bytecode.text_parser import parse_text

ENTRY = "entry @k(%p: tile<ptr<f32>>, %n: tile<i64>) {{\n  %0 = {}\n}}\n"


@pytest.mark.parametrize(("line", "message"), [
    ("constant <i1: [true, true, true]> : tile<8xi1>", r"the elements are of shape \[3\], the type is of shape \[8\]"),
    ("constant <i32: [[1, 2, 3], [4]]> : tile<2x2xi32>", r"an element of shape \[1\] is in a list with one of shape \[3\]"),
    ("constant <i32: [[1, 2], 3]> : tile<2x2xi32>", r"an element of shape \[\] is in a list with one of shape \[2\]"),
    ("constant <i32: [1, 2, 3, 4]> : tile<2x2xi32>", r"the elements are of shape \[4\]"),
    ("constant <i32: [1]> : tile<i32>", r"the elements are of shape \[1\], the type is of shape \[\]"),
    ("constant <i32: []> : tile<1xi32>", "expected a number of type i32"),
    ("constant <i32: [1 2]> : tile<2xi32>", "expected ']'"),
    ("constant <i32: " + "[" * 70, "at most 64 dimensions"),
    ("constant <i8: true> : tile<i8>", "true is of type i1, not i8"),
    ("constant <f32: true> : tile<f32>", "true is of type i1, not f32"),
    ("constant <i1: 2> : tile<i1>", "2 does not fit in i1"),
    ("constant <i8: 256> : tile<i8>", "256 does not fit in i8"),
    ("constant <i8: -129> : tile<i8>", "-129 does not fit in i8"),
    ("constant <f16: 0x7F800000> : tile<f16>", "0x7F800000 does not fit in f16"),
    ("constant <f32: 1> : tile<f32>", "1 is an integer"),
    ("constant <fnv8E5M3FNU: -1.0> : tile<fnv8E5M3FNU>", "-1.0 does not fit in .*fnv8E5M3FNU, which has no sign"),
    ("constant <f8E8M0FNU: -1.0> : tile<f8E8M0FNU>", "-1.0 does not fit in f8E8M0FNU, which has no sign"),
    ("constant <token: 1> : token", "a constant is numeric"),
    ('constant <i32: "0x001"> : tile<2xi32>', "expected bytes such as"),
    ('constant <i32: "0x00"> : tile<2xi32>', "needs 8 bytes, got 1"),
    ("cat %0, %0 dim = 99999999999999999999 : tile<2xi32>, tile<2xi32> -> tile<4xi32>", "%0 is not defined"),
    ("make_tensor_view %p, shape = [32, 999], strides = [64, 1] : tensor_view<32x64xf32, strides=[64,1]>", "entry 1 of the shape is 999, that of the type 64"),
    ("make_tensor_view %p, shape = [32, 64], strides = [7] : tensor_view<32x64xf32, strides=[64,1]>", "the strides has 1 entries, that of the type 2"),
    ("make_tensor_view %p, shape = [%n], strides = [1] : tile<i64> -> tensor_view<32xf32, strides=[1]>", "entry 0 of the shape is dynamic, that of the type 32"),
    ("make_tensor_view %p, shape = [32], strides = [1] : tensor_view<?xf32, strides=[1]>", "entry 0 of the shape is 32, that of the type dynamic"),
    ("make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>", "a value has type .*i64>, but the text has type .*i32>"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(line, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        parse_text(ENTRY.format(line), "k.mlir")
    assert caught.value.location.line == 2 and caught.value.location.column


def test_an_identity_fits_its_type():
    text = "entry @k(%a: tile<f32>) {{\n %x = constant <i8: 1> : tile<4xi8>\n %r = reduce %x dim=0 identities=[{} : i8] : tile<4xi8> -> tile<i8>\n (%l: tile<i8>, %m: tile<i8>) {{\n %s = addi %l, %m : tile<i8>\n yield %s : tile<i8>\n }}\n}}\n"
    parse_text(text.format(255))
    with pytest.raises(InvalidInput, match=r"3:35: .*300 does not fit in i8"):
        parse_text(text.format(300), "k.mlir")


@pytest.mark.parametrize("text", ["<i1: 1>", "<i1: true>", "<i1: -1>"])
def test_a_boolean_is_an_integer_too(text):
    module = parse_text(ENTRY.format(f"constant {text} : tile<i1>"))
    assert next(op for op in module.walk() if op.name == "cuda_tile.constant").value.splat_value()


def test_values_of_the_type_that_no_library_has():
    text = "constant <fnv8E5M3FNU: [0.0, 1.0, 1.0625, 1.1875, 7.62939453125e-06, 114688.0, 1.0e+09, 0x3F]> : tile<8xfnv8E5M3FNU>"
    module = parse_text(ENTRY.format(text), "k.mlir")
    [constant] = [op for op in module.walk() if op.name == "cuda_tile.constant"]
    assert constant.value.raw == bytes([0, 120, 120, 122, 1, 254, 255, 63])
    values = [0, 1, 1, 1.25, 2.0**-17, 114688, float("nan"), 2.0**-8 * 1.875]
    assert list(map(str, map(float, constant.value.as_array()))) == list(map(str, map(float, values)))
