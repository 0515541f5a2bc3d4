"""ll_to_ptx/nvvm_ir_llvm7.py: the text that libNVVM gets for GPUs before Blackwell, rewriting by rewriting."""

import pytest

from tileiras_build.pipeline.ll_to_ptx.nvvm_ir_llvm7 import INSTRUCTIONS, nvvm_ir_7
from tileiras_build.target.mma_atoms import MMA_ATOMS

VERSION = (2, 0, 3, 2)


def lines(body: str) -> list[str]:
    return nvvm_ir_7(body, VERSION).splitlines()[:-2]


def test_kernels_are_annotated_with_their_bounds():
    text = nvvm_ir_7(
        'define ptx_kernel void @k(ptr addrspace(1) noundef %p, i32 %i) #0 {\n}\n'
        'attributes #0 = { nounwind memory(none) "nvvm.reqntid"="32,2" "nvvm.maxnreg"="40" }\n',
        VERSION,
    )
    assert "define void @k(i8 addrspace(1)* %p, i32 %i) #0 {" in text and "attributes #0 = { nounwind }" in text
    function = "void (i8 addrspace(1)*, i32)* @k"
    for number, note in enumerate(('"kernel", i32 1', '"reqntidx", i32 32', '"reqntidy", i32 2', '"maxnreg", i32 40')):
        assert f"!{number} = !{{{function}, !{note}}}" in text
    assert "!nvvm.annotations = !{!0, !1, !2, !3}" in text


@pytest.mark.parametrize(
    "line, expected",
    [
        ("  %g = getelementptr inbounds nuw i8, ptr addrspace(1) %p, i64 %i",
         ["  %g = getelementptr i8, i8 addrspace(1)* %p, i64 %i"]),
        ("  %g = getelementptr float, ptr %p, i64 %i",
         ["  %nvvm7.0 = bitcast i8* %p to float*", "  %nvvm7.1 = getelementptr float, float* %nvvm7.0, i64 %i",
          "  %g = bitcast float* %nvvm7.1 to i8*"]),
        ("  %x = load volatile <2 x i32>, ptr addrspace(3) %p, align 8",
         ["  %nvvm7.0 = bitcast i8 addrspace(3)* %p to <2 x i32> addrspace(3)*",
          "  %x = load volatile <2 x i32>, <2 x i32> addrspace(3)* %nvvm7.0, align 8"]),
        ("  store i32 1, ptr addrspace(1) %p, align 4, !dbg !5",
         ["  %nvvm7.0 = bitcast i8 addrspace(1)* %p to i32 addrspace(1)*",
          "  store i32 1, i32 addrspace(1)* %nvvm7.0, align 4, !dbg !5"]),
        ("  %x = or disjoint i32 %a, %b", ["  %x = or i32 %a, %b"]),
        ("  %x = zext nneg i32 %a to i64", ["  %x = zext i32 %a to i64"]),
        ("  %4 = trunc nuw i64 %3 to i32", ["  %n4 = trunc i64 %n3 to i32"]),
        ("  %x = freeze i32 %a", ["  %x = bitcast i32 %a to i32"]),
        ("12:", ["n12:"]),
        ("  call void @llvm.lifetime.start.p0(ptr %a)", []),
        ("declare void @f(ptr captures(none), i1 immarg) #3", ["declare void @f(i8*, i1) #3"]),
        ("  %x = sitofp i8 %a to bfloat",
         ["  %nvvm7.0 = sitofp i8 %a to float",
          '  %x = call i16 asm "cvt.rn.bf16.f32 $0, $1;", "=h,f"(float %nvvm7.0)']),
        ("  %x = call i32 @llvm.abs.i32(i32 %a, i1 true)",
         ['  %x = call i32 asm "abs.s32 $0, $1;", "=r,r"(i32 %a) convergent nounwind']),
        ("  %x = select i1 %c, bfloat %a, bfloat 0xR3F80", ["  %x = select i1 %c, i16 %a, i16 16256"]),
        ("  %x = fneg float %a", ["  %x = fsub float -0.000000e+00, %a"]),
        ("  %x = fpext bfloat %a to float",
         ["  %nvvm7.0 = zext i16 %a to i32", "  %nvvm7.1 = shl i32 %nvvm7.0, 16",
          "  %x = bitcast i32 %nvvm7.1 to float"]),
        ("  %x = fptrunc float %a to bfloat",
         ['  %x = call i16 asm "cvt.rn.bf16.f32 $0, $1;", "=h,f"(float %a)']),
        ("  %x = tail call i32 @llvm.smax.i32(i32 %a, i32 7)",
         ['  %x = call i32 asm "max.s32 $0, $1, $2;", "=r,r,r"(i32 %a, i32 7) convergent nounwind']),
        ("  call void @llvm.nvvm.cp.async.wait.group(i32 1)",
         ['  call void asm sideeffect "cp.async.wait_group $0;", "n,~{memory}"(i32 1) convergent nounwind']),
    ],
)  # fmt: skip
def test_lines(line, expected):
    assert lines(line) == expected


def test_predicates_travel_in_registers():
    (word, call) = lines('  call void asm sideeffect "@$1 st.b32 [$0], 1;", "l,b"(ptr addrspace(1) %p, i1 %c) #1')
    assert word == "  %nvvm7.0 = zext i1 %c to i32"
    assert call == (
        '  call void asm sideeffect "{ .reg .pred nvvm_p1; setp.ne.u32 nvvm_p1, $1, 0; @nvvm_p1 st.b32 [$0], 1; }", '
        '"l,r"(i8 addrspace(1)* %p, i32 %nvvm7.0) #1'
    )


def test_bfloat_arithmetic_is_rounded_once():
    assert lines("  %x = fadd bfloat %a, 0xR3F80") == [
        "  %nvvm7.2 = zext i16 %a to i32",
        "  %nvvm7.3 = shl i32 %nvvm7.2, 16",
        "  %nvvm7.0 = bitcast i32 %nvvm7.3 to float",
        "  %nvvm7.4 = zext i16 16256 to i32",
        "  %nvvm7.5 = shl i32 %nvvm7.4, 16",
        "  %nvvm7.1 = bitcast i32 %nvvm7.5 to float",
        "  %nvvm7.6 = fadd float %nvvm7.0, %nvvm7.1",
        '  %x = call i16 asm "cvt.rn.bf16.f32 $0, $1;", "=h,f"(float %nvvm7.6)',
    ]


def test_globals_are_cast_where_they_are_used():
    found = lines(
        "@s = internal addrspace(3) global [8 x i8] undef, align 16\n  %x = ptrtoint ptr addrspace(3) @s to i32"
    )
    assert found[1] == "  %x = ptrtoint i8 addrspace(3)* bitcast ([8 x i8] addrspace(3)* @s to i8 addrspace(3)*) to i32"


def test_every_mma_has_its_instruction():
    for atom in MMA_ATOMS:
        text = INSTRUCTIONS[atom.intrinsic_name()]
        assert text.startswith(atom.ptx_name())
        assert text.count("$") == 2 * atom.c_registers + atom.a_registers + atom.b_registers
