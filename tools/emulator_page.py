"""Write docs/emulator.md: the PTX instructions that the emulator implements, found by a query for each.

    python tools/emulator_page.py            rewrites docs/emulator.md
    python tools/emulator_page.py --check    fails where it differs

An instruction counts as implemented if the emulator generates code for its sample (``isa.HANDLERS``, and what a
handler refuses). Names without a sample have one opcode and no forms: for them the table of handlers decides.
"""

from __future__ import annotations

import argparse
import sys
from functools import cache
from pathlib import Path

from tileiras_build.simulate.emulator.codegen.function_cache import FunctionCache
from tileiras_build.simulate.emulator.errors import EmulatorError
from tileiras_build.simulate.emulator.isa import HANDLERS
from tileiras_build.simulate.emulator.ptx.parser import parse
from tileiras_build.simulate.emulator.ptx.program import Program
from tileiras_build.simulate.emulator.sanitizers.finding_severities import FINDINGS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "emulator.md"
DECLARED = (
    ".reg .pred p<4>; .reg .b16 h<8>; .reg .b32 r<16>; .reg .b64 d<8>; .reg .f32 f<32>; .reg .f64 g<8>; "
    ".reg .b128 q<4>; .shared .align 128 .b8 s[1024];"
)
SAMPLE = ".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k() {{\n{declared}\n{body}\nret;\n}}\n"

# Family -> instructions: names, or name -> (sample, targets that assemble it; none for all from sm_80).
# Source: PTX ISA 9.0, section 9.7, in its order; the names of forms that have a section of their own.
Sample = tuple[str, str]


def words(text: str) -> dict[str, None]:
    """Instructions without forms."""
    return dict.fromkeys(text.split())


