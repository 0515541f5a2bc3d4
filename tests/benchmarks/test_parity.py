"""benchmarks/parity.py: what counts as worse than tileiras."""

import json
import sys
from pathlib import Path

import pytest

from tests.pipeline.test_variants import compiled
from tileiras_build.manifest.launch_manifest import read_launch_manifest
from tileiras_build.target.targets import find_target

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def parity(monkeypatch):
    """The program as its folder's scripts see it."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import parity

    yield parity
    for name in ("parity", "compile_speed", "recorded_launches"):
        sys.modules.pop(name, None)


def row(parity, ours, theirs):
    return parity.Row("k", "sm_90", ours and parity.Figures(*ours), theirs and parity.Figures(*theirs))


def test_slower_families_come_first_then_local_memory_then_clocks(parity):
    theirs = ("wgmma", 100, 0, 1000)
    rows = [
        row(parity, ("mma.sync", 100, 0, 500), theirs),
        row(parity, ("wgmma", 100, 9, 500), theirs),
        row(parity, ("wgmma", 100, 8, 1500), theirs),
        row(parity, ("wgmma", 100, 0, 900), theirs),
        row(parity, ("wgmma", 100, 0, 900), None),
    ]
    assert sorted(rows, key=lambda one: one.badness, reverse=True) == rows
    assert [row.ratio for row in rows] == [0.5, 0.5, 1.5, 0.9, None]


def test_cells_are_ours_and_theirs(parity):
    assert row(parity, ("wgmma", 100, 0, None), ("mma.sync", 90, 3, 7)).cells() == (
        "k", "sm_90", "wgmma / mma.sync", "100 / 90", "0 / 3", "- / 7", "-",
    )  # fmt: skip
    assert parity.Row("k", "sm_90", "mma-shape", None).cells()[2] == "mma-shape"


def test_the_summary_counts_each_fault(parity):
    slower, spilled = ("mma.sync", 100, 0, 2000), ("wgmma", 100, 9, 1000)
    rows = [row(parity, ours, ("wgmma", 100, 0, 1000)) for ours in (slower, spilled)]
    assert "2 compared with tileiras: 1 have a slower family, 1 more local memory, 1 more than" in parity._summary(rows)
    assert "Medians: 1.00 of its instructions, 1.50 of its clocks (2 kernels)" in parity._summary(rows)
    assert "0 compared with tileiras: 0 have" in parity._summary([])


def test_of_variants_the_one_counts_that_the_launch_takes(parity):
    made = compiled("matmul", "sm_90", stop_at="cubin")
    manifests = read_launch_manifest(made.manifest).kernels
    symbol, manifest, launch = parity._launched(parity.Kernel("files/matmul", b""), manifests, find_target("sm_90"))
    assert len(manifests) == 3 and symbol == "matmul__aligned__cluster2" and manifest is manifests[symbol]
    assert (parity._in_ctas(launch, manifest.cluster).grid, launch.cluster) == (parity.GUESSED_GRID, (2, 1, 1))
    taken, general = (parity._figures(made.cubin, name, None) for name in (symbol, "matmul"))
    assert taken.family == general.family == "wgmma" and taken.instructions != general.instructions


def test_all_takes_kernels_without_dots_too(parity, tmp_path):
    (tmp_path / "nothing.mlir").write_text("cuda_tile.module @m { entry @k() { return } }\n")
    assert not parity._read([tmp_path], False)
    assert len(parity._read([tmp_path], True)) == 1


def test_figures_of_tileiras_are_kept_for_all_forms(parity):
    known = json.loads(parity.PEER_FIGURES.read_text())
    from tests.emulated_kernels import cases

    assert {f"{name} {sm}" for name in cases(parity.FORMS) for sm in ("sm_90", "sm_100")} <= known.keys()
