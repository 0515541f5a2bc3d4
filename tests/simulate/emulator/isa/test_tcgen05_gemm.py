"""A warp-specialized GEMM: TMA producer, tcgen05 issuer and epilogue warps, rings of mbarriers.

Each tile takes an accumulator of a ring of two: the next tile's MMAs run while the last one's results are read.
"""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import HEADER, aligned
from tests.simulate.emulator.tensor_kernels import encode, instruction
from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator.isa.tcgen05_mma import Tcgen05Mma
from tileiras_build.simulate.emulator.tensor_map import TensorMap

STAGES, ROWS, DEPTH = 3, 128, 64
A_BYTES = ROWS * DEPTH * 2


def gemm(columns: int, producer_waits: bool = True, issuer_waits: bool = True, epilogue_returns: bool = True) -> str:
    """PTX of k(A map, B map, C, tiles, steps): C = A B^T in f32, tiles of 128 x columns, tile t of a CTA is ctaid + t * nctaid."""
    b_bytes = columns * DEPTH * 2
    stage = A_BYTES + b_bytes
    advance = f"add.u32 t8, t8, 1; setp.eq.u32 p1, t8, {STAGES}; @p1 mov.u32 t8, 0; @p1 xor.b32 t9, t9, 1;"
    flip = "xor.b32 t12, t12, 1; setp.eq.u32 p1, t12, 0; @p1 xor.b32 t13, t13, 1;"  # of the accumulators
    wait = "{label}: mbarrier.try_wait.parity.shared::cta.b64 p2, [{at}], {phase}; @!p2 bra {label};"
    registers = ", ".join(f"r{i}" for i in range(32))
    mmas = "\n".join(
        f"tcgen05.mma.cta_group::1.kind::f16 [t14], d0, d1, t15, {'p3' if i == 0 else '1'}; add.u64 d0, d0, 2; add.u64 d1, d1, 2;"
        for i in range(DEPTH // 16)
    )
    reads = "\n".join(
        f"add.u32 t17, t14, {c}; tcgen05.ld.sync.aligned.32x32b.x32.b32 {{{registers}}}, [t17]; tcgen05.wait::ld.sync.aligned;\n"
        + "".join(f"st.global.b32 [u3+{4 * (c + i)}], r{i};" for i in range(32))
        for c in range(0, columns, 32)
    )
    return f"""{HEADER}
.visible .entry k(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128], .param .u64 c, .param .u32 tiles, .param .u32 steps) .reqntid 192, 1, 1 {{
.reg .pred p<8>; .reg .b32 t<24>; .reg .b32 r<32>; .reg .b64 u<8>; .reg .b64 d<2>; .reg .b64 e<4>;
.shared .align 1024 .b8 ring[{STAGES * stage}]; .shared .align 8 .b64 full[{STAGES}]; .shared .align 8 .b64 empty[{STAGES}];
.shared .align 8 .b64 done[2]; .shared .align 8 .b64 free[2]; .shared .align 4 .b32 slot;
mov.u32 t0, %tid.x; shr.u32 t1, t0, 5; mov.u32 t2, %ctaid.x; mov.u32 t3, %nctaid.x; ld.param.u32 t4, [tiles]; ld.param.u32 t5, [steps];
mov.u32 t6, ring; mov.u32 t8, 0; mov.u32 t9, 0; mov.u32 t12, 0; mov.u32 t13, 0;
setp.ne.u32 p0, t0, 0; @p0 bra READY;
{"".join(f"mbarrier.init.shared::cta.b64 [full+{8 * i}], 1; mbarrier.init.shared::cta.b64 [empty+{8 * i}], 1;" for i in range(STAGES))}
{"".join(f"mbarrier.init.shared::cta.b64 [done+{8 * i}], 1; mbarrier.init.shared::cta.b64 [free+{8 * i}], 128;" for i in (0, 1))}
fence.mbarrier_init.release.cluster;
READY: setp.ne.u32 p5, t1, 5; @p5 bra ALLOCATED;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], {max(2 * columns, 32)}; tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ALLOCATED: tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync; ld.shared.b32 t7, [slot];
setp.eq.u32 p6, t1, 4; @p6 bra PRODUCER; @!p5 bra ISSUER;

// the epilogue: warps 0 to 3
shl.b32 t10, t1, 21; add.u32 t10, t10, t7;
NEXT: setp.ge.u32 p7, t2, t4; @p7 bra END;
shl.b32 t18, t12, 3; mov.u32 t16, done; add.u32 t16, t16, t18;
{wait.format(label="RESULT", at="t16", phase="t13")}
tcgen05.fence::after_thread_sync; mad.lo.u32 t14, t12, {columns}, t10;
ld.param.u64 u2, [c]; mad.lo.u32 t19, t2, 128, t0; mul.wide.u32 u3, t19, {4 * columns}; add.u64 u3, u3, u2;
{reads}
tcgen05.fence::before_thread_sync; mov.u32 t16, free; add.u32 t16, t16, t18;
{"mbarrier.arrive.shared::cta.b64 _, [t16];" if epilogue_returns else ""}
{flip} add.u32 t2, t2, t3; bra NEXT;

PRODUCER: elect.sync _|p4, 0xffffffff; @!p4 bra END;
P0: setp.ge.u32 p7, t2, t4; @p7 bra END; mov.u32 t11, 0;
P1: setp.ge.u32 p7, t11, t5; @p7 bra P3;
shl.b32 t18, t8, 3; mov.u32 t16, empty; add.u32 t16, t16, t18; xor.b32 t19, t9, 1;
{wait.format(label="P2", at="t16", phase="t19") if producer_waits else ""}
mov.u32 t16, full; add.u32 t16, t16, t18; mbarrier.arrive.expect_tx.shared::cta.b64 _, [t16], {stage};
mad.lo.u32 t20, t8, {stage}, t6; add.u32 t21, t20, {A_BYTES}; shl.b32 t22, t11, 6; shl.b32 t23, t2, 7;
cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [t20], [a, {{t22, t23}}], [t16];
cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [t21], [b, {{t22, 0}}], [t16];
{advance} add.u32 t11, t11, 1; bra P1;
P3: add.u32 t2, t2, t3; bra P0;

ISSUER: elect.sync _|p4, 0xffffffff; @!p4 bra END; mov.u32 t15, {instruction(ROWS, columns)};
I0: setp.ge.u32 p7, t2, t4; @p7 bra END; mov.u32 t11, 0;
shl.b32 t18, t12, 3; mov.u32 t16, free; add.u32 t16, t16, t18; xor.b32 t19, t13, 1;
{wait.format(label="I1", at="t16", phase="t19")}
tcgen05.fence::after_thread_sync; mad.lo.u32 t14, t12, {columns}, t7;
I2: setp.ge.u32 p7, t11, t5; @p7 bra I4; setp.ne.u32 p3, t11, 0;
shl.b32 t18, t8, 3; mov.u32 t16, full; add.u32 t16, t16, t18;
{wait.format(label="I3", at="t16", phase="t9") if issuer_waits else ""}
mad.lo.u32 t20, t8, {stage}, t6; shr.u32 t20, t20, 4; cvt.u64.u32 e0, t20; and.b64 e0, e0, 0x3fff;
or.b64 d0, e0, {encode(0, 0, 1024, 128)}; add.u64 d1, d0, {A_BYTES // 16};
{mmas}
mov.u32 t16, empty; add.u32 t16, t16, t18; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [t16];
{advance} add.u32 t11, t11, 1; bra I2;
I4: shl.b32 t18, t12, 3; mov.u32 t16, done; add.u32 t16, t16, t18; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [t16];
{flip} add.u32 t2, t2, t3; bra I0;

END: bar.sync 0; @p5 bra OUT; tcgen05.dealloc.cta_group::1.sync.aligned.b32 t7, {max(2 * columns, 32)};
OUT: ret;
}}
"""


def run_gemm(text: str, tiles: int, columns: int, steps: int, grid: int, **options):
    rng = np.random.default_rng(0)
    a = aligned(rng.standard_normal((tiles * ROWS, steps * DEPTH)).astype(np.float16))
    b = aligned(rng.standard_normal((columns, steps * DEPTH)).astype(np.float16))
    c = aligned(np.zeros((tiles * ROWS, columns), np.float32))
    memory = emulator.Memory()
    params = []
    for array, rows in ((a, ROWS), (b, columns)):
        base, shape = memory.map_array(array), array.shape[::-1]
        params.append(TensorMap("f16", base, shape, (array.strides[0],), (DEPTH, rows), (1, 1), "128B").encode())
    params += [memory.map_array(c).to_bytes(8, "little"), tiles.to_bytes(4, "little"), steps.to_bytes(4, "little")]
    emulator.run_ptx(text, "k", grid, None, params, memory=memory, **options)
    return c, a.astype(np.float64) @ b.astype(np.float64).T


@pytest.mark.parametrize("columns, tiles, steps, grid", [(64, 1, 1, 1), (64, 5, 4, 2), (128, 6, 3, 2), (256, 4, 2, 3)])
def test_gemm(columns, tiles, steps, grid):
    got, want = run_gemm(gemm(columns), tiles, columns, steps, grid)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "missing, message",
    [
        ({"issuer_waits": False}, "shared memory of matrix . changed"),
        ({"producer_waits": False}, "shared memory of matrix . changed|bytes|expects"),
        ({"epilogue_returns": False}, "deadlock"),
    ],
)
def test_missing_wait_is_reported(missing, message):
    with pytest.raises(emulator.EmulatorFault, match=message):
        run_gemm(gemm(64, **missing), 5, 64, 4, 1)