INSTRUCTIONS: dict[str, dict[str, Sample | None]] = {
    "integer arithmetic": {
        **words("add sub mul mad mul24 mad24 sad div rem abs neg min max popc clz bfind fns brev bfe bfi bmsk szext"),
        **words("dp4a dp2a"),
    },
    "extended precision": {
        "add.cc": ("add.cc.u32 r0, r1, r2;", ""),
        "sub.cc": ("sub.cc.u32 r0, r1, r2;", ""),
        "mad.cc": ("mad.lo.cc.u32 r0, r1, r2, r3;", ""),
        **words("addc subc madc"),
    },
    "floating point": {
        **words("testp copysign"),
        "add.f32": ("add.rn.f32 f0, f1, f2;", ""),
        "add.f64": ("add.rn.f64 g0, g1, g2;", ""),
        "add.f32x2": ("add.rn.f32x2 d0, d1, d2;", "sm_100a sm_120a"),
        "sub.f32": ("sub.rn.f32 f0, f1, f2;", ""),
        "mul.f32": ("mul.rn.f32 f0, f1, f2;", ""),
        "fma": None,
        "mad.f32": ("mad.rn.f32 f0, f1, f2, f3;", ""),
        "div.f32": ("div.rn.f32 f0, f1, f2;", ""),
        "abs.f32": ("abs.f32 f0, f1;", ""),
        "neg.f32": ("neg.f32 f0, f1;", ""),
        "min.f32": ("min.f32 f0, f1, f2;", ""),
        "max.f32": ("max.f32 f0, f1, f2;", ""),
        **words("rcp sqrt rsqrt sin cos lg2 ex2 tanh"),
        "rcp.f64": ("rcp.approx.ftz.f64 g0, g1;", ""),
        "rsqrt.f64": ("rsqrt.approx.ftz.f64 g0, g1;", ""),
    },
    "half precision": {
        "add.f16": ("add.f16 h0, h1, h2;", ""),
        "sub.f16": ("sub.f16 h0, h1, h2;", ""),
        "mul.f16": ("mul.f16 h0, h1, h2;", ""),
        "fma.f16": ("fma.rn.f16 h0, h1, h2, h3;", ""),
        "fma.bf16": ("fma.rn.bf16 h0, h1, h2, h3;", ""),
        "neg.f16": ("neg.f16 h0, h1;", ""),
        "abs.f16": ("abs.f16 h0, h1;", ""),
        "min.f16": ("min.f16 h0, h1, h2;", ""),
        "max.f16": ("max.f16 h0, h1, h2;", ""),
        "tanh.f16": ("tanh.approx.f16 h0, h1;", ""),
        "ex2.f16": ("ex2.approx.f16 h0, h1;", ""),
    },
    "mixed precision": {
        "add.f32.f16": ("add.rn.f32.f16 f0, h0, f1;", "sm_100a"),
        "sub.f32.f16": ("sub.rn.f32.f16 f0, h0, f1;", "sm_100a"),
        "fma.f32.f16": ("fma.rn.f32.f16 f0, h0, h1, f1;", "sm_100a"),
    },
    "comparison and selection": {
        **words("set setp selp slct"),
        "set.f16": ("set.lt.u32.f16 r0, h0, h1;", ""),
        "setp.f16": ("setp.lt.f16 p0, h0, h1;", ""),
    },
    "logic and shift": words("and or xor not cnot lop3 shf shl shr"),
    "data movement": {
        **words("mov prmt ld ldu st prefetch prefetchu isspacep cvta cvt mapa getctarank applypriority discard"),
        **words("createpolicy"),
        "shfl.sync": ("shfl.sync.idx.b32 r0, r1, 0, 31, -1;", ""),
        "ld.global.nc": ("ld.global.nc.u32 r0, [d0];", ""),
        "st.async": (
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [r0], r1, [r2];", "sm_90a sm_100a sm_120a",
        ),
        "st.bulk": ("st.bulk.weak.shared::cta [d0], d1, 0;", "sm_100a sm_120a"),
        "multimem": None,
        "cvt.pack": ("cvt.pack.sat.s16.s32 r0, r1, r2;", ""),
    },
    "asynchronous copies": {
        "cp.async": ("cp.async.ca.shared.global [r0], [d0], 16;", ""),
        "cp.async.commit_group": ("cp.async.commit_group;", ""),
        "cp.async.wait_group": ("cp.async.wait_group 0;", ""),
        "cp.async.wait_all": ("cp.async.wait_all;", ""),
        "cp.async.mbarrier.arrive": ("cp.async.mbarrier.arrive.noinc.shared.b64 [r0];", ""),
        "cp.async.bulk": (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r0], [d0], 16, [r1];",
            "sm_90a sm_100a sm_120a",
        ),
        "cp.reduce.async.bulk": (
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [d0], [r0], 16;", "sm_90a sm_100a sm_120a",
        ),
        "cp.async.bulk.prefetch": ("cp.async.bulk.prefetch.L2.global [d0], 16;", "sm_90a sm_100a sm_120a"),
        "cp.async.bulk.tensor": (
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [r0], [d0, {r1, r2}], [r3];",
            "sm_90a sm_100a sm_120a",
        ),
        "cp.async.bulk.tensor.im2col": (
            "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [r0], [d0, {r1, r2, r3}], [r4], "
            "{h0};",
            "sm_90a sm_100a sm_120a",
        ),
        "cp.async.bulk.tensor.im2col::w": (
            "cp.async.bulk.tensor.3d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes [r0], [d0, {r1, r2, r3}], [r4], "
            "{0, 1};",
            "sm_100a sm_120a",
        ),
        "cp.async.bulk.tensor.im2col::w::128": (
            "cp.async.bulk.tensor.3d.shared::cta.global.im2col::w::128.mbarrier::complete_tx::bytes [r0], [d0, {r1, r2, r3}], "
            "[r4], {0, 1};",
            "sm_100a",
        ),
        "cp.async.bulk.tensor.gather4": (
            "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [r0], "
            "[d0, {r1, r2, r3, r4, r5}], [r6];",
            "sm_100a",
        ),
        "cp.async.bulk.tensor.scatter4": (
            "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [d0, {r1, r2, r3, r4, r5}], [r6];",
            "sm_100a",
        ),
        "cp.reduce.async.bulk.tensor": (
            "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [d0, {r1, r2}], [r0];",
            "sm_90a sm_100a sm_120a",
        ),
        "cp.async.bulk.prefetch.tensor": (
            "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [d0, {r1, r2}];", "sm_90a sm_100a sm_120a",
        ),
        "cp.async.bulk.commit_group": ("cp.async.bulk.commit_group;", "sm_90a sm_100a sm_120a"),
        "cp.async.bulk.wait_group": ("cp.async.bulk.wait_group 0;", "sm_90a sm_100a sm_120a"),
        "tensormap.replace": (
            "tensormap.replace.tile.global_address.global.b1024.b64 [d0], d1;", "sm_90a sm_100a sm_120a",
        ),
    },
    "texture and surface": words("tex tld4 txq istypep suld sust sured suq"),
    "control flow": {
        "bra": None,
        "brx.idx": ("brx.idx r0, T; L0: L1: T: .branchtargets L0, L1;", "-"),
        **words("call ret exit"),
    },
    "synchronization and communication": {
        "bar": None,
        "bar.red": ("bar.red.popc.u32 r0, 0, p0;", ""),
        "bar.warp.sync": ("bar.warp.sync -1;", ""),
        "barrier": None,
        "barrier.cluster": (
            "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;", "sm_90a sm_100a sm_120a",
        ),
        **words("membar fence"),
        "atom": None,
        "atom.b128": ("atom.global.exch.b128 q0, [d0], q1;", "sm_90a sm_100a sm_120a"),
        "red": None,
        "red.async": (
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [r0], r1, [r2];",
            "sm_90a sm_100a sm_120a",
        ),
        "vote.sync": ("vote.sync.ballot.b32 r0, p0, -1;", ""),
        "match.sync": ("match.any.sync.b32 r0, r1, -1;", ""),
        "activemask": None,
        "redux.sync": ("redux.sync.add.u32 r0, r1, -1;", ""),
        "redux.sync.f32": ("redux.sync.min.f32 f0, f1, -1;", "sm_100a"),
        "griddepcontrol": None,
        "elect.sync": ("elect.sync r0|p0, -1;", "sm_90a sm_100a sm_120a"),
        "mbarrier.init": ("mbarrier.init.shared.b64 [r0], 1;", ""),
        "mbarrier.inval": ("mbarrier.inval.shared.b64 [r0];", ""),
        "mbarrier.expect_tx": ("mbarrier.expect_tx.relaxed.cta.shared.b64 [r0], 16;", "sm_90a sm_100a sm_120a"),
        "mbarrier.complete_tx": ("mbarrier.complete_tx.relaxed.cta.shared.b64 [r0], 16;", "sm_90a sm_100a sm_120a"),
        "mbarrier.arrive": ("mbarrier.arrive.shared.b64 d0, [r0];", ""),
        "mbarrier.arrive_drop": ("mbarrier.arrive_drop.shared.b64 d0, [r0];", ""),
        "mbarrier.test_wait": ("mbarrier.test_wait.shared.b64 p0, [r0], d0;", ""),
        "mbarrier.try_wait": ("mbarrier.try_wait.shared.b64 p0, [r0], d0;", "sm_90a sm_100a sm_120a"),
        "mbarrier.pending_count": ("mbarrier.pending_count.b64 r0, d0;", ""),
        "tensormap.cp_fenceproxy": (
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [d0], [r0], 128;",
            "sm_90a sm_100a sm_120a",
        ),
        "clusterlaunchcontrol.try_cancel": (
            "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [r0], [r1];", "sm_100a"),
        "clusterlaunchcontrol.query_cancel": (
            "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p0, q0;", "sm_100a"),
    },
    "matrices by warps": {
        "wmma": None,
        "mma": ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f0, f1, f2, f3}, {r0, r1, r2, r3}, {r4, r5}, {f0, f1, f2, f3};", ""),
        "mma.block_scale": (
            "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 "
            "{f0, f1, f2, f3}, {r0, r1, r2, r3}, {r4, r5}, {f0, f1, f2, f3}, r6, {0, 0}, r7, {0, 0};",
            "sm_120a",
        ),
        "mma.sp": (
            "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
            "{f0, f1, f2, f3}, {r0, r1, r2, r3}, {r4, r5, r6, r7}, {f0, f1, f2, f3}, r8, 0;",
            "",
        ),
        "mma.sp.s8": (
            "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
            "{r0, r1, r2, r3}, {r4, r5}, {r6, r7}, {r0, r1, r2, r3}, r8, 0;",
            "",
        ),
        "mma.sp.block_scale": (
            "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0 "
            "{f0, f1, f2, f3}, {r0, r1, r2, r3}, {r4, r5, r6, r7}, {f0, f1, f2, f3}, r8, 0, r9, {0, 0}, r10, {0, 0};",
            "sm_120a",
        ),
        **words("ldmatrix stmatrix movmatrix"),
    },
    "matrices by warpgroups": {
        "wgmma.mma_async": (
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f0, f1, f2, f3}, d0, d1, p0, 1, 1, 0, 0;", "sm_90a",
        ),
        "wgmma.mma_async.sp": (
            "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {f0, f1, f2, f3}, d0, d1, r0, 0, p0, 1, 1, 0, 0;",
            "sm_90a",
        ),
        "wgmma.fence": ("wgmma.fence.sync.aligned;", "sm_90a"),
        "wgmma.commit_group": ("wgmma.commit_group.sync.aligned;", "sm_90a"),
        "wgmma.wait_group": ("wgmma.wait_group.sync.aligned 0;", "sm_90a"),
    },
    "tensor cores of the fifth generation": {
        "tcgen05.alloc": ("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r0], 32;", "sm_100a"),
        "tcgen05.dealloc": ("tcgen05.dealloc.cta_group::1.sync.aligned.b32 r0, 32;", "sm_100a"),
        "tcgen05.relinquish_alloc_permit": (
            "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;", "sm_100a",
        ),
        "tcgen05.ld": ("tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [r1];", "sm_100a"),
        "tcgen05.ld.red": ("tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {f0, f1}, f2, [r1];", "-"),
        "tcgen05.st": ("tcgen05.st.sync.aligned.32x32b.x1.b32 [r1], {r0};", "sm_100a"),
        "tcgen05.wait": ("tcgen05.wait::ld.sync.aligned;", "sm_100a"),
        "tcgen05.cp": ("tcgen05.cp.cta_group::1.128x256b [r0], d0;", "sm_100a"),
        "tcgen05.shift": ("tcgen05.shift.cta_group::1.down [r0];", "sm_100a"),
        "tcgen05.mma": ("tcgen05.mma.cta_group::1.kind::f16 [r0], d0, d1, r1, p0;", "sm_100a"),
        "tcgen05.mma.block_scale": (
            "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [r0], d0, d1, r1, [r2], [r3], p0;",
            "sm_100a",
        ),
        "tcgen05.mma.sp": ("tcgen05.mma.sp.cta_group::1.kind::f16 [r0], d0, d1, [r2], r1, p0;", "sm_100a"),
        "tcgen05.mma.ws": ("tcgen05.mma.ws.cta_group::1.kind::f16 [r0], d0, d1, r1, p0;", "sm_100a"),
        "tcgen05.mma.ws.sp": ("tcgen05.mma.ws.sp.cta_group::1.kind::f16 [r0], d0, d1, [r2], r1, p0;", "sm_100a"),
        "tcgen05.fence": ("tcgen05.fence::before_thread_sync;", "sm_100a"),
        "tcgen05.commit": (
            "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [d0];", "sm_100a",
        ),
    },
    "stack": words("stacksave stackrestore alloca"),
    "video": words(
        "vadd vsub vabsdiff vmin vmax vshl vshr vmad vset vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2 "
        "vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 vset4"
    ),
    "miscellaneous": words("brkpt nanosleep pmevent trap setmaxnreg"),
}  # fmt: skip


