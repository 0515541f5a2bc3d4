"""estimate/timeline.py: what warps of one scheduler do while one of them waits."""

from tests.estimate.handwritten import LAYOUT, code, launch
from tileiras_build.estimate.launch import Buffer, Constants
from tileiras_build.estimate.machines import machine_of
from tileiras_build.estimate.timeline import follow_clusters
from tileiras_build.estimate.trace import Tracer
from tileiras_build.estimate.work import Accountant
from tileiras_build.targets import find_target

MACHINE = machine_of(find_target("90"))
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


def followed(lines, warps):
    """The timeline of a block with the GPU to itself, which may load 4096 bytes."""
    machine_code, told = code(*lines), launch([Buffer("x", 4096)], block=(32 * warps, 1, 1))
    tracer = Tracer(machine_code, told, Constants.of(told, LAYOUT, {}), None)
    block = [tracer.warp((0, 0, 0), number) for number in range(warps)]
    work = Accountant(machine_code, MACHINE, 1).block(block)
    [found] = follow_clusters(machine_code, MACHINE, told, [[block]], work, 4096)
    return found


def test_a_warp_that_waits_leaves_its_scheduler_to_others():
    """A load takes longer than what the other warps of the same schedulers compute, and they compute in that time."""
    alone, beside = clocks(4), clocks(8)
    assert COMPUTED < alone < MACHINE.dram_latency < beside < MACHINE.dram_latency + COMPUTED / 2
