"""ll_to_ptx/llvm_ir_checks.py and llvm_intrinsics.py: what would make LLVM abort is refused first, with a location."""

import re

import pytest

from tileiras_build.core.errors import ErrorGroup, InternalError, InvalidInput, TileirasError, Unsupported
from tileiras_build.pipeline.ll_to_ptx.llvm_ir_checks import check_module
from tileiras_build.target.capabilities import CAPABILITIES
from tileiras_build.target.isa.llvm_intrinsics import NVVM, nvvm_need
from tileiras_build.target.targets import TARGETS

SM80, SM90, SM100, SM120 = (TARGETS[f"sm_{number}"] for number in (80, 90, 100, 120))


def body(line, head=""):
    return f"{head}\ndefine ptx_kernel void @k(ptr addrspace(1) %p) {{\n  {line}\n  ret void\n}}\n"


CALL = "call void @llvm.nvvm.{}()"
ON_TARGET = [
    ("wgmma.fence.sync.aligned", "wgmma", SM80),
    ("wgmma.fence.sync.aligned", "wgmma", SM100),
    ("tcgen05.wait.ld", "tcgen05", SM120),
    ("tcgen05.shift.down.cg1", "tcgen05_shift", SM90),
    ("stmatrix.sync.aligned.m8n8.x4.b16.p3", "stmatrix", SM80),
    ("ldmatrix.sync.aligned.m16n16.x1.trans.b8.p3", "ldmatrix_b8", SM90),
    ("cp.async.bulk.commit.group", "tma", SM80),
    ("cp.async.bulk.tensor.g2s.tile.gather4.2d", "tma_gather4", SM120),
    ("mbarrier.try.wait.parity.scope.cta.space.cta", "mbarrier_try_wait", SM80),
    ("mma.m16n8k32.row.col.f32.e4m3.e5m2.f32", "mma_fp8", SM80),
    ("mma.m16n8k16.row.col.f64", "f64_mma_large", SM80),
    ("ff.to.e4m3x2.rn", "cvt_fp8", SM80),
    ("ff.to.e2m1x2.rn.satfinite", "cvt_fp4", SM90),
    ("ex2.approx.ftz.bf16", "ex2_bf16", SM80),
    ("f2tf32.rn", "cvt_tf32_rn", SM80),
    ("redux.sync.fmax.NaN", "redux_f32", SM120),
    ("read.ptx.sreg.cluster.ctaid.x", "cluster", SM80),
    ("fmin.nan.xorsign.abs.f", "xorsign_abs", SM80),
]


@pytest.mark.seed("codegen-overview", "stage-selection", "validated-selection")
@pytest.mark.parametrize("name, need, target", ON_TARGET)
def test_an_intrinsic_the_gpu_lacks(name, need, target):
    with pytest.raises(Unsupported) as caught:
        check_module(body(CALL.format(name)), target)
    assert caught.value.id == "intrinsic-target"
    assert f"{need}, which {target.name}" in caught.value.message
    assert caught.value.location.line == 3


@pytest.mark.parametrize(
    "name",
    ["read.ptx.sreg.tid.x", "barrier.cta.sync.aligned.all", "shfl.sync.bfly.i32", "cp.async.cg.shared.global.16",
     "ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3", "mma.m16n8k32.row.col.u8.s8", "mbarrier.init.shared",
     "f2tf32.rna", "ex2.approx.f16", "fma.rn.ftz.f16x2", "redux.sync.add", "mma.m8n8k4.row.col.f64"],
)  # fmt: skip
def test_the_baseline_is_allowed_everywhere(name):
    for target in TARGETS.values():
        check_module(body(CALL.format(name)), target)


GATED = sorted((name, need) for name, need in NVVM.items() if need is not None)


@pytest.mark.seed("codegen-overview", "init-feature-gate", "gated-families")
@pytest.mark.seed("nvptx-bring-up", "service-subtarget-info", "service-instr-info")
@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_every_gated_intrinsic_names_the_gpus_that_have_it(target):
    lacking = [(name, need) for name, need in GATED if not target.has(need)]
    assert lacking, "no GPU has everything"
    for name, need in lacking:
        with pytest.raises(Unsupported) as caught:
            check_module(body(CALL.format(name)), target)
        assert f"llvm.nvvm.{name} needs {need}, which {target.name} does not have" == caught.value.message
        able = [other.name for other in TARGETS.values() if other.has(need)]
        assert target.name not in able and f"choose {', '.join(able)}, or" in caught.value.remedy
    for name, need in GATED:
        if target.has(need):
            check_module(body(CALL.format(name)), target)