def sample_text(body: str, target: str = "sm_90a") -> str:
    """A kernel around samples."""
    return SAMPLE.format(target=target, declared=DECLARED, body=body)


@cache
def is_implemented(family: str, name: str) -> bool:
    """Whether the emulator has code for an instruction."""
    if name.partition(".")[0] not in HANDLERS:
        return False
    sample = INSTRUCTIONS[family][name]
    if sample is None:
        return True
    try:
        functions = FunctionCache(Program(parse(sample_text(sample[0])), "k"))
        for at in range(len(functions.program.code)):
            functions.generate(at, False)
    except EmulatorError:
        return False
    return True


def implemented() -> list[str]:
    """The names of all implemented instructions."""
    return [name for family, rows in INSTRUCTIONS.items() for name in rows if is_implemented(family, name)]


HEAD = """# Instructions of the emulator

Which instructions of the PTX ISA 9.0 (section 9.7) the emulator implements, by family. Forms are listed if they have a section of
their own. `tools/emulator_page.py` writes this page: it requests code for each instruction from the emulator.
`tests/tools/test_emulator_page.py` checks the page, and that `tests/simulate/emulator` tests every implemented instruction.

A kernel with a missing instruction is rejected when it is loaded, with the instruction's line.

| family | implemented | missing |
|---|---|---|
"""

