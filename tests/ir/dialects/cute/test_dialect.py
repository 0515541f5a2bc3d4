"""The types of cute, cute_nvgpu and cutlass: text out and in, their LLVM forms, and what is no type."""

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.pipeline.opt import parse_module, run
from tileiras_build.pipeline.tileas_to_ll.type_converter import LLVMTypeConverter

FORMS = {
    '!cute.shape<"(?,(8,2))">': "!llvm.struct<(i32, !llvm.struct<(i32, i32)>)>",
    '!cute.int_tuple<"?">': "i32",
    '!cute.layout<"(?,8):(8,1)">': "!llvm.struct<(i32, i32, i32, i32)>",
    '!cute.layout<"(4,(2,?)):(1,(4,8))">': "!llvm.struct<(i32, i32, !llvm.struct<(i32, i32, i32, i32)>)>",
    "!cute.ptr<f16, smem>": "!llvm.ptr<3>",
    "!cute.ptr<f32, generic>": "!llvm.ptr",
    '!cute.memref<bf16, gmem, "(?,64):(64,1)">': "!llvm.struct<(!llvm.ptr<1>, !llvm.struct<(i32, i32, i32, i32)>)>",
    "!cute.desc_iter<smem>": "!llvm.struct<(!llvm.ptr<3>, i32, i32)>",
    "!cute_nvgpu.smem_desc": "i64",
    "!cute_nvgpu.tma_desc": "!llvm.ptr",
    "!cutlass.pipeline<3>": "!llvm.ptr<3>",
    "!cutlass.pipeline.state": "!llvm.struct<(i32, i32, i32)>",
}
TEXT = "func.func @k(%x: {}) {{\n  func.return\n}}\n"


@pytest.mark.parametrize(("text", "form"), FORMS.items())
def test_types_read_back_and_have_their_llvm_form(text, form):
    [function] = parse_module(TEXT.format(text)).body.block.ops
    [type] = function.body.block.arg_types
    assert str(type) == text and str(LLVMTypeConverter().convert(type)) == form
    assert run(run(TEXT.format(text), []), []) == run(TEXT.format(text), [])


@pytest.mark.parametrize("text", ['!cute_nvgpu.sm80.mma<"16x8x16 f16 f16 f32">', '!cute_nvgpu.atom.ldsm<"8x8 x4">'])
def test_atoms_read_back(text):
    assert text in run(TEXT.format(text), [])


@pytest.mark.parametrize(
    "text", ['!cute.shape<"(8,">', '!cute.layout<"8">', "!cute.ptr<f32, vram>", '!cute.memref<f32, gmem, "8:1:2">']
)
def test_what_is_no_type_is_refused(text):
    with pytest.raises(InvalidInput):
        parse_module(TEXT.format(text))
