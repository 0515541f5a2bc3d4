"""One instruction, as ptxas takes it, for each family that ll_to_ptx/inline_asm_capabilities.py tells apart: (capability, text)."""

HEAD = """
.version {version}
.target {arch}
.address_size 64
.extern .shared .align 128 .b8 shared[];
.visible .entry k(.param .u64 a) .reqntid 128
{{
.reg .b16 h<9>; .reg .b32 r<17>; .reg .b64 d<9>; .reg .f32 f<9>; .reg .f64 e<9>; .reg .pred p<5>; .reg .b128 q<3>;
"""
_LOADED = "r0, r1, r2, r3"
_F32 = "{f0, f1, f2, f3}"
_WGMMA = "{f0, f1, f2, f3}, d0, d1, p0, 1, 1"
SAMPLES = (
    # Every GPU
    (None, "add.rn.f32 f0, f1, f2;"),
    (None, "fma.rn.bf16 h0, h1, h2, h3;"),
    (None, "bfe.u32 r0, r1, 8, 8;"),
    (None, "bfi.b32 r0, r1, r2, 8, 8;"),
    (None, "max.f32 f0, f1, f2;"),
    (None, "setp.ne.b32 p0, r1, 0;"),
    (None, "cvt.rn.bf16.f32 h0, f1;"),
    (None, "cvt.rna.tf32.f32 r0, f1;"),
    (None, "mov.b32 r0, {h0, h1};"),
    (None, "mov.u32 r0, %dynamic_smem_size;"),
    (None, "bar.sync 0;"),
    (None, "shfl.sync.idx.b32 r0|p0, r1, r2, 31, -1;"),
    ("movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16 r0, r1;"),
    ("redux_i32", "redux.sync.add.s32 r0, r1, -1;"),
    ("l2_policy", "createpolicy.fractional.L2::evict_first.b64 d0, 1.0;"),
    ("l2_policy", "ld.global.L2::cache_hint.b32 r0, [d0], d1;"),
    (None, "atom.relaxed.gpu.global.cas.b16 h0, [d0], h1, h2;"),
    (None, "atom.add.noftz.f16x2 r0, [d0], r1;"),
    (None, "red.relaxed.gpu.global.or.b32 [d0], r0;"),
    ("cp_async", "cp.async.cg.shared.global [r0], [d0], 16, r1;"),
    ("cp_async", "cp.async.wait_group 0;"),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {r0, r1, r2, r3}, [r4];"),
    ("mbarrier", "mbarrier.init.shared::cta.b64 [r0], 1;"),
    ("mbarrier", "mbarrier.arrive.shared::cta.b64 d0, [r0];"),
    ("mma_sync", f"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {_F32}, {{{_LOADED}}}, {{r4, r5}}, {_F32};"),
    (
        "mma_sync",
        f"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {_F32}, {{{_LOADED}}}, {{r4, r5, r6, r7}}, {_F32}, r8, 0;",
    ),
    # sm_86 and sm_89
    ("xorsign_abs", "max.xorsign.abs.f32 f0, f1, f2;"),
    ("mma_fp8", f"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {_F32}, {{{_LOADED}}}, {{r4, r5}}, {_F32};"),
    ("cvt_fp8", "cvt.rn.satfinite.e4m3x2.f32 h0, f0, f1;"),
    ("cvt_fp8", "cvt.rn.f16x2.e5m2x2 r0, h0;"),
    # sm_90
    ("bf16_native", "add.rn.bf16 h0, h1, h2;"),
    ("bf16_native", "mul.rn.bf16x2 r0, r1, r2;"),
    ("tanh_bf16", "tanh.approx.bf16x2 r0, r1;"),
    ("ex2_bf16", "ex2.approx.ftz.bf16 h0, h1;"),
    ("cvt_tf32_rn", "cvt.rn.tf32.f32 r0, f0;"),
    ("elect_sync", "elect.sync r0|p0, -1;"),
    ("setmaxnreg", "setmaxnreg.inc.sync.aligned.u32 128;"),
    ("griddepcontrol", "griddepcontrol.wait;"),
    ("cluster", "barrier.cluster.arrive.aligned;"),
    ("cluster", "mapa.shared::cluster.u32 r0, r1, 0;"),
    ("cluster", "fence.acq_rel.cluster;"),
    ("cluster", "ld.shared::cluster.b32 r0, [r1];"),
    ("cluster", "mov.u32 r0, %cluster_ctarank;"),
    ("cluster", "mov.u32 r0, %nclusterid.x;"),
    ("cluster", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r0];"),
    ("cluster", "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [r0], r1, [r2];"),
    ("cluster", "fence.mbarrier_init.release.cluster;"),
    ("one_way_fences", "fence.acquire.gpu;"),
    ("atomic_vector", "red.global.add.v4.f32 [d0], {f0, f1, f2, f3};"),
    ("atomic_vector", "atom.global.add.v4.f32 _, [d0], {f0, f1, f2, f3};"),
    (None, "red.relaxed.gpu.global.add.noftz.f16x2 [d0], r0;"),
    ("atomic_b128", "atom.exch.b128 q0, [d0], q1;"),
    ("bf16_atomic_add", "red.relaxed.gpu.global.add.noftz.bf16x2 [d0], r0;"),
    ("multimem", "multimem.ld_reduce.relaxed.sys.global.add.u32 r0, [d0];"),
    (
        "tma",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [r0], [d0, {r1, r2}], [r3];",
    ),
    ("tma", "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [d0, {r1, r2}], [r3];"),
    ("tma", "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [d0, {r1, r2}], [r3];"),
    ("tma", "cp.async.bulk.commit_group;"),
    ("tma", "fence.proxy.async.shared::cta;"),
    ("tma", "fence.proxy.tensormap::generic.release.gpu;"),
    ("tma", "prefetch.tensormap [d0];"),
    ("tensormap_replace", "tensormap.replace.tile.global_address.global.b1024.b64 [d0], d1;"),
    ("stmatrix", "stmatrix.sync.aligned.m8n8.x2.shared.b16 [r0], {r1, r2};"),
    ("mbarrier_try_wait", "mbarrier.try_wait.parity.shared::cta.b64 p0, [r0], r1, r2;"),
    ("mbarrier_try_wait", "mbarrier.arrive.expect_tx.shared::cta.b64 _, [r0], r1;"),
    (
        "f64_mma_large",
        "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {e0, e1, e2, e3}, {e4, e5}, {e6}, {e0, e1, e2, e3};",
    ),
    ("wgmma", f"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {_WGMMA}, 0, 0;"),
    ("wgmma", "wgmma.fence.sync.aligned;"),
    # sm_100 and later
    ("f32x2", "add.rn.f32x2 d0, d1, d2;"),
    ("f32x2", "mul.rn.f32x2 d0, d1, d2;"),
    ("f32x2", "fma.rn.ftz.f32x2 d0, d1, d2, d3;"),
    ("f32x2", "sub.rn.f32x2 d0, d1, d2;"),
    ("mixed_float", "add.rn.f32.f16 f0, h0, f1;"),
    ("mixed_float", "fma.rn.f32.bf16 f0, h0, h1, f1;"),
    ("max3", "max.f32 f0, f1, f2, f3;"),
    ("ldst_256", "ld.global.v8.b32 {r0, r1, r2, r3, r4, r5, r6, r7}, [d0];"),
    ("ldst_256", "st.global.v4.b64 [d0], {d1, d2, d3, d4};"),
    ("cluster_launch_control", "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [r0], [r1];"),
    ("bulk_store", "st.bulk.weak.shared::cta [d0], 64, 0;"),
    ("ldmatrix_b8", "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {r0, r1}, [r2];"),
    ("ldmatrix_b8", "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {r0}, [r1];"),
    ("ldmatrix_b8", "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [r0], {r1};"),
    ("cvt_fp4", "{.reg .b8 b; cvt.rn.satfinite.e2m1x2.f32 b, f0, f1;}"),
    ("cvt_fp4", "cvt.rn.satfinite.e2m3x2.f32 h0, f0, f1;"),
    ("cvt_fp4", "cvt.rz.ue8m0x2.f32 h0, f0, f1;"),
    (
        "tma_im2col_w",
        "cp.async.bulk.tensor.3d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes "
        "[r0], [d0, {r1, r2, r3}], [r4], {h0, h1};",
    ),
    (
        "tma_im2col_w_cluster",
        "cp.async.bulk.tensor.3d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes "
        "[r0], [d0, {r1, r2, r3}], [r4], {h0, h1};",
    ),
    (
        "tma_gather4_cta",
        "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes "
        "[r0], [d0, {r1, r2, r3, r4, r5}], [r6];",
    ),
    (
        "tma_gather4",
        "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [d0, {r1, r2, r3, r4, r5}], [r6];",
    ),
    (
        "tma_cta_group",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 "
        "[r0], [d0, {r1, r2}], [r3];",
    ),
    ("redux_f32", "redux.sync.max.f32 f0, f1, -1;"),
    ("redux_f32", "redux.sync.min.abs.NaN.f32 f0, f1, -1;"),
    ("cvt_stochastic", "cvt.rs.f16x2.f32 r0, f0, f1, r1;"),
    (
        "mma_f8f6f4",
        f"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32 {_F32}, {{{_LOADED}}}, {{r4, r5}}, {_F32};",
    ),
    (
        "mma_block_scale",
        "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 "
        f"{_F32}, {{{_LOADED}}}, {{r4, r5}}, {_F32}, {{r6}}, {{h0, h1}}, {{r7}}, {{h0, h1}};",
    ),
    (
        "mma_block_scale",
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 "
        f"{_F32}, {{{_LOADED}}}, {{r4, r5}}, {_F32}, {{r6}}, {{h0, h1}}, {{r7}}, {{h0, h1}};",
    ),
    (
        "mma_block_scale",
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32"
        f".ue4m3 {_F32}, {{{_LOADED}}}, {{r4, r5}}, {_F32}, {{r6}}, {{h0, h1}}, {{r7}}, {{h0, h1}};",
    ),
    ("tcgen05", "tcgen05.mma.cta_group::1.kind::f16 [r0], d0, d1, r1, p0;"),
    ("tcgen05", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r0], 32;"),
    ("tcgen05", "tcgen05.mma.cta_group::1.kind::mxf4.block_scale [r0], d0, d1, r1, [r2], [r3], p0;"),
    ("tcgen05_i8", "tcgen05.mma.cta_group::1.kind::i8 [r0], d0, d1, r1, p0;"),
    ("tcgen05_shift", "tcgen05.shift.cta_group::1.down [r0];"),
    ("tcgen05_ld_red", "tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {f0, f1}, f2, [r0];"),
)