TAIL = """
## Identical results on every machine

The results of a kernel under `emulator.launch` do not depend on the CPU, on NumPy's or BLAS' choice of instructions, on the number of
threads, or on how CTAs are batched. If the ISA specifies a result, the emulator has that result. If the ISA leaves it open:

| instruction | what the ISA leaves open | in the emulator |
|---|---|---|
| `mma`, `wgmma`, `tcgen05.mma` of floats | order and rounding of the additions, at least single precision | an instruction computes its exact dot product, rounds it once to f32, to nearest even, and adds it to the accumulator in f32 (in f32 and once more to f16 for an accumulator of f16); a sum of zeros is +0, a NaN is canonical (`simulate/emulator/matmul/matmul.py`) |
| `wgmma` of fp8 | order and rounding of the additions | the 32 terms and the accumulator are truncated 13 bits behind the point of the largest among them, then added. The result is truncated to 14 bits (rounded to nearest even for an accumulator of f16). sm_90 does the same: DeepSeek-V3 Technical Report (arXiv 2412.19437, 3.5.2), SageAttention2 (arXiv 2411.10958), and bit by bit MMA-Sim (arXiv 2511.10909). By MMA-Sim, `mma.sync` of fp8 on sm_90 and all MMAs of sm_100 and 120 have no such loss. `mma.sync` of fp8 on sm_89 has one, which is not modelled (`simulate/emulator/matmul/fp8_accumulation.py`) |
| `mma` of f64 | the order | fused multiply-adds along k, starting with the accumulator |
| `ex2`, `lg2`, `sin`, `cos`, `tanh` `.approx` | an error | the correctly rounded result (`simulate/emulator/numerics/transcendentals.py`) |
| `rsqrt.approx` | an error | 1 / sqrt(x) in f64, rounded |
| `rcp`, `sqrt`, `div` `.approx`, `.full` | an error | as `.rn` |

Results are bit-identical whichever implementation runs. All K steps of a tile are accumulated together, in blocks that fit a cache. NumPy
uses BLAS in float64 if that is exact (`simulate/emulator/matmul/matmul.py`, `simulate/emulator/isa/mma_accumulation_chains.py`).

The host's C compiler (`cc`) compiles kernels for this CPU, once: the C files of `simulate/emulator/native`, 4 s of processor time. A process
that has executed 2^31 multiplications does that, unless an [earlier process has](cutile.md#what-is-kept-for-the-next-run): then it loads them
after 2^23 (`simulate/emulator/native/native_code.py`). Without a compiler NumPy does all, which takes two to three times as long for matmuls.
The kernels are C and not Python compiled by Numba, because Numba has neither vectors that stay in registers nor fused multiply-adds (a tile of
`matmul.c` ran at 3.7 GFLOP/s, in C at 24), needs 0.3 s to be imported and 0.2 to 1.7 s to compile each kernel. They do what takes NumPy many
passes:

- multiply and accumulate matrices, and compute a result again, exactly, if its rounding is uncertain (`matmul.c`,
  `simulate/emulator/matmul/gemm.py`), from operands in registers or in arrays (`packing.c`, `simulate/emulator/matmul/pack_operands.py`);
- the truncated fp8 accumulators of `wgmma` (`fp8.c`, `simulate/emulator/matmul/fp8_accumulation.py`);
- `ldmatrix`, `cp.async`, TMA copies, the reads of `wgmma` and `tcgen05.mma`, consecutive loads of words and stores of four (`shared_memory.c`);
- arrivals at mbarriers (`mbarriers.c`);
- `tcgen05.ld` and `.st` of whole lines, and the registers of groups that diverge or reconverge (`registers.c`). Facts that depend only on the
  threads of a group are kept with them (`simulate/emulator/simt/thread_sets.py`), for the next launch as well;
- `ex2`, `fma`, `min`, `max`, `f32x2` arithmetic and conversions to 16 bits (`elementwise.c`).

NumPy executes the instruction, or reports the fault, if one of the values is special: a NaN, a power of two next to the middle of two values, a
wrong address. `python benchmarks/emulator_speed.py --against CHECKOUT` compares the bits,
and the time, with another version.

`matmul_rounding="blas"` speeds up the first two rows, but results then depend on the machine: matmuls, including those of fp8, accumulate
in float32 in the order of NumPy's BLAS. `emulator.run_ptx` does so without `matmul_rounding="exact"`. Compare such results within the
error of the accumulation.
"""

