"""The LLVM intrinsics that a module may call, and the capability that each needs.

LLVM's NVPTX back end aborts the whole process ("Cannot select") on an intrinsic that the chosen GPU lacks, and on
generic math intrinsics without a lowering. So names are checked against these rows first.
Names are written without ``llvm.nvvm.`` or ``llvm.``; a row covers every name that begins with it at a dot, and the
longest row applies. The need is one of CAPABILITIES (target/capabilities.py), None = every GPU.
"""

from __future__ import annotations

from ..mma_atoms import MMA_ATOMS, OTHER_MMA_INTRINSICS


def _rows(capability: str | None, *prefixes: str) -> dict[str, str | None]:
    return dict.fromkeys(prefixes, capability)


def _mma_rows() -> dict[str, str | None]:
    """Exact names of the mma.sync intrinsics, from the MMA table; both f64 forms need the weaker capability."""
    rows = {
        atom.intrinsic_name(a, b).removeprefix("llvm.nvvm."): atom.capability
        for atom in MMA_ATOMS
        for a in (True, False)
        for b in (True, False)
    }
    rows |= dict.fromkeys(OTHER_MMA_INTRINSICS, "mma_sync")
    # Integer MMAs have a saturating form too.
    integers = [name for name in rows if name.endswith(("s8", "u8", "s4"))]
    rows |= {name.replace(".row.col.", ".row.col.satfinite."): rows[name] for name in integers}
    return {name: "f64_mma_large" if need == "f64_mma_large_native" else need for name, need in rows.items()}


