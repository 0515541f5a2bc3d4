"""The ABI: the LLVM form of each type, tokens, and the casts that bridge a conversion."""

import pytest
from xdsl.dialects.builtin import IntegerType, UnrealizedConversionCastOp, i32, i64
from xdsl.parser import Parser

from tests.pipeline.tileas_to_ll.modules import after, only
from tileiras_build.core.errors import InternalError, Unsupported
from tileiras_build.ir.dialects.nv_tileaa.types import MemRefType, TiledViewType, TokenType
from tileiras_build.pipeline.opt import context
from tileiras_build.pipeline.tileas_to_ll.type_converter import (
    ADDRESS_SPACES,
    ALIGNED,
    ALLOCATED,
    OFFSET,
    SIZES,
    STRIDES,
    LLVMTypeConverter,
    pointer,
)


def parse(text: str):
    return Parser(context(), text).parse_type()


def converted(text: str, **options) -> str:
    return str(LLVMTypeConverter(**options).convert(parse(text)))


DESCRIPTOR = "!llvm.struct<(!llvm.ptr{0}, !llvm.ptr{0}, i64, !llvm.array<{1} x i64>, !llvm.array<{1} x i64>)>"


@pytest.mark.seed("lowering-overview", "abi-memref", "memref-descriptor")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("memref<8xf32>", DESCRIPTOR.format("", 1)),
        ("memref<?x?xf16, 1 : i32>", DESCRIPTOR.format("<1>", 2)),
        ("memref<4x4x4xi8, #gpu.address_space<workgroup>>", DESCRIPTOR.format("<3>", 3)),
        ("memref<f32>", "!llvm.struct<(!llvm.ptr, !llvm.ptr, i64)>"),
        ("!nv_tileaa.memref<f16, [?, 64], [?, 1]>", DESCRIPTOR.format("<1>", 2)),
        ("memref<*xf32>", "!llvm.struct<(i64, !llvm.ptr)>"),
    ],
)
def test_memory_references_are_descriptors(text, expected):
    assert converted(text) == expected


@pytest.mark.seed("lowering-overview", "abi-bare-pointer", "func-bare-pointer", "memref-descriptor")
def test_a_kernels_memory_reference_is_its_pointer():
    kernel, helper = LLVMTypeConverter(bare_pointers=True), LLVMTypeConverter()
    for text, expected in (("memref<8xf32, 3 : i32>", "!llvm.ptr<3>"), ("memref<8xf32>", "!llvm.ptr")):
        assert str(kernel.argument(parse(text))) == expected
        # Values inside, and arguments of helpers, stay descriptors.
        assert str(kernel.convert(parse(text))).startswith("!llvm.struct")
        assert helper.argument(parse(text)) == kernel.convert(parse(text))


@pytest.mark.seed("lowering-overview", "abi-index")
def test_index_has_the_configured_width():
    assert converted("index") == "i64"
    assert converted("index", index_width=32) == "i32"
    assert converted("index", index_width=0) == "i64"  # the machine word


@pytest.mark.seed("lowering-overview", "abi-vector")
def test_vectors_convert_their_elements():
    assert converted("vector<4xf32>") == "vector<4xf32>"
    assert converted("vector<2xindex>") == "vector<2xi64>"
    assert converted("vector<2xindex>", index_width=32) == "vector<2xi32>"
    assert converted("vector<16xf8E4M3FN>") == "vector<16xi8>"


@pytest.mark.seed("lowering-overview", "abi-token", "token-i32")
@pytest.mark.parametrize("text", ["!nv_tileaa.mem_token", "!gpu.async.token", "!nvgpu.device.async.token"])
def test_tokens_are_32_bits(text):
    assert LLVMTypeConverter().convert(parse(text)) == i32
    assert LLVMTypeConverter(index_width=64).argument(TokenType()) == i32