REFUSED = """
## Refused forms

Forms of implemented instructions that are rejected with an error, because the text of the ISA does not specify them:

| instruction | form | why |
|---|---|---|
| `tcgen05.mma.sp` | M = 64 without `.ws`; M = 128 of a pair of CTAs; sparsity selectors 2 and 3; metadata from an odd column | only figures 262 to 266 show the metadata |
| `tcgen05.mma.sp`, `wgmma.mma_async.sp` | B K-major with the 32-byte swizzle | a row of B has 64 bytes, and the canonical layouts place 32 |
| `cp.async.bulk.tensor.im2col::w`, `.im2col::w::128` | a wHalo other than 0 | only figures 18 and 19 show which pixels follow, and where |
| `tcgen05.ld.red` | `.16x32bx2` | whether the two accesses to a lane are reduced together |
"""

ASSUMED = """
## Several processes

The CTAs of a launch run in as many processes as shorten it, with the results, faults and warnings of one process. There is at most one
process for each core that is available to the process (by its affinity and its control group) and idle when the launch begins.

The time of a launch is estimated from earlier batches of the same kernel in this process, in processor time without the translation of the
kernel (`simulate/emulator/batch_time_model.py`). It has a fixed part, NumPy's overhead, which is the same for one CTA and for a hundred, and
a part for each CTA. Each further process has to save 0.05 s. Before a kernel's first batch, of up to 32768 threads, there is no estimate. A
first launch of one batch stays in one process, and the rest of a longer one is shared.

`jobs=N` of `emulator.launch` and `emulator.run_ptx` (or `TILEIRAS_EMULATOR_JOBS=N`) sets the maximum number of processes. Then only one part
of this rule applies: launches of less than 0.05 s stay in one process. `jobs=1` is one process.

One process runs all CTAs in these cases:

- CTAs may see each other: kernels with atomic operations, reductions or volatile, relaxed or acquiring loads on global memory, with
  `clusterlaunchcontrol`, and those that print or allocate memory (`emulator.single_process_reason` names the instruction). The same holds
  under the checks of races between CTAs and of uninitialized memory. The CTAs of a cluster stay together.
- Copying the mapped memory, which a shared launch works on, would cost what it saves, or take a quarter of the free memory.
- The cores have other work: in workers of pytest-xdist, of a build (`scons verify`) and of `multiprocessing`, in Python processes that a
  script under `tileiras-build run` or pytest starts, and in processes with threads, which a fork would not have. `jobs=` overrides this.

After a fault or a warning in one of several processes their results are dropped. One process runs these CTAs again, and reports it. The same
happens if the system ends one of them for lack of memory. A time limit is no such fault. CTAs that race, whose results are undefined on a
GPU, may have other results than in one process. The race check of blocks finds them.

## Registers at entry

`setmaxnreg` moves registers between the warps of a CTA, which starts with the registers that ptxas has assigned to each thread. The manifest
of artifacts with a cubin has that count. For PTX alone the emulator assumes the most that ptxas assigns. That is the least of 255, of
`.maxnreg`, and, with `.minnctapersm` and the number of threads, of an equal share of an SM's 65536 registers, in whole warpgroups and
multiples of 8. With neither directive ptxas drops `setmaxnreg` (its remark C7508), and it has no effect here.
"""

