"""CAPABILITIES: the instruction families that only some GPU generations have, each with the architectures that have it.

A capability names an instruction family that both LLVM's NVPTX back end and ptxas accept; ``_native`` marks families
that the hardware does not emulate. Query a target (``target.has("tma")``) instead of comparing architectures.

Sources: PTX ISA 9.0 (target notes of each instruction), and what LLVM 22 and ptxas 13.5 accept.
"""

from __future__ import annotations

SM_ARCHITECTURES = (80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121)
_DATACENTER = (100, 103, 107, 110)
_CONSUMER = (120, 121)
# GPUs of one family run each other's family-specific code ("sm_100f"), if they are not older (what ptxas 13.5 accepts).
FAMILIES = ((100, 103, 107), (110,), (120, 121))
# Capabilities that family-specific code has not, whatever its GPUs have (PTX ISA 9.0, and what ptxas 13.5 refuses).
ARCH_SPECIFIC = frozenset({"cvt_stochastic", "tcgen05_i8", "tcgen05_shift"})


def _from(first: int) -> frozenset[int]:
    return frozenset(sm for sm in SM_ARCHITECTURES if sm >= first)


def _only(*architectures: int) -> frozenset[int]:
    return frozenset(architectures)


# Capability -> the architectures that have it.
CAPABILITIES: dict[str, frozenset[int]] = {
    # sm_80 baseline
    "cp_async": _from(80),  # cp.async 4/8/16 bytes, zero fill, groups
    "ldmatrix": _from(80),  # m8n8 b16, with and without .trans
    "movmatrix": _from(80),
    "mma_sync": _from(80),  # f16, bf16, tf32, i8, f64 m8n8k4
    "mbarrier": _from(80),  # init, arrive, test_wait on shared::cta
    "redux_i32": _from(80),
    "l2_policy": _from(80),  # createpolicy, .L2::cache_hint
    "atomic_add_f16x2": _from(80),
    # At half the rate of f32, elsewhere at a 32nd or 64th (CUDA C++ Programming Guide, throughput of arithmetic instructions).
    "f64_native": _only(80, 90, 100),
    "xorsign_abs": _from(86),
    # sm_89
    "mma_fp8": _from(89),  # accepted; emulated by f16 MMAs unless mma_fp8_native
    "mma_fp8_native": _only(89, *_CONSUMER),
    "cvt_fp8": _from(89),  # f32/f16 pairs <-> e4m3/e5m2
    # sm_90
    "stmatrix": _from(90),
    "cluster": _from(90),  # cluster launch, shared::cluster, barrier.cluster, mapa
    "tma": _from(90),  # cp.async.bulk[.tensor], proxy fences
    "mbarrier_try_wait": _from(90),  # and expect_tx, scopes
    "elect_sync": _from(90),
    "griddepcontrol": _from(90),
    "one_way_fences": _from(90),  # fence.acquire, fence.release
    "bf16_native": _from(90),  # add/mul/max of bf16; on older GPUs through fma with 1.0 / -0.0
    "bf16_atomic_add": _from(90),  # atom/red.add.noftz.bf16[x2]
    "atomic_vector": _from(90),  # red.global.v2/v4/v8
    "atomic_b128": _from(90),
    "ex2_bf16": _from(90),
    "tanh_bf16": _from(90),
    "cvt_tf32_rn": _from(90),
    "f64_mma_large": _from(90),  # m16n8k{4,8,16}; native on 90 only
    "f64_mma_large_native": _only(90),
    "setmaxnreg": _from(90),
    "multimem": _from(90),
    "tensormap_replace": _from(90),
    "wgmma": _only(90),
    # sm_100 and later
    "f32x2": _from(100),  # add/mul/fma.f32x2 accepted
    "f32x2_native": _only(100, 103, 107),
    "max3": _from(100),  # three-input min/max
    "mixed_float": _from(100),  # add/sub/fma of f32 with f16 or bf16
    "bulk_store": _from(100),  # st.bulk
    "ldst_256": _from(100),  # 32-byte vector loads and stores
    "cluster_launch_control": _from(100),
    "ldmatrix_b8": _from(100),  # m16n16 b8 and fp4/fp6 unpacking, stmatrix m16n8 b8
    "cvt_fp4": _from(100),  # fp4, fp6, ue8m0 conversions
    "tma_im2col_w": _from(100),
    "tma_im2col_w_cluster": _only(*_DATACENTER),  # into the shared memory of a cluster
    "tma_gather4_cta": _from(100),
    "tma_gather4": _only(*_DATACENTER),
    "tma_multicast": _only(90, *_DATACENTER),  # into the shared memory of several CTAs, at full speed
    "tma_cta_group": _only(*_DATACENTER),
    "tcgen05": _only(*_DATACENTER),
    "tcgen05_i8": _only(100, 110),
    "tcgen05_shift": _only(*_DATACENTER),
    "tcgen05_ld_red": _only(103, 107, 110),
    "redux_f32": _only(100, 103, 107),
    "cvt_stochastic": _only(100, 103, 107),  # cvt.rs
    "mma_f8f6f4": _only(*_CONSUMER),
    "mma_block_scale": _only(*_CONSUMER),
    "embedded": _only(
        87, 88, 110
    ),  # a system on chip: cubins are not shared with other GPUs (88 is in no table: a conservative guess)
    "shared_reserved": _from(90),  # the system keeps 1 KB of every CTA's shared memory
}