@pytest.mark.seed("lowering-overview", "abi-tiled-view")
def test_a_tiled_view_is_a_small_struct():
    view = TiledViewType.of("partition", MemRefType.of(i32, [None, 64], [None, 1]), [64, 32], [0, 1], [64, 32])
    expected = "!llvm.struct<(!llvm.ptr<1>, i32, i32, !llvm.array<3 x i32>)>"
    assert str(LLVMTypeConverter().convert(view)) == expected


@pytest.mark.seed("lowering-overview", "abi-memory-spaces")
def test_address_spaces_stay_distinct():
    assert ADDRESS_SPACES == {
        "generic": 0, "global": 1, "internal": 2, "shared": 3, "constant": 4, "local": 5, "tensor": 6, "param": 101,
    }  # fmt: skip
    assert len({pointer(name) for name in ADDRESS_SPACES}) == len(ADDRESS_SPACES)
    assert converted("!nv_tileaa.ptr<f32>") == "!llvm.ptr<1>"
    pointers = [converted(f"memref<8xf32, {space} : i32>") for space in ADDRESS_SPACES.values()]
    assert len(set(pointers)) == len(ADDRESS_SPACES)


# What compiled code and its callers agree on: not to be changed without saying so.
PINNED = {
    "memref<4x?xf32, 1 : i32>": "!llvm.struct<(!llvm.ptr<1>, !llvm.ptr<1>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)>",
    "memref<*xf32>": "!llvm.struct<(i64, !llvm.ptr)>",
    "index": "i64",
    "!nv_tileaa.mem_token": "i32",
    "!gpu.async.token": "i32",
    "!nvgpu.device.async.token": "i32",
    "!nvgpu.mbarrier.token": "i64",
    "!nv_tileaa.ptr<f32>": "!llvm.ptr<1>",
    "memref<f32, #gpu.address_space<global>>": "!llvm.struct<(!llvm.ptr<1>, !llvm.ptr<1>, i64)>",
    "memref<f32, #gpu.address_space<workgroup>>": "!llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64)>",
    "memref<f32, #gpu.address_space<private>>": "!llvm.struct<(!llvm.ptr<5>, !llvm.ptr<5>, i64)>",
}


@pytest.mark.seed("lowering-overview", "abi-commitments")
def test_the_abi_is_pinned():
    assert {text: converted(text) for text in PINNED} == PINNED
    assert (ALLOCATED, ALIGNED, OFFSET, SIZES, STRIDES) == (0, 1, 2, 3, 4)
    arguments = ["memref<4x8xf32, 3 : i32>", "!nv_tileaa.memref<f16, [?], [1]>", "index", "f8E5M2", "!gpu.async.token"]
    kernel = LLVMTypeConverter(bare_pointers=True)
    assert [str(kernel.argument(parse(text))) for text in arguments] == [
        "!llvm.ptr<3>",
        "!llvm.ptr<1>",
        "i64",
        "i8",
        "i32",
    ]


ALIKE = (
    "memref<8x4xf32>", "memref<?x?xf16, 1 : i32>", "index", "vector<4xindex>", "vector<2x4xf16>", "f8E4M3FN", "tf32", "i1",
    "!gpu.async.token",
)  # fmt: skip


@pytest.mark.seed("lowering-overview", "one-type-converter", "token-i32", "memref-descriptor")
@pytest.mark.parametrize("kernel", [False, True], ids=["helper", "kernel"])
@pytest.mark.parametrize("text", ALIKE)
def test_functions_of_tiles_and_of_gpu_take_the_same_types(text, kernel):
    spec = ", nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<numWarps=1>" if kernel else ""
    tile = f"""builtin.module {{ "nv_tileaa.func"() ({{ ^bb0(%x: {text}): "nv_tileaa.return"() : () -> () }})
      {{sym_name = "k"{spec}}} : () -> () }}"""
    gpu = f"gpu.module @m {{ gpu.func @k(%x: {text}) {'kernel' if kernel else ''} {{ gpu.return }} }}"
    if kernel and "?" in text:
        with pytest.raises(Unsupported, match="kernel-strides"):
            after(gpu, "convert-nvgpu-and-gpu-to-nvvm")
        return
    made = only(after(tile, "convert-nv-tile-func-to-llvm"), "func.func").function_type.inputs.data
    assert only(after(gpu, "convert-nvgpu-and-gpu-to-nvvm"), "llvm.func").function_type.inputs.data == made
    assert made == (LLVMTypeConverter(bare_pointers=kernel).argument(parse(text)),)