RACES = """
## The race check

`check_races=True` (`TILEIRAS_EMULATOR_RACES=1`, `run --race-check`) tracks happens-before with vector clocks. Each warp and each asynchronous
operation has a clock, which others acquire when they synchronize (`simulate/emulator/sanitizers/racecheck_shared_memory.py`). So the check
finds faults that only occur in another order of execution than the emulator's:

| what is found | section of PTX ISA 9.0 |
|---|---|
"""

# What the race check finds, and the sections that say that it is wrong.
RULES = {
    "two unordered accesses to a byte of shared memory, at least one of them a write": "8.7.1, 9.7.13",
    "the same in global memory, of threads of a CTA or a cluster, except in kernels with atomic operations, or loads that may acquire, there": "8.7.1, 9.7.13",
    "two accesses to a byte of global memory, one of them a write, by CTAs with no synchronization of their cluster between them "
    "(`cta_racecheck=True`, `run --race-check`), except as in the row above and where the write changes nothing": "9.7.13.4",
    "an access of the async proxy to shared memory after an ordinary store, without a `fence.proxy.async` between them": "8.6, 9.7.9.25.2",
    "a use of an mbarrier before its `mbarrier.init` is visible, through a barrier or `fence.mbarrier_init`": "9.7.13.15.9, 9.7.13.5",
    "an arrival at an mbarrier that may count in the phase before, or exceed the expected count": "9.7.13.15.5",
    "a phase of an mbarrier that completes while a thread may still have to wait for the one before, and then waits forever": "9.7.13.15.16",
    "accesses that are ordered only by relaxed arrivals or waits without a fence of their threads (`arrival-relaxed`)": "9.7.13.4",
    "an access to shared memory of another CTA of the cluster that may not have started, or may have exited (`peer-cta-not-running`); "
    "a relaxed arrival at the cluster's barrier does not order it before the exit": "CUDA Programming Guide, distributed shared memory; 9.7.13.4",
    "two unordered accesses to columns of tensor memory, at least one of them a write": "9.7.16.6",
    "accesses of several threads to tensor memory without a `tcgen05.fence` on one side of their synchronization (`tensor-not-fenced`)": "9.7.16.6.3",
    "a `tcgen05.ld` or `.st` without a `tcgen05.wait` before its columns are handed to another thread (`load-not-waited`)": "9.7.16.6.4.4",
    "tensor memory that is deallocated while another warp, an operation, or the other CTA of a pair may still use it": "9.7.16.7",
}  # fmt: skip

