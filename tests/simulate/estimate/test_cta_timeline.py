"""simulate/estimate/cta_timeline.py: what warps of one scheduler do while one of them waits."""

from tests.simulate.estimate.handwritten import LAYOUT, code, launch
from tileiras_build.simulate.estimate.constant_bank_values import Constants, GlobalBuffer
from tileiras_build.simulate.estimate.cta_timeline import simulate_clusters
from tileiras_build.simulate.estimate.cta_work_counts import WorkCounter
from tileiras_build.simulate.estimate.memory_load import MemoryLoad
from tileiras_build.simulate.estimate.trace_warps import Tracer
from tileiras_build.target.gpu_models import gpu_model
from tileiras_build.target.gpu_rates import CLUSTER_LATENCY
from tileiras_build.target.targets import find_target

MACHINE = gpu_model(find_target("90"))
COMPUTED = 200


MBARRIER = [
    "S2R R0, SR_TID.X", "ISETP.GE.AND P0, PT, R0, 0x20, PT", "MOV R1, 0x400", "MOV R2, 0x1ffffe", "MOV R3, RZ",
    "@!P0 STS.64 [R1], R2", "SYNCS.CCTL.IVALL", "BAR.SYNC.DEFER_BLOCKING 0x0", "@P0 BRA `(.L_x_1)",
    "SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [R1], RZ", *["FADD R9, R9, R9"] * COMPUTED, "EXIT",
    ".L_x_1:", *["FADD R9, R9, R9"] * COMPUTED, "@!P1 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R1], RZ", "EXIT",
]  # fmt: skip


def test_an_mbarrier_that_a_store_made_is_waited_for():
    """The first warp may not compute before the second one has, and has arrived."""
    assert followed(MBARRIER, 2).clocks > 2 * COMPUTED


def clocks(warps):
    """Of a block whose warps but the last four load a word and wait for it; those compute."""
    lines = [
        "S2R R0, SR_TID.X", f"ISETP.GE.AND P0, PT, R0, {32 * (warps - 4):#x}, PT", "@P0 BRA `(.L_x_1)",
        "MOV R4, c[0x0][0x210]", "MOV R5, c[0x0][0x214]", "sets 0: LDG.E R6, desc[UR4][R4.64]",
        "waits 0: FADD R6, R6, R6", "EXIT", ".L_x_1:", *["FADD R9, R9, R9"] * COMPUTED, "EXIT",
    ]  # fmt: skip
    return followed(lines, warps).clocks


def followed(lines, warps, blocks=1):
    """The timeline of a cluster with the GPU to itself, each of whose blocks may load 4096 bytes."""
    across = {"grid": (blocks, 1, 1), "cluster": (blocks, 1, 1)}
    machine_code, words = code(*lines), launch([GlobalBuffer("x", 4096)], block=(32 * warps, 1, 1), **across)
    tracer = Tracer(machine_code, words, Constants.of(words, LAYOUT, {}), None)
    cluster = [[tracer.warp((place, 0, 0), number) for number in range(warps)] for place in range(blocks)]
    work = WorkCounter(machine_code, MACHINE).block(cluster[0])
    [found] = simulate_clusters(machine_code, MACHINE, words, [cluster], work, 4096)
    return found


OWN_MBARRIER = [
    "S2R R0, SR_CgaCtaId", "SHF.L.U32 R1, R0, 0x18, RZ", "IADD3 R1, PT, PT, R1, 0x400, RZ", "MOV R2, 0x1ffffe", "MOV R3, RZ",
    "STS.64 [R1], R2", "SYNCS.CCTL.IVALL", "R2UR UR4, R1",
]  # fmt: skip
WAITED_FOR = ["SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [R1], RZ", "EXIT"]


def multiplied(modifier, blocks, count=8):
    """Cycles of CTAs that each issue ``count`` MMAs of 256 x 256 x 16 and wait for them."""
    issued = [f"UTCHMMA{modifier} gdesc[UR6], gdesc[UR8], tmem[UR10], tmem[UR12], idesc[UR13], UPT"] * count
    lines = [
        *OWN_MBARRIER,
        f"UMOV UR13, {256 // 8 << 17 | 256 // 16 << 24:#x}",
        *issued,
        "UTCBAR [UR4], URZ",
        *WAITED_FOR,
    ]
    return followed(lines, 1, blocks).clocks


def test_a_pair_multiplies_with_both_tensor_pipes():
    """An MMA of 256 x 256 x 16 takes half as long as in one CTA, and the other CTA's MMAs wait for it."""
    one = 8 * 256 * 256 * 16 / MACHINE.rates.tensor["f16"]
    alone, pair, both = multiplied("", 1), multiplied(".2CTA", 1), multiplied(".2CTA", 2)
    assert abs(alone - pair - one / 2) < 1 and abs(both - alone) < 20


def test_word_to_another_block_takes_its_time():
    def arrived(other):
        place = [
            f"LOP3.LUT R4, R0, {other:#x}, RZ, 0x3c, !PT",
            "SHF.L.U32 R4, R4, 0x18, RZ",
            "IADD3 R4, PT, PT, R4, 0x400, RZ",
        ]
        return followed([*OWN_MBARRIER, *place, "SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R4], RZ", *WAITED_FOR], 1, 2).clocks

    assert arrived(1) - arrived(0) == CLUSTER_LATENCY


def test_a_warp_that_waits_leaves_its_scheduler_to_others():
    """A load takes longer than what the other warps of the same schedulers compute, and they compute in that time."""
    alone, beside = clocks(4), clocks(8)
    assert COMPUTED < alone < MACHINE.dram_latency < beside < MACHINE.dram_latency + COMPUTED / 2


def test_latencies_grow_with_the_load_of_memory():
    """To twice the idle ones where memory is busy all the time; each level with its own load."""
    idle = MemoryLoad().latency(MACHINE, 0.25)
    assert idle == 0.25 * MACHINE.dram_latency + 0.75 * MACHINE.l2_latency
    assert MemoryLoad(1.0, 1.0).latency(MACHINE, 0.25) == 2 * idle
    assert MemoryLoad(dram=0.5).latency(MACHINE, 1.0) == 1.25 * MACHINE.dram_latency
    assert MemoryLoad(dram=0.5).latency(MACHINE, 0.0) == MACHINE.l2_latency