NVVM: dict[str, str | None] = {
    # Registers, barriers, warps
    **_rows(None, "read.ptx.sreg", "barrier0", "barrier.cta", "bar.warp.sync", "membar", "fence.proxy.alias"),
    **_rows(None, "shfl.sync", "vote", "activemask", "match", "nanosleep", "exit", "move"),
    **_rows(
        "cluster",
        "read.ptx.sreg.cluster", "read.ptx.sreg.clusterid", "read.ptx.sreg.nclusterid", "is_explicit_cluster",
        "barrier.cluster", "mapa", "getctarank", "fence.sc.cluster", "fence.mbarrier_init",
    ),
    **_rows("redux_i32", "redux.sync"),
    **_rows("redux_f32", "redux.sync.fmin", "redux.sync.fmax"),
    **_rows("elect_sync", "elect.sync"),
    **_rows("setmaxnreg", "setmaxnreg"),
    **_rows("griddepcontrol", "griddepcontrol"),
    **_rows("cluster_launch_control", "clusterlaunchcontrol", "st.bulk"),
    # Copies
    **_rows("cp_async", "cp.async.ca", "cp.async.cg", "cp.async.commit", "cp.async.wait", "cp.async.mbarrier"),
    **_rows("tma", "cp.async.bulk", "fence.proxy", "prefetch.tensormap", "prefetch.global"),
    **_rows("tma_im2col_w_cluster", "cp.async.bulk.tensor.g2s.im2col.w"),
    **_rows("tma_im2col_w", "cp.async.bulk.tensor.prefetch.im2col.w"),
    **_rows("tma_gather4", "cp.async.bulk.tensor.g2s.tile.gather4", "cp.async.bulk.tensor.s2g.tile.scatter4"),
    **_rows("tma_gather4_cta", "cp.async.bulk.tensor.g2s.cta.tile.gather4"),
    **_rows("tensormap_replace", "tensormap.replace"),
    **_rows("l2_policy", "discard", "applypriority"),
    **_rows("ldmatrix", "ldmatrix.sync.aligned.m8n8"),
    **_rows("ldmatrix_b8", "ldmatrix.sync.aligned.m16n16", "ldmatrix.sync.aligned.m8n16"),
    **_rows("ldmatrix_b8", "stmatrix.sync.aligned.m16n8"),
    **_rows("stmatrix", "stmatrix.sync.aligned.m8n8"),
    # mbarrier
    **_rows("mbarrier", "mbarrier.init", "mbarrier.inval", "mbarrier.arrive", "mbarrier.test.wait", "mbarrier.pending"),
    **_rows("mbarrier_try_wait", "mbarrier.arrive.scope", "mbarrier.arrive.expect", "mbarrier.expect.tx"),
    **_rows("mbarrier_try_wait", "mbarrier.complete.tx", "mbarrier.try.wait", "mbarrier.arrive.relaxed"),
    # MMA
    **_mma_rows(),
    **_rows("mma_block_scale", "mma.block.scale", "mma.sp.ordered.metadata.block.scale"),
    **_rows("wgmma", "wgmma"),
    **_rows("tcgen05", "tcgen05"),
    **_rows("tcgen05_shift", "tcgen05.shift"),
    # Conversions
    **_rows(None, "ff2f16x2.rn", "ff2f16x2.rz", "ff2bf16x2.rn", "ff2bf16x2.rz", "f2bf16", "f2f16", "f2tf32.rna"),
    **_rows("cvt_tf32_rn", "f2tf32.rn", "f2tf32.rz"),
    **_rows("cvt_stochastic", "ff2f16x2.rs", "ff2bf16x2.rs", "f32x4.to"),
    **_rows("cvt_fp8", "ff.to.e4m3x2", "ff.to.e5m2x2", "f16x2.to.e4m3x2", "f16x2.to.e5m2x2", "e4m3x2.to", "e5m2x2.to"),
    **_rows("cvt_fp4", "ff.to", "bf16x2.to", "ue8m0x2.to", "e2m3x2.to", "e3m2x2.to", "e2m1x2.to"),
    **_rows(None, "d2f", "d2i", "d2ui", "d2ll", "d2ull", "f2i", "f2ui", "f2ll", "f2ull", "f2h", "i2d", "i2f", "ui2d"),
    **_rows(None, "ui2f", "ll2d", "ll2f", "ull2d", "ull2f", "lohi.i2d"),
    # Arithmetic
    **_rows(None, "ex2.approx", "lg2.approx", "rcp", "rsqrt", "sqrt", "sin", "cos", "div", "tanh", "add", "mul", "fma"),
    **_rows("ex2_bf16", "ex2.approx.ftz.bf16", "ex2.approx.ftz.v2bf16"),
    **_rows(None, "fmin", "fmax", "fabs", "floor", "ceil", "trunc", "round", "saturate", "sad", "prmt", "mulhi"),
    **_rows(None, "mul24", "idp2a", "idp4a", "fns"),
}  # fmt: skip
XORSIGN = ".xorsign.abs"  # in the middle of a fmin/fmax name: needs "xorsign_abs"

# Generic intrinsics that are known to compile on every GPU.
GENERIC = frozenset(
    (
        "abs assume bitreverse bswap canonicalize ceil convert copysign ctlz ctpop cttz dbg exp2 expect fabs floor fma "
        "fmuladd fptosi fptoui frexp fshl fshr is ldexp lifetime maximum maximumnum maxnum memcpy memmove memset "
        "minimum minimumnum minnum rint round roundeven sadd smax smin smul sqrt ssub trap trunc uadd umax umin umul "
        "usub vector"
    ).split()
)
# Only the f32 forms with the ``afn`` flag have a lowering: they become the .approx instruction.
APPROXIMATE = frozenset(("sin.f32", "cos.f32", "tanh.f32"))
# These have no lowering for double.
NO_DOUBLE = frozenset(("exp2.f64",))


def nvvm_need(name: str) -> tuple[bool, str | None]:
    """(known, capability) of an intrinsic named without ``llvm.nvvm.``."""
    if XORSIGN in name:
        return True, "xorsign_abs"
    words = name.split(".")
    for length in range(len(words), 0, -1):
        prefix = ".".join(words[:length])
        if prefix in NVVM:
            return True, NVVM[prefix]
    return False, None