FOUND = """
## Findings

A finding is behavior that works on hardware although the ISA leaves it open. It has a name. In code of this compiler (`emulator.launch`,
`tileiras-build verify`) a finding is a fault. In other PTX (`emulator.run_ptx`) it is a warning of category `EmulatorWarning`, once for each
instruction. `findings="fault"`, `"warning"` or `"silent"` of either call changes that for all findings, `findings={"NAME": "silent"}` for
some, `verify --silence NAME` on the command line. What the ISA forbids has no name and is always a fault.

| finding | what the kernel does |
|---|---|
"""


def findings() -> str:
    """The section on findings."""
    return FOUND + "".join(f"| `{name}` | {what} |\n" for name, what in FINDINGS.items())


def rules() -> str:
    """The section on the race check."""
    return RACES + "".join(f"| {what} | {section} |\n" for what, section in RULES.items())


def page() -> str:
    """The whole document."""
    lines = []
    for family, rows in INSTRUCTIONS.items():
        has = [f"`{name}`" for name in rows if is_implemented(family, name)]
        lacks = [f"`{name}`" for name in rows if not is_implemented(family, name)]
        lines.append(f"| {family} | {', '.join(has)} | {', '.join(lacks)} |")
    count, total = len(implemented()), sum(map(len, INSTRUCTIONS.values()))
    return (
        HEAD
        + "\n".join(lines)
        + f"\n\n{count} of {total} are implemented.\n"
        + REFUSED
        + TAIL
        + ASSUMED
        + rules()
        + findings()
    )


def main() -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail where the page differs from the emulator")
    if parser.parse_args().check:
        return int(PAGE.read_text() != page())
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
