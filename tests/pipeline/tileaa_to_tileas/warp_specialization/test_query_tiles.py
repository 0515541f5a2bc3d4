"""Tiles of 256 query rows on sm_100: halves with issuers and warpgroups of their own share keys and values; right results, no races."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, i32

from tests.emulated_kernels import aligned, assembled, cases, compiled, run
from tests.pipeline.tileaa_to_tileas.partition_orders import shuffle_partitions
from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.driver import lower
from tileiras_build.frontend.export_cutile import pack_arguments
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.tile_ir_text_format import parse, render
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines
from tileiras_build.simulate import emulator
from tileiras_build.target.targets import find_target

KERNELS = Path(__file__).parents[1] / "rotated_dots.py"
KEY_KERNELS = Path(__file__).parents[4] / "benchmarks" / "key_kernels.py"
NAMES = ("squared_persistent_tall", "in_two_loops_tall")
WIDTH = 64
ONE, TWO = '{"schedule": {"query_tiles": 1}}', '{"schedule": {"query_tiles": 2}}'


def at_once(name="weighted_tall"):
    """Its halves at once, also where the model does not prefer that."""
    return compiled(KERNELS, name, "sm_100", schedule=TWO)


def module_of(name="weighted_tall"):
    return parse(at_once(name).tileas.encode())


def operands(rows, keys):
    """Small integers, so that every result is exact in any order."""
    rng = np.random.default_rng(rows + keys)
    q, k, v = (rng.integers(-1, 2, (count, WIDTH)).astype(np.float16) for count in (rows, keys, keys))
    return [q, k, v, np.full((rows, WIDTH), np.nan, np.float32)]


def expected(name, q, k, v):
    """Later keys count twice in the second of two loops."""
    weights = (q.astype(np.float64) @ k.T) ** 2
    if name.startswith("in_two_loops"):
        weights[:, len(k) // (2 * WIDTH) * WIDTH :] *= 2
    return weights @ v


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("name", NAMES)
def test_results(name, seed, monkeypatch):
    """Two blocks of rows, and an odd number of tiles of keys."""
    if seed is not None:
        shuffle_partitions(monkeypatch, seed)
    q, k, v, out = operands(512, 5 * WIDTH)
    blocks = 1 if name.startswith("squared_persistent") else 2
    found = run(KERNELS, name, "sm_100", [q, k, v, out], (blocks, 1, 1), schedule=TWO)[3]
    np.testing.assert_array_equal(found, expected(name, q, k, v))


@pytest.mark.parametrize("name", ["weighted_tall", *NAMES])
def test_partitions_agree(name):
    assert verify_pipelines(module_of(name)) > 0


def test_both_halves_read_the_same_stages():
    """One load of each tile; a stage is empty after the commits of both issuers."""
    text = at_once().tileas
    assert "issuers = 2 : i32" in text and text.count("nv_tileas.async.tiled_tma_load") == 3
    assert re.findall(r"rows = array<i64: (\d, \d)>", text) == ["0, 2"] * 3 + ["1, 2"] * 3
    pipelines = [op for op in parse(text.encode()).walk() if op.name.endswith("pipeline.create")]
    assert [op.consumers for op in pipelines if op.bytes] == [2, 2, 2]


def test_a_schedule_may_ask_for_halves_one_after_the_other():
    text = compiled(KERNELS, "squared_persistent_tall", "sm_100", schedule=ONE).tileas
    assert "query_tiles = 1 : i32" in text and "occupancy = 2 : i32" in text and "issuers" not in text
    with pytest.raises(InvalidInput, match="schedule-refused.*256 rows"):
        assert compiled(KERNELS, "weighted", "sm_100", schedule=TWO).ptx


def test_persistent_kernels_and_cheaper_ones_compute_halves_at_once():
    """One CTA may have an SM to itself; wide heads are bound by the shared memory that copies of keys and values take."""
    assert "query_tiles = 2 : i32" in compiled(KERNELS, "squared_persistent_tall", "sm_100").tileas
    assert "query_tiles = 2 : i32" in compiled(KEY_KERNELS, "attention_f16_256x128", "sm_100").tileas
    assert "query_tiles = 1 : i32" in compiled(KERNELS, "weighted_tall", "sm_100").tileas


def test_nothing_is_spilled():
    resources = assembled(KERNELS, "weighted_tall", "sm_100", schedule=TWO).manifest["kernels"]["weighted_tall"][
        "resources"
    ]
    assert resources["spill_stores"] + resources["spill_loads"] == 0


def test_a_stage_that_one_commit_releases_is_refused():
    module = module_of()
    [*_, shared] = [op for op in module.walk() if op.name.endswith("pipeline.create") and op.consumers == 2]
    shared.attributes["consumers"] = IntegerAttr(1, i32)
    with pytest.raises(InternalError, match="partitions release a stage"):
        verify_pipelines(module)


def test_a_half_that_waits_for_fewer_tiles_is_refused():
    module = module_of()
    [switch] = [op for op in module.walk() if op.name == "nv_tileas.agent_switch"]
    [loop] = [op for op in switch.regions[2].walk() if op.name == "nv_tileas.for"]
    loop.operands[1] = loop.operands[0]
    with pytest.raises(InternalError, match="one partition waits for|0 items are acquired"):
        verify_pipelines(module)


def test_the_emulator_sees_a_result_that_overwrites_what_the_other_half_reads():
    """Results pass through shared memory of the stages, so both halves wait for each other first."""
    artifacts, module = at_once(), module_of()
    wait = [op for op in module.walk() if op.name.endswith("consumer_wait")][-1]
    assert wait.next_op.name == "nv_tileas.barrier"
    wait.next_op.detach()
    ptx = lower(render(module), "tileas", "ptx", Job(find_target("sm_100")))[".ptx"].decode()
    values = [aligned(value) for value in operands(256, 5 * WIDTH)]
    memory = emulator.Memory()
    for value in values:
        memory.map(value.ctypes.data, value.nbytes)
    changed = SimpleNamespace(ptx=ptx, manifest=artifacts.manifest)
    parameters = pack_arguments(cases(KERNELS)["weighted_tall"], values)
    with pytest.raises(emulator.EmulatorFault, match="race on shared byte"):
        emulator.launch(changed, "weighted_tall", (1, 1, 1), parameters, memory=memory, check_races=True)
