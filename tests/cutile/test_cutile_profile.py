"""Profiles of kernels on the emulator: counts that follow from a kernel's shape."""

import json

import numpy as np
import pytest

import tileiras_build.cutile as hook
from tileiras_build.cutile.profile import Profile

ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")

from tests.cutile import faulty_kernels as kernels  # noqa: E402 - it imports cuTile

TILE, BLOCKS = kernels.TILE, 4


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_profile_counts_launches_bytes_and_sectors(jobs, tmp_path, capsys):
    profile, x = Profile(), np.zeros(BLOCKS * TILE + 64, np.float32)
    start = -x.__array_interface__["data"][0] % 128 // 4  # sectors are counted from aligned addresses
    aligned = x[start : start + BLOCKS * TILE]
    with hook.enabled("sm_90", device="cpu", profile=profile, jobs=jobs):
        ct.launch(0, (BLOCKS,), kernels.plus_one, (aligned, TILE))
        ct.launch(0, (BLOCKS,), kernels.plus_one, (aligned, TILE))
    profile.write(str(tmp_path / "profile.json"))
    assert "plus_one" in capsys.readouterr().err
    [row] = json.loads((tmp_path / "profile.json").read_text())["kernels"]
    assert (row["kernel"], row["launches"], row["blocks"]) == ("plus_one", 2, 2 * BLOCKS)
    size = 2 * BLOCKS * TILE * 4
    assert (row["global"]["read"], row["global"]["written"]) == (size, size)
    assert row["global"]["sectors"] == 2 * size // 32
    assert row["instructions"]["floating point"] >= 2 * BLOCKS * TILE and row["tensor_operations"] == 0


def test_kernels_of_several_kinds_of_arguments_have_numbers_in_the_table():
    profile = Profile()
    with hook.enabled("sm_90", device="cpu", profile=profile):
        for dtype in (np.float32, np.int32):
            ct.launch(0, (1,), kernels.plus_one, (np.zeros(TILE, dtype), TILE))
    first, second = (table.splitlines()[2:] for table in profile.table().split("\n\n"))
    assert [line.split("  ")[0] for line in (*first, *second)] == ["plus_one #1", "plus_one #2"] * 2