@pytest.mark.seed("lowering-overview", "one-type-converter")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vector<4x2xf16>", "!llvm.array<4 x vector<2xf16>>"),
        ("vector<8xi4>", "vector<8xi4>"),
        ("vector<16xf6E2M3FN>", "vector<16xi6>"),
        ("i4", "i8"),
        ("f4E2M1FN", "i8"),
        ("!nvgpu.mbarrier.token", "i64"),
        ("!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>", "!llvm.ptr<3>"),
        ("!nvgpu.warpgroup.accumulator<fragmented = vector<128x8xf32>>", "!llvm.struct<(REGISTERS, REGISTERS)>"),
        ("!nvgpu.warpgroup.descriptor<tensor = memref<64x16xf16, 3>>", "i64"),
    ],
)
def test_vectors_and_the_types_of_nvgpu(text, expected):
    assert converted(text) == expected.replace("REGISTERS", "!llvm.struct<(f32, f32, f32, f32)>")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("f16", "f16"), ("bf16", "bf16"), ("i1", "i1"), ("i128", "i128"), ("f8E5M2", "i8"), ("tf32", "f32"),
     ("tuple<f32, index>", "!llvm.struct<(f32, i64)>"), ("!llvm.struct<(i8, f64)>", "!llvm.struct<(i8, f64)>"),
     ("!llvm.ptr<3>", "!llvm.ptr<3>")],
)  # fmt: skip
def test_scalars_and_aggregates(text, expected):
    assert converted(text) == expected


def test_a_type_without_a_form_is_named():
    with pytest.raises(Unsupported, match="failed to convert function signature type for: tensor<4xcomplex<f32>>"):
        converted("tensor<4xcomplex<f32>>")


# ---- casts -----------------------------------------------------------------------------------------
CASTS = "reconcile-unrealized-casts"


def body(text: str) -> str:
    return f"builtin.module {{ func.func @f(%a : index) -> index {{ {text} }} }}"


@pytest.mark.seed("lowering-overview", "phase-8-casts")
def test_casts_that_undo_each_other_vanish():
    text = body("""
      %b = builtin.unrealized_conversion_cast %a : index to i64
      %c = builtin.unrealized_conversion_cast %b : i64 to i32
      %d = builtin.unrealized_conversion_cast %c : i32 to index
      %unused = builtin.unrealized_conversion_cast %b : i64 to f64
      func.return %d : index""")
    module = after(text, CASTS)
    assert not any(isinstance(op, UnrealizedConversionCastOp) for op in module.walk())
    assert "func.return %a : index" in str(module)


@pytest.mark.seed("lowering-overview", "phase-8-casts")
def test_a_cast_that_nothing_undoes_is_an_error():
    text = body("""
      %b = builtin.unrealized_conversion_cast %a : index to i64
      %c = arith.addi %b, %b : i64
      %d = builtin.unrealized_conversion_cast %c : i64 to index
      func.return %d : index""")
    with pytest.raises(InternalError, match="a cast from i(ndex|64) to i(ndex|64) remains"):
        after(text, CASTS)


def test_widths_outside_the_table_are_kept():
    assert LLVMTypeConverter().convert(IntegerType(24)) == IntegerType(24)
    assert LLVMTypeConverter().convert(i64) == i64
