"""Tiles that all CTAs of a cluster need: each loads a share for all, where the target does that at full speed."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.emulated_kernels import aligned, cases, compiled, disassembled
from tileiras_build.core.errors import InternalError
from tileiras_build.driver import lower
from tileiras_build.frontend.export_cutile import pack_arguments
from tileiras_build.manifest.ptx_manifest import manifest_of_ptx
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines
from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator import EmulatorFault
from tileiras_build.target.targets import TARGETS

KERNELS = Path(__file__).with_name("cluster_kernels.py")


def loads(name, sm):
    """(dimension shared or None, box, fastest dimension first) of the loads, in the order of the program."""
    text = compiled(KERNELS, name, sm).tileas
    boxes = dict(re.findall(r"(%\d+) = nv_tileas.make_tiled_tma_desc .*?box = array<i64: ([\d, ]*)>", text))
    found = re.findall(
        r"tiled_tma_load %\d+, (%\d+), .*? \{(?:index_checks = array<.*?>, )?(?:multicast = (\d) : i32)?", text
    )
    return [(int(dim) if dim else None, [int(extent) for extent in boxes[desc].split(",")]) for desc, dim in found]


@pytest.mark.parametrize(
    ("name", "sm", "expected"),
    [
        ("matmul_2", "sm_90", [(None, [32, 64]), (0, [64, 16])]),  # rows of 128 bytes: 16 of 32 for each CTA
        ("matmul_4", "sm_100", [(0, [32, 32]), (None, [16, 32])]),  # by columns: 128 rows must stay together
        ("matmul_tall_2", "sm_90", [(None, [64, 128]), (0, [64, 32])]),
        ("matmul_tall_4", "sm_90", [(None, [64, 64]), (0, [64, 16])]),
        ("matmul_wide_2", "sm_90", [(None, [64, 64]), (1, [64, 64])]),  # two boxes, one for each CTA
        ("matmul_wide_4", "sm_90", [(0, [64, 32]), (None, [32, 64])]),
        ("matmul_2", "sm_120", [(None, [32, 64]), (None, [64, 32])]),
    ],
)
def test_what_each_cta_loads(name, sm, expected):
    assert loads(name, sm) == expected


MULTICASTING = {"sm_90": "matmul_2", "sm_100": "matmul_4"}  # two CTAs of sm_100 would be a pair


@pytest.mark.parametrize(
    ("name", "sm"), [("matmul_4", "sm_90"), ("matmul_wide_4", "sm_100"), ("persistent_4", "sm_90")]
)
def test_the_machine_code_multicasts(name, sm):
    text = disassembled(KERNELS, name, sm)
    assert "UTMALDG.2D.MULTICAST" in text and ("UTCBAR.MULTICAST" in text) == (sm == "sm_100")


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_no_cta_ends_before_others_have_released_its_stages(sm):
    """The producer waits for them; no barrier of the cluster follows, whose release would be a fence of the whole GPU."""
    artifacts = compiled(KERNELS, MULTICASTING[sm], sm)
    text, ptx = artifacts.tileas, artifacts.ptx
    assert ptx.count("barrier.cluster.arrive") == ptx.count("barrier.cluster.arrive.relaxed") == 1
    early, count = re.subn(r".*producer_tail.*\n", "", text)
    assert count == 1 and launch(text, sm)
    with pytest.raises(InternalError, match="no partition waits for the last of them"):
        verify_pipelines(parse(early.encode()))
    with pytest.raises(EmulatorFault, match="may have exited before|exits before this arrives"):
        launch(early, sm)


def test_without_shared_loads_there_is_no_cluster_barrier():
    assert "barrier.cluster" not in compiled(KERNELS, "matmul_2", "sm_120").ptx
    assert "barrier.cluster" not in compiled(KERNELS, "rows_normalized_2", "sm_90").ptx


def launch(text, sm):
    """Run the matmul, from its .tileas, for a loop longer than the ring; whether the result is right."""
    name = MULTICASTING[sm]
    ptx = lower(text.encode(), "tileas", "ptx", Job(TARGETS[sm]))[".ptx"].decode()
    artifacts = SimpleNamespace(ptx=ptx, manifest=manifest_of_ptx(ptx))
    rng = np.random.default_rng(3)
    a, b = (aligned(rng.integers(-3, 4, shape).astype(np.float16)) for shape in ((128, 32 * 20), (32 * 20, 64)))
    out, memory = aligned(np.zeros((128, 64), np.float32)), emulator.Memory()
    for array in (a, b, out):
        memory.map(array.ctypes.data, array.nbytes)
    parameters = pack_arguments(cases(KERNELS)[name], [a, b, out])
    emulator.launch(artifacts, name, (1, 1, 1), parameters, memory=memory, check_races=True)
    return np.array_equal(out, a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_a_stage_that_only_the_own_warps_empty_is_a_race(sm):
    text = compiled(KERNELS, MULTICASTING[sm], sm).tileas
    assert launch(text, sm)
    with pytest.raises(EmulatorFault, match="race|happen|has started"):
        launch(re.sub(r", ctas = \d : i32", "", text), sm)
