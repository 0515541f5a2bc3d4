"""Arrays beyond L2: the distinct tiles of each wave are read, so the order of tile blocks counts."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from tests.simulate.estimate.handwritten import LAYOUT, PARAMETER, code, launch
from tileiras_build.simulate.estimate.constant_bank_values import Constants, GlobalBuffer
from tileiras_build.simulate.estimate.l2_misses import reads_with_misses
from tileiras_build.simulate.estimate.performance_model import WorkCounter
from tileiras_build.simulate.estimate.trace_warps import Tracer
from tileiras_build.simulate.estimate.traced_sample import trace_sample
from tileiras_build.target.gpu_models import GPUS

TILE, SIDE, SMS = 512, 16, 16  # bytes of a tile, tiles of each operand, CTAs that run at once
MACHINE = replace(GPUS["rtx5090"], sm_count=SMS)
# A CTA's place among the tiles of both operands: R2 and R3.
ROW_MAJOR = ["S2R R2, SR_CTAID.X", "S2R R3, SR_CTAID.Y"]
SQUARES = [  # of four by four
    "S2R R0, SR_CTAID.X", "S2R R1, SR_CTAID.Y", "LOP3.LUT R2, R0, 0x3, RZ, 0xc0, !PT", "LOP3.LUT R3, R1, 0x3, RZ, 0xc0, !PT",
    "SHF.R.U32.HI R4, RZ, 0x2, R0", "LEA R3, R3, R4, 0x2", "LOP3.LUT R4, R1, 0xc, RZ, 0xc0, !PT", "IADD3 R2, PT, PT, R2, R4, RZ",
]  # fmt: skip
# A persistent kernel: CTA p takes the tiles p, p + 16, p + 32, …, of which each has a column and a row.
LOOP = ["S2R R0, SR_CTAID.X", ".L_x_0:", "LOP3.LUT R2, R0, 0xf, RZ, 0xc0, !PT", "SHF.R.U32.HI R3, RZ, 0x4, R0"]
NEXT = ["IADD3 R0, PT, PT, R0, 0x10, RZ", "ISETP.GE.AND P0, PT, R0, 0x100, PT", "@!P0 BRA `(.L_x_0)"]
UNKNOWN = ["S2R R2, SR_CTAID.X", "S2R R3, SR_CTAID.Y", "LDS R2, [R2]"]


def load(array, index, to):
    """Each lane loads 16 bytes of a tile."""
    low, high = (PARAMETER.format(LAYOUT.parameters + 8 * array + word) for word in (0, 4))
    return [
        f"LEA R8, R{index}, R10, 0x9", f"IADD3 R12, P0, PT, R8, {low}, RZ", f"IADD3.X R13, PT, PT, RZ, {high}, RZ, P0, !PT",
        f"LDG.E.128 R{to}, desc[UR4][R12.64]",
    ]  # fmt: skip


def read(place, capacity, after=(), **persistent):
    """Tiles from DRAM, where L2 holds ``capacity`` bytes."""
    lanes = ["S2R R10, SR_TID.X", "IMAD.SHL.U32 R10, R10, 0x10, RZ"]
    machine_code = code(*lanes, *place, *load(0, 2, 16), *load(1, 3, 20), *after, "EXIT")
    arrays = [GlobalBuffer(name, TILE * SIDE, "loaded") for name in "ab"]
    words = launch(arrays, **{"grid": (SIDE, SIDE, 1)} | persistent)
    sample = trace_sample(Tracer(machine_code, words, Constants.of(words, LAYOUT, {})), words)
    kernel = SimpleNamespace(code=machine_code, layout=LAYOUT, banks={})
    work = WorkCounter(machine_code, MACHINE).block(sample.clusters[0][0])
    return (
        reads_with_misses(kernel, replace(MACHINE, l2_size=capacity), words, 1, sample, work, 2.0 * TILE * SIDE) / TILE
    )


def test_arrays_that_l2_holds_are_read_once():
    assert read(ROW_MAJOR, 2 * TILE * SIDE) == 2 * SIDE


def test_a_wave_reads_each_tile_once():
    """A row of CTAs reads 16 tiles and one, a square four and four; a small L2 keeps nothing between waves."""
    assert round(read(ROW_MAJOR, 1)) == SIDE * (SIDE + 1)
    assert round(read(SQUARES, 1)) == SIDE * (4 + 4)


def test_the_next_wave_finds_what_l2_has_kept():
    """Rows share all tiles of one operand, whose wave fits; squares share half of their tiles."""
    assert 2 * SIDE <= read(ROW_MAJOR, 17 * TILE) < 3 * SIDE
    assert 2 * SIDE < read(SQUARES, 8 * TILE) <= 4 * SIDE + 4


def test_what_a_cta_reads_again_is_read_once():
    """It has its own tile still."""
    assert read(ROW_MAJOR, 1, load(0, 2, 24)) == read(ROW_MAJOR, 1)


def test_ctas_that_begin_along_one_line_share_what_is_left_of_it():
    """CTA x reads three tiles from its own on, two of which the next one reads, too: 16 and two; and three times one."""
    begin = ["S2R R2, SR_CTAID.Y", "S2R R3, SR_CTAID.X", "IADD3 R4, PT, PT, R3, 0x3, RZ", ".L_x_0:"]
    after = ["IADD3 R3, PT, PT, R3, 0x1, RZ", "ISETP.GE.AND P0, PT, R3, R4, PT", "@!P0 BRA `(.L_x_0)"]
    assert round(read(begin, 1, after)) == SIDE * (SIDE + 2 + 3)


def test_loads_at_unknown_places_are_read_once():
    """Of the other operand a wave reads one tile, and so do all waves."""
    assert read(UNKNOWN, 1) == 2 * SIDE


def test_waves_of_a_persistent_kernel():
    """Each reads a row of tiles, and what the next wave finds is what it finds without a loop."""
    for capacity in (1, 17 * TILE):
        looped = read(LOOP, capacity, NEXT, grid=(SMS, 1, 1), tile_programs=SIDE * SIDE)
        assert round(looped) == round(read(ROW_MAJOR, capacity))
