"""Each nvvm operation, by the one table, becomes the PTX instruction that it stands for; ptxas takes it."""

from __future__ import annotations

import re

import pytest

from tests.ir.dialects.nvvm.nvvm_kernels import first_stored, flag_stored, stored, to_llvm, to_ptx
from tileiras_build.core.errors import Unsupported
from tileiras_build.ir.dialects.nvvm import NVVM
from tileiras_build.ir.dialects.nvvm.intrinsic_or_inline_asm import ALL, NONE, WRITE, Assembly, Intrinsic
from tileiras_build.ir.dialects.nvvm.intrinsic_or_inline_asm import INSTRUCTION_TABLE as ROW_OF
from tileiras_build.ir.dialects.nvvm.llvm_lowering import MAPPING

F4 = "!llvm.struct<(f32, f32, f32, f32)>"
I4 = "!llvm.struct<(i32, i32, i32, i32)>"
H2 = "!llvm.struct<(vector<2xf16>, vector<2xf16>)>"
LAYOUTS = "layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>"


def _mma(a, b, c, types, kind, shape, more=""):
    m, n, k = shape
    kinds = ", ".join(f"multiplicand{letter}PtxType = #nvvm.mma_type<{kind}>" for letter in "AB")
    attributes = f"{LAYOUTS}, {kinds}, shape = #nvvm.shape<m = {m}, n = {n}, k = {k}>{more}"
    return f"nvvm.mma.sync A[{a}] B[{b}] C[{c}] {{{attributes}}} : {types}"


def _tensor(rank):
    return f"box[{', '.join(['%i'] * rank)}]"


