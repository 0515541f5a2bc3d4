"""A Hopper GEMM: a producer warp loads tiles with TMA, consumer warpgroups compute and store the results.

C (m x n, f16) = A (m x k, f16) B^T (n x k, f16), tiles of 128 x 128 x 64, two consumer warpgroups of 64 rows each, a
ring of ``stages`` tiles guarded by full and empty mbarriers. ``edit`` replaces pieces of the text, to break it.
"""

from __future__ import annotations

import numpy as np
from ptx_kernels import HEADER, aligned

from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator.tensor_map import TensorMap

TILE, DEPTH = 128, 64
STAGE_BYTES = 2 * TILE * DEPTH * 2

PRODUCER = """
PRODUCER: setmaxnreg.dec.sync.aligned.u32 40;
setp.ne.u32 p1, tid, 0; @p1 bra DONE;
mov.u32 k, 0; mov.u32 stage, 0; mov.u32 parity, 1;
LOAD: shl.b32 t1, stage, 3; add.u32 full, full0, t1; add.u32 empty, empty0, t1;
FREE: mbarrier.try_wait.parity.shared::cta.b64 p1, [empty], parity; @!p1 bra FREE;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 32768;
mad.lo.u32 t2, stage, 32768, ring; add.u32 t3, t2, 16384;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [t2], [map_a, {k, row}], [full];
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [t3], [map_b, {k, column}], [full];
add.u32 k, k, 64; add.u32 stage, stage, 1; setp.eq.u32 p2, stage, STAGES; @p2 mov.u32 stage, 0; @p2 xor.b32 parity, parity, 1;
setp.lt.u32 p3, k, depth; @p3 bra LOAD;
bra DONE;
"""

CONSUMER = """
CONSUMER: setmaxnreg.inc.sync.aligned.u32 232;
mov.u32 k, 0; mov.u32 stage, 0; mov.u32 parity, 0; mov.pred scale, 0; setp.ne.u32 leader, lane128, 0; mov.u32 last, 0xFFFFFFFF;
MULTIPLY: shl.b32 t1, stage, 3; add.u32 full, full0, t1; add.u32 empty, empty0, t1;
READY: mbarrier.try_wait.parity.shared::cta.b64 p1, [full], parity; @!p1 bra READY;
mad.lo.u32 t2, stage, 32768, ring; mad.lo.u32 t3, group, 8192, t2; add.u32 t4, t2, 16384;
shr.u32 t3, t3, 4; shr.u32 t4, t4, 4; cvt.u64.u32 da, t3; cvt.u64.u32 db, t4; or.b64 da, da, LAYOUT; or.b64 db, db, LAYOUT;
wgmma.fence.sync.aligned;
MMAS
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 1;
setp.eq.u32 p2, last, 0xFFFFFFFF; or.pred p2, p2, leader; @!p2 mbarrier.arrive.shared::cta.b64 _, [last];
mov.u32 last, empty;
add.u32 k, k, 64; add.u32 stage, stage, 1; setp.eq.u32 p2, stage, STAGES; @p2 mov.u32 stage, 0; @p2 xor.b32 parity, parity, 1;
setp.lt.u32 p3, k, depth; @p3 bra MULTIPLY;
wgmma.wait_group.sync.aligned 0;
EPILOGUE
fence.proxy.async.shared::cta; add.u32 t1, group, 1; bar.sync t1, 128; @leader bra DONE;
mad.lo.u32 t2, group, 64, row; mad.lo.u32 t3, group, 16384, tile; add.u32 t4, column, 64; add.u32 t5, t3, 8192;
cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [map_c, {column, t2}], [t3];
cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [map_c, {t4, t2}], [t5];
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
"""


def mmas() -> str:
    registers = ", ".join(f"d{i}" for i in range(64))
    text = f"wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {{{registers}}}, da, db, scale, 1, 1, 0, 0;\n"
    first = text + "setp.eq.u32 scale, 0, 0; add.u64 da, da, 2; add.u64 db, db, 2;\n"
    return first + (text + "add.u64 da, da, 2; add.u64 db, db, 2;\n") * 2 + text


