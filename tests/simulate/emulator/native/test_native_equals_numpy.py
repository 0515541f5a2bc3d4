"""Kernels that use all native code: the same bytes as with NumPy."""

import numpy as np
import pytest

from tests.simulate.emulator.isa.test_tcgen05_gemm import gemm, run_gemm
from tests.simulate.emulator.native.gates import library, use_numpy
from tests.simulate.emulator.ptx_kernels import aligned, kernel, run
from tests.simulate.emulator.warp_specialized_gemm import multiply
from tileiras_build.simulate.emulator.native import native_code

THREADS, CTAS = 128, 32


def of_warpgroups() -> bytes:
    """TMA, wgmma on shared memory, stmatrix."""
    return multiply(256, 384, 192, 2, matmul_rounding="exact")[0].tobytes()


def of_tensor_memory() -> bytes:
    """TMA and tcgen05."""
    return run_gemm(gemm(64), 3, 64, 3, 2, matmul_rounding="exact")[0].tobytes()


def of_warps() -> bytes:
    """ldmatrix, mma, and operations on their results."""
    source = aligned(np.random.default_rng(0).uniform(-1, 1, (CTAS, 4 * THREADS)).astype(np.float16))
    body = f""".shared .align 128 .b8 s[{8 * THREADS}]; mov.u32 t0, %tid.x; mov.u32 t1, %ctaid.x; mad.lo.u32 t2, t1, {THREADS}, t0;
    mad.wide.u32 u4, t2, 8, u0; ld.global.v2.u32 {{t8, t9}}, [u4]; mov.u32 t3, s; mad.lo.u32 t4, t0, 8, t3; st.shared.v2.u32 [t4], {{t8, t9}};
    bar.sync 0; and.b32 t5, t0, 63; mad.lo.u32 t4, t5, 16, t3; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{t8, t9, t10, t11}}, [t4];
    ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {{t12, t13}}, [t4]; mov.f32 f0, 0f00000000; mov.f32 f1, f0; mov.f32 f2, f0; mov.f32 f3, f0;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{f0, f1, f2, f3}}, {{t8, t9, t10, t11}}, {{t12, t13}}, {{f0, f1, f2, f3}};
    max.f32 f4, f0, f1; max.f32 f5, f2, f3; max.f32 f4, f4, f5; sub.f32 f0, f0, f4; sub.f32 f1, f1, f4; fma.rn.f32 f2, f2, f3, f4;
    ex2.approx.ftz.f32 f0, f0; ex2.approx.ftz.f32 f1, f1; ex2.approx.f32 f3, f3; mul.f32 f3, f3, f2; cvt.rn.f16x2.f32 t8, f0, f1;
    cvt.rn.bf16x2.f32 t9, f2, f3; mad.wide.u32 u4, t2, 8, u1; st.global.v2.u32 [u4], {{t8, t9}};"""
    out = aligned(np.zeros((CTAS, 2 * THREADS), np.uint32))
    run(kernel(body, 2, THREADS), source, out, grid=CTAS, matmul_rounding="exact")
    return out.tobytes()


def of_copies() -> bytes:
    """cp.async of whole and of empty elements, and words of shared memory."""
    source = aligned(np.random.default_rng(1).integers(0, 1 << 32, (CTAS, 4 * THREADS), np.uint32))
    body = f""".shared .align 128 .b8 s[{16 * THREADS}]; mov.u32 t0, %tid.x; mov.u32 t1, %ctaid.x; mad.lo.u32 t2, t1, {THREADS}, t0;
    mad.wide.u32 u4, t2, 16, u0; mov.u32 t3, s; mad.lo.u32 t4, t0, 16, t3; setp.lt.u32 p0, t0, 100; selp.u32 t5, 16, 0, p0;
    cp.async.cg.shared.global [t4], [u4], 16, t5; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0; xor.b32 t6, t0, 77;
    mad.lo.u32 t4, t6, 16, t3; ld.shared.u32 t8, [t4]; ld.shared.u32 t9, [t4+8]; add.u32 t8, t8, t9;
    mad.wide.u32 u4, t2, 4, u1; st.global.u32 [u4], t8;"""
    out = aligned(np.zeros((CTAS, THREADS), np.uint32))
    run(kernel(body, 2, THREADS), source, out, grid=CTAS)
    return out.tobytes()


def of_branches() -> bytes:
    """Divergence within and between CTAs, with registers changed by one or both sides."""
    adds = lambda first, by: " ".join(f"mad.lo.u32 t{i}, t{i}, {by}, t{i - 1};" for i in range(first, 15))
    body = f"""mov.u32 t0, %tid.x; mov.u32 t1, %ctaid.x; mad.lo.u32 t2, t1, {THREADS}, t0; {" ".join(f"mul.lo.u32 t{i}, t2, {i};" for i in range(3, 15))}
    setp.lt.u32 p0, t0, 64; @p0 bra LOW; {adds(4, 3)} bra.uni MOST; LOW: and.b32 t0, t1, 1; setp.eq.u32 p2, t0, 1;
    @p2 bra BOTH; {adds(4, 5)} MOST: {adds(6, 9)} BOTH: bar.sync 0;
    and.b32 t3, t1, 3; setp.ne.u32 p1, t3, 0; @p1 bra END; {adds(9, 7)} END: {" ".join(f"xor.b32 t2, t2, t{i};" for i in range(4, 15))}
    mov.u32 t3, %tid.x; mov.u32 t1, %ctaid.x; mad.lo.u32 t3, t1, {THREADS}, t3; mad.wide.u32 u4, t3, 4, u0; st.global.u32 [u4], t2;"""
    out = aligned(np.zeros((CTAS, THREADS), np.uint32))
    run(kernel(body, 1, THREADS), out, grid=CTAS)
    return out.tobytes()


USES = {
    of_warpgroups: {"land_boxes", "gather_chunks", "pack_blocks", "multiply", "arrive"},
    of_tensor_memory: {"land_boxes", "gather_chunks", "multiply", "move_cells", "find_extremes"},
    of_warps: {"load_matrices", "multiply", "apply"},
    of_copies: {"issue_copies", "land_copies", "load_words"},
    of_branches: {"find_arrays", "move_rows", "spread_words"},
}


class NotedLibrary:
    """The kernels, with the names of those in use."""

    def __init__(self):
        self.names = set()

    def __getitem__(self, name):
        self.names.add(name)
        return library()[name]


@pytest.mark.parametrize("launch", USES, ids=lambda launch: launch.__name__)
def test_native_results_equal_numpys(launch, monkeypatch):
    use_numpy(monkeypatch)
    expected = launch()
    native_code.kernel.cache_clear()
    noted = NotedLibrary()
    monkeypatch.setattr(native_code, "_library", noted)
    assert launch() == expected and noted.names >= USES[launch]