@pytest.mark.parametrize("matmul_rounding, times", [("exact", 1), ("blas", 2)])
def test_mmas_are_combined_across_commits(monkeypatch, matmul_rounding, times):
    """Two steps of four MMAs, each with a commit: one matmul, unless its rounding depends on the sizes of matrices."""
    calls, run_all = [], Tcgen05Mma.run_joined
    monkeypatch.setattr(
        Tcgen05Mma, "run_joined", lambda self, memory, others: (calls.append(others), run_all(self, memory, others))
    )
    got, want = run_gemm(gemm(64), 1, 64, 2, 1, matmul_rounding=matmul_rounding)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    assert [len(others) for others in calls] == [8 // times - 1] * times


# -- racecheck ----------------------------------------------------------------------------------
def test_racecheck_passes():
    got, want = run_gemm(gemm(64), 5, 64, 4, 2, check_races=True)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


FREE_STAGE = "mov.u32 t16, empty; add.u32 t16, t16, t18; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [t16];"


def test_stage_released_before_its_mma_has_read_it():
    """The commit precedes the MMAs; with enough stages, the values are still right."""
    text = gemm(64)
    early = text.replace(FREE_STAGE, "").replace("or.b64 d0, e0", FREE_STAGE + "or.b64 d0, e0")
    assert early.count(FREE_STAGE) == text.count(FREE_STAGE) == 1
    with pytest.raises(emulator.EmulatorFault, match="an operation of tensor memory read it .* before this copy"):
        run_gemm(early, 5, 64, 4, 1, check_races=True)


def test_mma_before_its_tile_is_loaded():
    with pytest.raises(emulator.EmulatorFault, match="an operation of tensor memory read it .* before this copy"):
        run_gemm(gemm(64, issuer_waits=False), 1, 64, 4, 1, check_races=True)


def test_columns_before_their_address_is_stored():
    early = gemm(64).replace("tcgen05.fence::before_thread_sync; bar.sync 0;", "bar.warp.sync -1;")
    with pytest.raises(emulator.EmulatorFault, match="tcgen05.alloc.* with no barrier before this"):
        run_gemm(early, 1, 64, 1, 1, check_races=True)