def epilogue() -> str:
    """Registers as f16 pairs into two swizzled boxes of 64 x 64: 16-byte chunk index XOR row modulo eight."""
    lines = ["shr.u32 t1, lane128, 5; and.b32 t2, lane128, 31; shr.u32 t3, t2, 2; and.b32 t4, t2, 3; mad.lo.u32 t5, t1, 16, t3;",
             "mad.lo.u32 t6, group, 16384, tile; mad.lo.u32 t6, t5, 128, t6; and.b32 t7, t5, 7;"]  # fmt: skip
    for j in range(16):  # eight columns each: the chunk
        for half in (0, 1):
            low, high = 4 * j + 2 * half, 4 * j + 2 * half + 1
            lines.append(
                f"cvt.rn.f16x2.f32 h0, d{high}, d{low}; xor.b32 t8, t7, {j % 8}; shl.b32 t8, t8, 4; add.u32 t8, t8, t6; mad.lo.u32 t8, t4, 4, t8;"
            )
            lines.append(f"st.shared.b32 [t8+{8192 * (j // 8) + 1024 * half}], h0;")
    return "\n".join(lines)


def text(stages: int, edit=()) -> str:
    layout = (1 << 16) | (1024 >> 4 << 32) | (1 << 62)
    body = (PRODUCER + CONSUMER).replace("MMAS", mmas()).replace("EPILOGUE", epilogue())
    for old, new in edit:
        assert old in body, old
        body = body.replace(old, new)
    body = body.replace("STAGES", str(stages)).replace("LAYOUT", str(layout))
    arrivals = "".join(
        f"mbarrier.init.shared.b64 [full0+{8 * i}], 1; mbarrier.init.shared.b64 [empty0+{8 * i}], 2;"
        for i in range(stages)
    )
    return f"""{HEADER.replace("sm_120a", "sm_90a")}
.visible .entry k(.param .align 64 .b8 map_a[128], .param .align 64 .b8 map_b[128], .param .align 64 .b8 map_c[128], .param .u32 p_depth) .reqntid 384, 1, 1 .minnctapersm 1 {{
.reg .pred p<4>; .reg .pred scale, leader; .reg .b32 t<10>; .reg .b32 tid, lane128, group, k, depth, stage, parity, full, empty, last, ring, tile, full0, empty0, row, column, h0;
.reg .b64 da, db; .reg .f32 d<64>;
.shared .align 1024 .b8 s_ring[{stages * STAGE_BYTES}]; .shared .align 1024 .b8 s_tile[32768]; .shared .align 8 .b64 s_full[{stages}]; .shared .align 8 .b64 s_empty[{stages}];
ld.param.u32 depth, [p_depth]; mov.u32 tid, %tid.x; mov.u32 ring, s_ring; mov.u32 tile, s_tile; mov.u32 full0, s_full; mov.u32 empty0, s_empty;
mov.u32 row, %ctaid.y; shl.b32 row, row, 7; mov.u32 column, %ctaid.x; shl.b32 column, column, 7;
setp.ne.u32 p1, tid, 0; @p1 bra READY0; {arrivals}
fence.mbarrier_init.release.cluster; fence.proxy.async;
READY0: bar.sync 0; and.b32 lane128, tid, 127; shr.u32 group, tid, 7; setp.eq.u32 p1, group, 0; @p1 bra PRODUCER; sub.u32 group, group, 1; bra CONSUMER;
{body}
DONE: ret;
}}
"""


def tile_map(array, rows: int) -> TensorMap:
    return TensorMap(
        "f16",
        array.__array_interface__["data"][0],
        array.shape[::-1],
        (array.strides[0],),
        (DEPTH, rows),
        (1, 1),
        "128B",
    )


def multiply(m=128, n=128, k=256, stages=3, edit=(), seed=0, **options):
    """Run it; returns (C, expected in float64 rounded once to f16, exact for these small integers)."""
    rng = np.random.default_rng(seed)
    a, b = (aligned(rng.integers(-3, 4, shape).astype(np.float16)) for shape in ((m, k), (n, k)))
    c = aligned(np.zeros((m, n), np.float16))
    memory = emulator.Memory()
    for array in (a, b, c):
        memory.map_array(array)
    params = [tile_map(a, TILE).encode(), tile_map(b, TILE).encode(), tile_map(c, 64).encode(), k.to_bytes(4, "little")]
    emulator.run_ptx(text(stages, edit), "k", (-(-n // TILE), -(-m // TILE)), None, params, memory=memory, **options)
    return c, (a.astype(np.float64) @ b.astype(np.float64).T).astype(np.float16)
