"""The PTX instructions that inline assembly may contain, and the capability that each needs.

LLVM does not check inline assembly, and ptxas rejects unsupported instructions with messages about PTX that the user
did not write. So every instruction of a template is looked up here first. A row is an instruction's name or a part of
it: the words between its dots, the first word first, the others anywhere. All rows that match an instruction apply:
each names a required capability, one of CAPABILITIES (target/capabilities.py), None = every GPU. An instruction whose
first word has no row is unknown.

    mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.…    has "mma" (mma_sync) and "mma.block_scale"

``*`` matches any first word, ``min/4`` a min of four operands.
Source: PTX ISA 9.0, "Target ISA Notes" of each instruction; tests/pipeline/ll_to_ptx/test_inline_asm_capabilities.py checks the
rows with ptxas.
"""

from __future__ import annotations


def _rows(need: str | None, *names: str) -> dict[str, str | None]:
    return dict.fromkeys((name for group in names for name in group.split()), need)


_BF16 = ("bf16", "bf16x2")
ASSEMBLY: dict[str, str | None] = {
    # Integers, bits, floating point
    **_rows(None, "abs add addc and bfe bfi bfind bmsk brev clz cnot copysign cos div dp2a dp4a ex2 fma fns lg2 lop3 mad"),
    **_rows(None, "mad24 madc max min mul mul24 neg not or popc prmt rcp rem rsqrt sad selp set setp shf shl shr sin slct"),
    **_rows(None, "sqrt sub subc szext tanh testp vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax"),
    **_rows(None, "vmax2 vmax4 vmin vmin2 vmin4 vset vset2 vset4 vshl vshr vsub vsub2 vsub4 xor"),
    **_rows("f32x2", "add.f32x2 sub.f32x2 mul.f32x2 fma.f32x2"),
    **_rows("mixed_float", *(f"{name}.f32.{type}" for name in ("add", "sub", "fma") for type in ("f16", "bf16"))),
    **_rows("bf16_native", *(f"{name}.{type}" for name in ("add", "sub", "mul") for type in _BF16)),
    **_rows("tanh_bf16", "tanh.bf16 tanh.bf16x2"),
    **_rows("ex2_bf16", "ex2.bf16 ex2.bf16x2"),
    **_rows("xorsign_abs", "min.xorsign max.xorsign"),
    **_rows("max3", "min/4 max/4"),
    # Conversions
    **_rows(None, "cvt cvta"),
    **_rows("cvt_fp8", "cvt.e4m3x2 cvt.e5m2x2 cvt.e4m3x4 cvt.e5m2x4"),
    **_rows("cvt_fp4", "cvt.e2m1x2 cvt.e2m3x2 cvt.e3m2x2 cvt.ue8m0x2 cvt.e2m1x4 cvt.e2m3x4 cvt.e3m2x4"),
    **_rows("cvt_stochastic", "cvt.rs"),
    **_rows("cvt_tf32_rn", "cvt.rn.tf32 cvt.rz.tf32"),
    # Registers, control, warps
    **_rows(None, "activemask barrier bar bra brkpt brx call exit match membar mov nanosleep pmevent ret shfl trap vote"),
    **_rows("movmatrix", "movmatrix"),
    **_rows("redux_i32", "redux"),
    **_rows("redux_f32", "redux.f32"),
    **_rows("elect_sync", "elect"),
    **_rows("setmaxnreg", "setmaxnreg"),
    **_rows("griddepcontrol", "griddepcontrol"),
    **_rows("cluster_launch_control", "clusterlaunchcontrol"),
    **_rows("cluster", "barrier.cluster mapa getctarank"),
    **_rows("cluster", "*.cluster *.shared::cluster *.multicast::cluster"),
    # Memory
    **_rows(None, "alloca applypriority atom discard fence isspacep istypep ld ldu prefetch prefetchu red st stackrestore"),
    **_rows(None, "stacksave suld suq sured sust tex tld4 txq"),
    **_rows("l2_policy", "createpolicy *.L2::cache_hint"),
    **_rows("ldst_256", "ld.v8 st.v8", *(f"{name}.v4.{type}64" for name in ("ld", "st") for type in "bfsu")),
    **_rows("atomic_vector", "atom.v2 atom.v4 atom.v8 red.v2 red.v4 red.v8"),
    **_rows("atomic_b128", "atom.b128"),
    **_rows("bf16_atomic_add", *(f"{name}.add.{type}" for name in ("atom", "red") for type in _BF16)),
    **_rows("one_way_fences", *(f"fence.{way}.{scope}" for way in ("acquire", "release") for scope in ("cta", "gpu", "sys"))),
    **_rows("cluster", "st.async red.async fence.mbarrier_init fence.sync_restrict::shared::cluster"),
    **_rows("bulk_store", "st.bulk"),
    **_rows("multimem", "multimem"),
    # Copies
    **_rows("cp_async", "cp"),
    **_rows("tma", "cp.bulk fence.async fence.tensormap::generic prefetch.tensormap"),
    **_rows("tma_gather4", "cp.tile::scatter4"),
    **_rows("tma_gather4_cta", "cp.tile::gather4"),
    **_rows("tma_im2col_w", "cp.im2col::w cp.im2col::w::128"),
    **_rows("tma_im2col_w_cluster", "cp.shared::cluster.im2col::w cp.shared::cluster.im2col::w::128"),
    **_rows("tma_cta_group", "cp.cta_group::1 cp.cta_group::2"),
    **_rows("tensormap_replace", "tensormap"),
    **_rows("ldmatrix", "ldmatrix"),
    **_rows("ldmatrix_b8", "ldmatrix.m16n16 ldmatrix.m8n16"),
    **_rows("stmatrix", "stmatrix"),
    **_rows("ldmatrix_b8", "stmatrix.m16n8"),
    # mbarrier
    **_rows("mbarrier", "mbarrier"),
    **_rows("mbarrier_try_wait", "mbarrier.try_wait mbarrier.expect_tx mbarrier.complete_tx"),
    # MMA
    **_rows("mma_sync", "mma mma.sp mma.sp::ordered_metadata wmma"),
    **_rows("mma_fp8", "mma.e4m3 mma.e5m2"),
    **_rows("mma_f8f6f4", "mma.kind::f8f6f4"),
    **_rows("mma_block_scale", "mma.block_scale"),
    **_rows("f64_mma_large", "mma.f64.m16n8k4 mma.f64.m16n8k8 mma.f64.m16n8k16"),
    **_rows("wgmma", "wgmma"),
    **_rows("tcgen05", "tcgen05"),
    **_rows("tcgen05_i8", "tcgen05.kind::i8"),
    **_rows("tcgen05_shift", "tcgen05.shift"),
    **_rows("tcgen05_ld_red", "tcgen05.ld.red"),
}  # fmt: skip
# Special registers that only GPUs with clusters have (PTX ISA 9.0, section 10).
SPECIAL_REGISTERS = {"%cluster": "cluster", "%nclusterid": "cluster", "%is_explicit_cluster": "cluster"}
