"""Registers of agents: what setmaxnreg hands out comes from what the threads were launched with."""

import pytest

from tileiras_build.pipeline.tileaa_to_tileas.choose_warps import divided_registers

FILE, UNIT, FETCHING_WARPS = 65536, 8, 4


@pytest.mark.parametrize("warps", [8, 12, 16])
def test_agents_have_no_more_registers_than_the_kernel(warps):
    fetching, computing = divided_registers(warps)
    threads = 32 * (warps + FETCHING_WARPS)
    launched = FILE // threads // UNIT * UNIT
    taken = 32 * (FETCHING_WARPS * fetching + warps * computing)
    assert taken <= launched * threads < taken + 32 * warps * UNIT or computing == 240
    assert fetching < launched < computing and fetching % UNIT == computing % UNIT == 0


def test_two_warpgroups_that_compute_have_240():
    assert divided_registers(8) == [24, 240]
