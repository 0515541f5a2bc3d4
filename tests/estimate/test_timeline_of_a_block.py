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


def clocks(warps):
    """Of a block whose warps but the last four load a word and wait for it; those compute."""
    lines = [
        "S2R R0, SR_TID.X", f"ISETP.GE.AND P0, PT, R0, {32 * (warps - 4):#x}, PT", "@P0 BRA `(.L_x_1)",
        "MOV R4, c[0x0][0x210]", "MOV R5, c[0x0][0x214]", "sets 0: LDG.E R6, desc[UR4][R4.64]",
        "waits 0: FADD R6, R6, R6", "EXIT", ".L_x_1:", *["FADD R9, R9, R9"] * COMPUTED, "EXIT",
    ]  # fmt: skip
    machine_code, told = code(*lines), launch([Buffer("x", 4096)], block=(32 * warps, 1, 1))
    tracer = Tracer(machine_code, told, Constants.of(told, LAYOUT, {}), None)
    block = [tracer.warp((0, 0, 0), number) for number in range(warps)]
    work = Accountant(machine_code, MACHINE, 1).block(block)
    [found] = follow_clusters(machine_code, MACHINE, told, [[block]], work, 4096)
    return found.clocks


def test_a_warp_that_waits_leaves_its_scheduler_to_others():
    """A load takes longer than what the other warps of the same schedulers compute, and they compute in that time."""
    alone, beside = clocks(4), clocks(8)
    assert COMPUTED < alone < MACHINE.dram_latency < beside < MACHINE.dram_latency + COMPUTED / 2