@pytest.mark.seed("codegen-overview", "gated-families")
@pytest.mark.parametrize(
    ("family", "name", "target"),
    [
        ("special registers", "read.ptx.sreg.cluster.ctarank", SM80),
        ("async barriers", "mbarrier.try.wait.parity.scope.cta.space.cta", SM80),
        ("async barriers", "mbarrier.expect.tx.scope.cta.space.cta", SM80),
        ("clusters", "barrier.cluster.arrive", SM80),
        ("TMA", "cp.async.bulk.tensor.g2s.tile.2d", SM80),
        ("WGMMA", "wgmma.fence.sync.aligned", SM100),
        ("tcgen05", "tcgen05.alloc", SM90),
        ("tensor memory", "tcgen05.ld.32x32b.x1", SM120),
        ("block-scaled MMA", "mma.block.scale.m16n8k64.row.col.mxf4.e2m1.e2m1.f32", SM90),
    ],
)
def test_each_gated_family_is_refused_where_it_lacks(family, name, target):
    with pytest.raises(Unsupported, match=f"llvm.nvvm.{re.escape(name)} needs .*, which {target.name} does not have"):
        check_module(body(CALL.format(name)), target)


def test_a_name_in_a_string_is_no_assembly():
    check_module('@s = constant [8 x i8] c"wgmma.x\\00"\n' + body("%x = add i32 1, 2"), SM80)


def test_stack_variables_have_no_space():
    with pytest.raises(InternalError, match="alloca-space.*address space 5"):
        check_module(body("%x = alloca i32, addrspace(5)"), SM90)


@pytest.mark.seed("nvptx-bring-up", "mapping-effects")
@pytest.mark.parametrize("attributes", ["#0", ""])
def test_collectives_in_assembly_are_convergent(attributes):
    marked = 'call void asm sideeffect "bar.warp.sync $0;", "r"(i32 -1) #0'
    check_module(body(marked) + "attributes #0 = { convergent nounwind }\n", SM90)
    asm = f'call void asm sideeffect "bar.warp.sync $0;", "r"(i32 -1) {attributes}'
    with pytest.raises(InternalError, match="not-convergent"):
        check_module(body(asm) + "attributes #0 = { nounwind }\n", SM90)


def test_every_need_is_a_capability():
    from tileiras_build.target.isa import llvm_intrinsics

    assert {need for need in llvm_intrinsics.NVVM.values() if need} <= set(CAPABILITIES)


def test_the_longest_row_wins():
    assert nvvm_need("cp.async.cg.shared.global.16") == (True, "cp_async")
    assert nvvm_need("cp.async.bulk.wait.group") == (True, "tma")
    assert nvvm_need("mma.m16n8k16.row.col.f32.f32.extra") == (True, "mma_sync")
    assert nvvm_need("mma.m99n8k16.row.col.f32.f32") == (False, None)