F32X4, I32X4, I32X2 = "%f, %f, %f, %f", "%i, %i, %i, %i", "%i, %i"
LOAD = "nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %p, %s, "
PLACE = "%c = llvm.inttoptr %i : i32 to !llvm.ptr<7>\n"
STORE = "nvvm.cp.async.bulk.tensor.global.shared.cta %p, %s, "
WGMMA = f": {F4} -> {F4}"
ROWS = [
    # (SM, operation as a kernel body, the PTX that must be there)
    ("90", stored("nvvm.read.ptx.sreg.tid.x range <i32, 0, 64> : i32", "i32"), "%tid.x"),
    ("90", stored("nvvm.read.ptx.sreg.ntid.z : i32", "i32"), "%ntid.z"),
    ("90", stored("nvvm.read.ptx.sreg.cluster.ctaid.y : i32", "i32"), "%cluster_ctaid.y"),
    ("90", stored("nvvm.read.ptx.sreg.clusterid.x : i32", "i32"), "%clusterid.x"),
    ("90", stored("nvvm.read.ptx.sreg.nclusterid.x : i32", "i32"), "%nclusterid.x"),
    ("90", stored("nvvm.read.ptx.sreg.laneid : i32", "i32"), "%laneid"),
    ("80", "nvvm.barrier0", "bar.sync 0;"),
    ("80", first_stored("nvvm.shfl.sync bfly %i, %f, %i, %i {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>",
                        "!llvm.struct<(f32, i1)>", "f32"), "shfl.sync.bfly.b32"),
    ("80", stored("nvvm.shfl.sync up %i, %i, %i, %i : i32 -> i32", "i32"), "shfl.sync.up.b32"),
    ("80", stored("nvvm.redux.sync add %i, %i : i32 -> i32", "i32"), "redux.sync.add.s32"),
    ("80", "nvvm.mbarrier.init.shared %s, %i : !llvm.ptr<3>, i32", "mbarrier.init.shared::cta.b64"),
    ("90", "nvvm.mbarrier.init.shared %s, %i, predicate = %b : !llvm.ptr<3>, i32", " mbarrier.init.shared::cta.b64"),
    ("90", "nvvm.mbarrier.inval.shared %s : !llvm.ptr<3>", "mbarrier.inval.shared.b64"),
    ("80", stored("nvvm.mbarrier.arrive.shared %s : !llvm.ptr<3> -> i64", "i64"), "mbarrier.arrive.shared.b64"),
    ("80", stored("nvvm.mbarrier.arrive.nocomplete.shared %s, %i : !llvm.ptr<3>, i32 -> i64", "i64"),
     "mbarrier.arrive.noComplete.shared.b64"),
    ("90", "nvvm.mbarrier.arrive.expect_tx.shared %s, %i : !llvm.ptr<3>, i32", "mbarrier.arrive.expect_tx"),
    ("90", "nvvm.mbarrier.arrive.expect_tx.shared %s, %i, predicate = %b : !llvm.ptr<3>, i32",
     " mbarrier.arrive.expect_tx.shared::cta.b64 _"),
    ("90", flag_stored("nvvm.mbarrier.test.wait.shared %s, %l : !llvm.ptr<3>, i64 -> i1"), "mbarrier.test_wait.shared.b64"),
    ("90", "nvvm.mbarrier.try_wait.parity.shared %s, %i, %i : !llvm.ptr<3>, i32, i32", "bra.uni WAIT_"),
    ("90", flag_stored("nvvm.mbarrier.try_wait.parity.shared %s, %b, %i : !llvm.ptr<3>, i1, i32 -> i1"),
     "mbarrier.try_wait.parity"),
    ("90", flag_stored("nvvm.mbarrier.try_wait.parity.shared %s, %i : !llvm.ptr<3>, i32 -> i1"), "mbarrier.try_wait.parity"),
    ("90", "nvvm.mbarrier.try_wait.parity.shared %s, %i : !llvm.ptr<3>, i32", "bra.uni WAIT_"),
    ("90", "%c = llvm.mlir.constant(128 : i32) : i32\nnvvm.fence.proxy.acquire #nvvm.mem_scope<sys> %p, %c",
     "fence.proxy.tensormap::generic.acquire.sys"),
    ("90", "nvvm.fence.proxy.release #nvvm.mem_scope<gpu>", "fence.proxy.tensormap::generic.release.gpu"),
    ("90", "nvvm.prefetch.tensormap %p : !llvm.ptr", "prefetch.tensormap"),
    ("90", "nvvm.prefetch.tensormap %p, predicate = %b : !llvm.ptr", " prefetch.tensormap"),
    ("80", "nvvm.cp.async.shared.global %s, %g, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>", "cp.async.cg.shared.global"),
    ("80", "nvvm.cp.async.shared.global %s, %g, 4, cache = ca, %i : !llvm.ptr<3>, !llvm.ptr<1>, i32",
     "cp.async.ca.shared.global"),
    ("80", "nvvm.cp.async.commit.group", "cp.async.commit_group"),
    ("80", "nvvm.cp.async.wait.group 1", "cp.async.wait_group 1"),
    *[("90", f"{LOAD}{_tensor(rank)} : !llvm.ptr<3>, !llvm.ptr", f"cp.async.bulk.tensor.{rank}d.shared::cta.global")
      for rank in (1, 2, 3, 4, 5)],
    ("90", f"{LOAD}{_tensor(2)} multicast_mask = %h l2_cache_hint = %l predicate = %b "
     "{cacheHintEnable, multicastEnable} : !llvm.ptr<3>, !llvm.ptr", ".multicast::cluster.L2::cache_hint"),
    ("90", f"{LOAD}{_tensor(1)} predicate = %b : !llvm.ptr<3>, !llvm.ptr", " cp.async.bulk.tensor.1d.shared::cluster.global"),
    ("90", f"{LOAD}{_tensor(1)} multicast_mask = %h {{multicastEnable}} : !llvm.ptr<3>, !llvm.ptr",
     "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "),
    ("90", f"{LOAD}{_tensor(1)} l2_cache_hint = %l {{cacheHintEnable}} : !llvm.ptr<3>, !llvm.ptr",
     "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "),
    ("100", f"{PLACE}{LOAD.replace('%s, %p', '%c, %p')}{_tensor(2)} multicast_mask = %h {{multicastEnable, pair}} : "
     "!llvm.ptr<7>, !llvm.ptr", ".multicast::cluster.cta_group::2 "),
    *[("90", f"{STORE}{_tensor(rank)} : !llvm.ptr, !llvm.ptr<3>", f"cp.async.bulk.tensor.{rank}d.global.shared::cta")
      for rank in (1, 2, 3, 4, 5)],
    ("90", f"{STORE}{_tensor(1)} l2_cache_hint = %l {{cacheHintEnable}} : !llvm.ptr, !llvm.ptr<3>", "L2::cache_hint"),
    ("90", "nvvm.wgmma.fence.aligned", "wgmma.fence.sync.aligned"),
    ("90", "nvvm.wgmma.commit.group.sync.aligned", "wgmma.commit_group.sync.aligned"),
    ("90", "nvvm.wgmma.wait.group.sync.aligned 1", "wgmma.wait_group.sync.aligned 1"),
    *[("90", f"%a0 = llvm.mlir.zero : {struct}\n" + first_stored(
        f"nvvm.wgmma.mma_async %l, %l, %a0, <m = 64, n = 8, k = {k}>, D[<{d}>, <one>], A[<{a}>, <one>, <row>], "
        f"B[<{a}>, <one>, <col>] : {struct} -> {struct}", struct, d.replace("s32", "i32")),
       f"wgmma.mma_async.sync.aligned.m64n8k{k}.{d}.{a}.{a}")
      for k, d, a, struct in ((16, "f32", "f16", F4), (16, "f32", "bf16", F4), (8, "f32", "tf32", F4),
                              (32, "f32", "e4m3", F4), (32, "s32", "s8", I4))],
    ("80", first_stored(_mma("%hh, %hh, %hh, %hh", "%hh, %hh", F32X4, f"(vector<2xf16>, vector<2xf16>, f32) -> {F4}",
                             "f16", (16, 8, 16)), F4, "f32"), "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
    ("80", first_stored(_mma("%hh, %hh, %hh, %hh", "%hh, %hh", "%hh, %hh",
                             f"(vector<2xf16>, vector<2xf16>, vector<2xf16>) -> {H2}", "f16", (16, 8, 16)), H2,
                        "vector<2xf16>"), "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"),
    ("80", first_stored(_mma(I32X4, I32X2, F32X4, f"(i32, i32, f32) -> {F4}", "bf16", (16, 8, 16)), F4, "f32"),
     "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
    ("80", first_stored(_mma(I32X4, I32X2, F32X4, f"(i32, i32, f32) -> {F4}", "tf32", (16, 8, 8)), F4, "f32"),
     "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
    ("80", first_stored(_mma(I32X4, I32X2, I32X4, f"(i32, i32, i32) -> {I4}", "s8", (16, 8, 32),
                             ", intOverflowBehavior = #nvvm.mma_int_overflow<satfinite>"), I4, "i32"),
     "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32"),
    *[("80", first_stored(f"nvvm.ldmatrix %s {{num = {n} : i32, layout = #nvvm.mma_layout<{layout}>}} : "
                          f"(!llvm.ptr<3>) -> {struct}", struct, "i32"), f"ldmatrix.sync.aligned.m8n8.x{n}{word}")
      for n, layout, struct, word in ((4, "col", I4, ".trans"), (2, "row", "!llvm.struct<(i32, i32)>", ".shared"))],
    ("80", stored("nvvm.ldmatrix %s {num = 1 : i32, layout = #nvvm.mma_layout<row>} : (!llvm.ptr<3>) -> i32", "i32"),
     "ldmatrix.sync.aligned.m8n8.x1.shared"),
    ("80", stored("nvvm.rcp.approx.ftz.f %f : f32", "f32"), "rcp.approx.ftz.f32"),
    ("100", stored("nvvm.fma.packed.f32x2 %v, %v, %v {ftz} : vector<2xf32>", "vector<2xf32>"), "fma.rn.ftz.f32x2"),
    ("100", stored("nvvm.mul.packed.f32x2 %v, %v : vector<2xf32>", "vector<2xf32>"), "mul.rn.f32x2"),
    *[(sm, stored(f'nvvm.convert.f32x2.packed %f, %f {{dstTy = "{name}", rnd = #nvvm.fp_rnd_mode<{rnd}>, satfinite}} '
                  ": i16", "i16"), f"cvt.{rnd}.satfinite.{name}x2.f32")
      for sm, name, rnd in (("90", "e4m3", "rn"), ("90", "e5m2", "rn"), ("100", "e2m3", "rn"), ("100", "e3m2", "rn"),
                            ("100", "e2m1", "rn"), ("100", "ue8m0", "rz"))],
    ("90", stored('nvvm.convert.f32x2.packed %f, %f {dstTy = "f16", rnd = #nvvm.fp_rnd_mode<rn>, relu} : vector<2xf16>',
                  "vector<2xf16>"), "cvt.rn.relu.f16x2.f32"),
    *[(sm, stored(f'nvvm.convert.packed.f16x2 %h {{srcTy = "{name}"}} : i16 -> vector<2xf16>', "vector<2xf16>"),
       f"cvt.rn.f16x2.{name}x2")
      for sm, name in (("90", "e4m3"), ("90", "e5m2"), ("100", "e2m3"), ("100", "e3m2"), ("100", "e2m1"))],
]  # fmt: skip


@pytest.mark.seed("codegen-overview", "handoff-mapping")
@pytest.mark.seed("nvptx-bring-up", "mapping-modifiers")
@pytest.mark.parametrize(("sm", "body", "expected"), ROWS, ids=[row[2] for row in ROWS])
def test_an_operation_becomes_its_instruction(sm, body, expected):
    assert expected in to_ptx(body, sm)


@pytest.mark.seed("codegen-overview", "handoff-one-to-one")
@pytest.mark.parametrize(("sm", "body", "expected"), ROWS, ids=[row[2] for row in ROWS])
def test_an_operation_becomes_one_call(sm, body, expected):
    text = to_llvm(body, sm)
    block = text[text.index("define ") : text.index("\n}")]
    assert len(re.findall(r"\bcall\b", block)) == len(re.findall(r"\bnvvm\.[a-z]\w*\.?[\w.]*(?=[ {\n]|$)", body)) == 1


@pytest.mark.seed("codegen-overview", "handoff-named")
@pytest.mark.seed("nvptx-bring-up", "mapping-intrinsic")
@pytest.mark.seed("nvgpu-gpu-to-nvvm", "barrier-aligned")
@pytest.mark.parametrize(
    ("sm", "body", "called"),
    [
        ("80", "nvvm.barrier0", "@llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"),
        ("80", _mma(I32X4, I32X2, F32X4, f"(i32, i32, f32) -> {F4}", "bf16", (16, 8, 16)), "@llvm.nvvm.mma.m16n8k16."),
        ("90", "nvvm.wgmma.fence.aligned", "@llvm.nvvm.wgmma.fence.sync.aligned("),
        ("90", "nvvm.wgmma.commit.group.sync.aligned", "@llvm.nvvm.wgmma.commit_group.sync.aligned("),
        ("90", "nvvm.wgmma.wait.group.sync.aligned 0", "@llvm.nvvm.wgmma.wait_group.sync.aligned("),
    ],
)
def test_operations_become_the_intrinsics_of_their_name(sm, body, called):
    assert called in to_llvm(body, sm)


@pytest.mark.seed("codegen-overview", "handoff-mapping")
@pytest.mark.seed("nvptx-bring-up", "mapping-record", "mapping-installed", "mapping-intrinsic", "mapping-assembly")
def test_every_operation_has_one_row():
    rows = [*MAPPING.items(), *ROW_OF.items()]
    assert sorted(op.name for op in NVVM.operations) == sorted(op.name for op, _ in rows)
    assert {row.kind for _, row in rows} == {"intrinsic", "assembly"}
    assert all(isinstance(row, Intrinsic | Assembly) for _, row in rows)


@pytest.mark.seed("nvptx-bring-up", "mapping-intrinsic-families")
@pytest.mark.parametrize("family", ["mma.", "cp.async.bulk.tensor.", "mbarrier."])
def test_most_mmas_tma_copies_and_mbarriers_are_intrinsics(family):
    kinds = [row.kind for op, row in [*MAPPING.items(), *ROW_OF.items()] if op.name.startswith(f"nvvm.{family}")]
    assert kinds.count("intrinsic") > kinds.count("assembly")


@pytest.mark.seed("nvptx-bring-up", "mapping-order", "mapping-assembly")
@pytest.mark.parametrize("predicate", ["", ", predicate = %b"])  # an intrinsic, assembly
def test_operands_stand_in_the_templates_order(predicate):
    ptx = to_ptx(
        f"{STORE}{_tensor(3).replace('%i, %i, %i', '%i, %x, %y')}{predicate} : !llvm.ptr, !llvm.ptr<3>".join(
            ["%one = llvm.mlir.constant(1 : i32) : i32\n%x = llvm.add %i, %one : i32\n%y = llvm.add %x, %x : i32\n", ""]
        ),
        "90",
    )
    [box, source] = re.search(r"cp\.async\.bulk\.tensor\.3d\S* \[%rd?\d+, \{([^}]*)\}\], \[(%r\d+)\]", ptx).groups()
    i, x, y = box.split(", ")
    assert f"add.s32 {x}, {i}, 1;" in ptx and re.search(rf"(add\.s32 {y}, {x}, {x}|shl\.b32 {y}, {x}, 1);", ptx)
    assert source not in (i, x, y)


def test_operations_that_touch_memory_are_not_pure():
    from xdsl.traits import Pure

    rows = MAPPING | ROW_OF
    pure = {op.name for op in rows if op.has_trait(Pure)}
    effects = {op.name for op, row in rows.items() if row.effects != NONE}
    assert pure & effects == set()
    assert {"nvvm.barrier0", "nvvm.mbarrier.arrive.shared"} <= effects


@pytest.mark.seed("nvptx-bring-up", "mapping-effects", "mapping-effects-kept")
def test_a_copy_without_a_user_survives():
    # The whole point of a row's effects: LLVM drops a call that has none.
    body = f"{STORE}{_tensor(1)} : !llvm.ptr, !llvm.ptr<3>\n%r = nvvm.rcp.approx.ftz.f %f : f32"
    ptx = to_ptx(body, "90")
    assert "cp.async.bulk.tensor.1d" in ptx
    assert "rcp.approx" not in ptx


@pytest.mark.seed("nvptx-bring-up", "mapping-record", "mapping-effects-kept")
def test_assembly_clobbers_memory_where_its_instruction_writes():
    for op, row in MAPPING.items():
        if isinstance(row, Assembly):
            assert row.effects in (NONE, WRITE, ALL), op.name
    text = to_llvm(f"{STORE}{_tensor(1)}, predicate = %b : !llvm.ptr, !llvm.ptr<3>", "90")
    assert "asm sideeffect" in text and '"l,r,r,b,~{memory}"' in text
    assert "~{memory}" not in to_llvm("%r = nvvm.mul.packed.f32x2 %v, %v : vector<2xf32>", "100")


@pytest.mark.parametrize("body", [LOAD + _tensor(1) + " predicate = %b : !llvm.ptr<3>, !llvm.ptr"])
def test_an_absent_option_leaves_no_slot(body):
    text = to_llvm(body, "90")
    assert "multicast" not in text and "cache_hint" not in text
    assert '[$0], [$1, {$2}], [$3];"' in text


def test_an_mma_without_an_instruction_is_refused():
    body = first_stored(_mma(I32X4, I32X2, F32X4, f"(i32, i32, f32) -> {F4}", "bf16", (16, 8, 4)), F4, "f32")
    with pytest.raises(Unsupported, match=r"mma-no-row.*m16n8k4\.row\.col\.f32\.bf16\.bf16\.f32"):
        to_llvm(body, "80")
