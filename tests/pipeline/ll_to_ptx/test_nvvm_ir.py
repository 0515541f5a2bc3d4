"""ll_to_ptx/nvvm_ir.py: the text that libNVVM gets, rewriting by rewriting."""

from tileiras_build.pipeline.ll_to_ptx.nvvm_ir import DATA_LAYOUT, nvvm_ir

VERSION = (2, 0, 3, 2)


def lines(body: str) -> list[str]:
    return nvvm_ir(body, VERSION).splitlines()[:-2]


def test_kernels_and_version_are_named():
    text = nvvm_ir('target datalayout = "e"\ndefine ptx_kernel void @k(i32 %x) {\n}\n!4 = !{}\n', VERSION)
    assert f'target datalayout = "{DATA_LAYOUT}"' in text
    assert '!5 = !{ptr @k, !"kernel", i32 1}' in text and "!nvvm.annotations = !{!5}" in text
    assert "!6 = !{i32 2, i32 0, i32 3, i32 2}" in text and "!nvvmir.version = !{!6}" in text


def test_operands_and_results_of_assembly_travel_as_bits():
    assert lines('  %y = call half asm sideeffect "mov.b16 $0, $1;", "=h,h"(half %x) #1, !dbg !3') == [
        "  %nvvm.0 = bitcast half %x to i16",
        '  %nvvm.1 = call i16 asm sideeffect "mov.b16 $0, $1;", "=h,h"(i16 %nvvm.0) #1, !dbg !3',
        "  %y = bitcast i16 %nvvm.1 to half",
    ]


def test_constants_are_cast_in_place():
    (line,) = lines('  call void asm "x $0;", "h"(bfloat 0xR3F80)')
    assert line == '  call void asm "x $0;", "h"(i16 bitcast (bfloat 0xR3F80 to i16))'


def test_structs_are_taken_apart_with_their_new_types():
    assert lines(
        '  %y = call { half, float } asm "x", "=h,=f,l"(ptr addrspace(1) %p)\n'
        "  %a = extractvalue { half, float } %y, 0\n  %b = extractvalue { half, float } %y, 1\n}"
    ) == [
        '  %y = call { i16, float } asm "x", "=h,=f,l"(ptr addrspace(1) %p)',
        "  %nvvm.0 = extractvalue { i16, float } %y, 0",
        "  %a = bitcast i16 %nvvm.0 to half",
        "  %b = extractvalue { i16, float } %y, 1",
        "}",
    ]


def test_vectors_are_one_word():
    assert lines('  call void asm "x", "r,f"(<2 x half> %v, float %f)') == [
        "  %nvvm.0 = bitcast <2 x half> %v to i32",
        '  call void asm "x", "r,f"(i32 %nvvm.0, float %f)',
    ]


def test_other_assembly_is_left_alone():
    line = '  %y = call i32 asm "{ $0, $1 }", "=r,r"(i32 %x) #1'
    assert lines(line) == [line]


def test_absolute_values_clear_the_sign():
    assert lines("  %y = call float @llvm.fabs.f32(float %x)\ndeclare float @llvm.fabs.f32(float)") == [
        "  %nvvm.0 = bitcast float %x to i32",
        "  %nvvm.1 = and i32 %nvvm.0, 2147483647",
        "  %y = bitcast i32 %nvvm.1 to float",
    ]


def test_rounding_is_renamed_and_declared_once():
    text = "declare float @llvm.roundeven.f32(float) #1\ndeclare float @llvm.rint.f32(float) #1"
    assert lines(f"  %y = call float @llvm.rint.f32(float %x)\n{text}") == [
        "  %y = call float @llvm.roundeven.f32(float %x)",
        "declare float @llvm.roundeven.f32(float) #1",
    ]


def test_approximations_are_instructions():
    assert lines("  %y = call afn float @llvm.sin.f32(float %x)\ndeclare float @llvm.sin.f32(float)") == [
        '  %y = call float asm "sin.approx.f32 $0, $1;", "=f,f"(float %x)'
    ]