REFUSED = [
    ("intrinsic-unknown", InternalError, body("call float @llvm.exp.f32(float 1.0)")),
    ("intrinsic-unknown", InternalError, body("call float @llvm.pow.f32(float 1.0, float 2.0)")),
    ("intrinsic-unknown", InternalError, body("call half @llvm.sin.f16(half 1.0)")),
    ("intrinsic-unknown", InternalError, body("call float @llvm.sin.f32(float 1.0)")),
    ("intrinsic-unknown", InternalError, body("call double @llvm.exp2.f64(double 1.0)")),
    ("intrinsic-unknown", InternalError, body("call void @llvm.nvvm.warp.drive()")),
    ("kernel-name", InvalidInput, "define ptx_kernel void @a.b() {\nret void\n}"),
    ("kernel-name", InvalidInput, "define ptx_kernel void @1a() {\nret void\n}"),
    ("kernel-name", InvalidInput, 'define ptx_kernel void @"a-b"() {\nret void\n}'),
    ("kernel-name", InvalidInput, 'define ptx_kernel void @"\\C3\\A9"() {\nret void\n}'),
    ("kernel-name", InvalidInput, 'define cc71 void @"a b"() {\nret void\n}'),
    ("kernel-name", InvalidInput, 'define dso_local cc 71 void @"a\\0Ab"() {\nret void\n}'),
    ("kernel-name", InvalidInput, "define ptx_kernel void @malloc() {\nret void\n}"),
    ("function-name", InvalidInput, "define void @a.b() {\nret void\n}"),
    ("global-name", InvalidInput, '@"a b" = addrspace(1) global i32 1'),
    ("global-name", InvalidInput, "@a.b = addrspace(1) constant i32 1"),
    ("global-name", InvalidInput, "@a.b = external addrspace(1) global i32"),
    ("sync-scope", InternalError, body('fence syncscope("galaxy") acquire')),
    ("sync-scope", Unsupported, body('fence syncscope("cluster") acquire')),
    ("asm-constraint", InternalError, body('call i32 asm "mov.b32 $0, 1;", "=x"()')),
    ("asm-constraint", InternalError, body('call void asm sideeffect "bar;", "r,memory"(i32 0)')),
    ("shared-initializer", InternalError, body("", "@s = internal addrspace(3) global i32 7")),
    ("llvm-type", InternalError, body("%x = fpext double 1.0 to fp128")),
    ("atomicrmw", InternalError, body("%x = atomicrmw add ptr addrspace(1) %p, i32 1 seq_cst")),
    ("debug-info", InternalError, "!0 = !DICompileUnit(emissionKind: LineTablesOnly)\n!1 = !DILocalVariable()"),
]


@pytest.mark.parametrize("id, kind, text", REFUSED)
def test_what_llvm_would_die_of(id, kind, text):
    with pytest.raises(TileirasError) as caught:
        check_module(text, SM80)
    assert type(caught.value) is kind and caught.value.id == id
    assert caught.value.location.line >= 1 and caught.value.remedy


ALLOWED = [
    body("%x = call afn float @llvm.sin.f32(float 1.0)"),
    body("%x = call fast float @llvm.tanh.f32(float 1.0)"),
    body("%x = call <4 x float> @llvm.exp2.v4f32(<4 x float> zeroinitializer)"),
    body('%x = call i32 asm "mov.b32 $0, $1;", "=r,r"(i32 1)'),
    body('call void asm sideeffect "@$0 st.global.b32 [$1], $2;", "b,l,f,n"(i1 1, ptr addrspace(1) %p, float 0.0)'),
    body('%x = call {i32, i32} asm sideeffect "x", "=&r,=r,0,1,~{memory}"(i32 1, i32 2)'),
    body("", "@s = internal addrspace(3) global [4 x i8] undef, align 16"),
    body("", "@s = external addrspace(3) global [0 x i8], align 1024"),
    body('fence syncscope("device") acq_rel'),
    'define ptx_kernel void @"quoted"() {\nret void\n}',
    '@s = constant [9 x i8] c"define ptx_kernel void @1a() call @llvm.nvvm.x() = atomicrmw \\00"\n' + body(""),
    '!7 = !DIFile(filename: "@llvm.pow define cc71 void @a.b()", directory: "fp128 = alloca i8, addrspace(5)")\n'
    + body(""),
    'define internal void @"a b"() {\nret void\n}\n@"c d" = private addrspace(1) constant i32 1',
    '!0 = !{!"{\\22kernels\\22:{\\22fp128\\22:1}}"}\n' + body(""),
]


@pytest.mark.parametrize("text", ALLOWED)
def test_what_is_fine(text):
    check_module(text, SM80)


def test_everything_wrong_is_reported_at_once():
    text = body("call float @llvm.exp.f32(float 1.0)\ncall void @llvm.nvvm.wgmma.fence.sync.aligned()")
    with pytest.raises(ErrorGroup) as caught:
        check_module(text, SM80)
    assert {error.id for error in caught.value.errors} == {"intrinsic-unknown", "intrinsic-target"}
