"""Stage buffers that hold tiles at different times share bytes: results and races in the emulator, and what a proof refuses."""

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.emulated_kernels import run, scheduled_case
from tileiras_build.core.errors import InternalError
from tileiras_build.ir.casting import as_op
from tileiras_build.ir.dialects.op_traits import is_loop
from tileiras_build.pipeline.analysis import shared_memory_plan
from tileiras_build.pipeline.verifiers.shared_memory_allocation import verify_shared_memory_allocation

KERNELS = Path(__file__).with_name("overlapping_stages.py")
SMS, KIB = ("sm_90", "sm_100"), 1024


@pytest.fixture(autouse=True)
def _without_bytes(monkeypatch):
    """As if the GPU had too few bytes for stages side by side, whatever passes before have chosen."""
    monkeypatch.setattr(shared_memory_plan, "_fits", lambda plan, job: False)


def _rings(module: ModuleOp) -> list[tuple[int, int]]:
    """First and last KiB of each."""
    rings = [as_op(op) for op in module.walk() if op.name == "nv_tileas.alloc_tensor"]
    return [(op.shared_offset // KIB, (op.shared_offset + op.result.type.size_bytes) // KIB) for op in rings]


@pytest.mark.parametrize("sm", SMS)
def test_tiles_of_a_loop_start_where_those_of_the_one_before_did(sm):
    module = scheduled_case(KERNELS, "in_two_loops", sm)
    assert _rings(module) == [(0, 32), (32, 48), (0, 64), (64, 96)]
    assert verify_shared_memory_allocation(module) >= 0


@pytest.mark.parametrize("sm", SMS)
def test_tiles_of_a_loop_share_bytes_after_the_wait_for_an_mma(sm):
    module = scheduled_case(KERNELS, "in_one_loop", sm)
    assert _rings(module) == [(0, 16), (16, 24), (0, 16)]
    assert verify_shared_memory_allocation(module) >= 0


@pytest.mark.parametrize(("steps", "sm"), [(3, "sm_90"), (4, "sm_100")])
def test_results_of_two_loops(steps, sm):
    x, y, z = _values(128, 64 * steps), _values(64 * steps, 64), _values(128, 128)
    found = run(KERNELS, "in_two_loops", sm, [x, y, z, np.full((128, 64), np.nan, np.float32)])[3]
    x, y, z = (values.astype(np.float32) ** 2 for values in (x, y, z))
    np.testing.assert_array_equal(found, x @ y + z @ y[:128])


@pytest.mark.parametrize(("steps", "sm"), [(3, "sm_90"), (3, "sm_100")])
def test_results_of_one_loop(steps, sm):
    x, y, z = _values(128, 64 * steps), _values(64 * steps, 64), _values(64 * steps, 64)
    found = run(KERNELS, "in_one_loop", sm, [x, y, z, np.full((128, 64), np.nan, np.float32)])[3]
    left, right = (values.astype(np.float32) ** 2 for values in (x, y))
    parts = [slice(64 * step, 64 * step + 64) for step in range(steps)]
    want = sum(np.minimum(left[:, part] @ right[part], 9) @ (2 * z[part].astype(np.float32)) for part in parts)
    np.testing.assert_array_equal(found, want)


def test_a_missing_barrier_between_loops_is_noticed():
    """Of wgmma, each warpgroup waits for its own."""
    module = scheduled_case(KERNELS, "in_two_loops", "sm_90")
    [barrier] = [op for op in module.walk() if op.name == "nv_tileas.barrier" and is_loop(op.next_op)]
    barrier.detach()
    with pytest.raises(InternalError, match="may access a stage buffer while another one is written or read"):
        verify_shared_memory_allocation(module)


@pytest.mark.parametrize("sm", SMS)
def test_tiles_that_are_needed_at_once_are_noticed(sm):
    module = scheduled_case(KERNELS, "in_one_loop", sm)
    left, right, _ = [op for op in module.walk() if op.name == "nv_tileas.alloc_tensor"]
    right.attributes["shared_offset"] = left.attributes["shared_offset"]
    with pytest.raises(InternalError, match="stage buffer"):
        verify_shared_memory_allocation(module)


@pytest.mark.parametrize("sm", SMS)
def test_a_tile_that_is_read_again_is_noticed(sm):
    """The tile of the second dot is not written in the loop: the first one overwrites it."""
    module = scheduled_case(KERNELS, "in_one_loop", sm)
    ring = [op for op in module.walk() if op.name == "nv_tileas.alloc_tensor"][-1]
    [store] = [use.operation for use in ring.results[0].uses if use.operation.name == "nv_tileas.local_store"]
    store.detach()
    with pytest.raises(InternalError, match="overwrites the tile of another stage buffer that is read later"):
        verify_shared_memory_allocation(module)


def _values(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(rows + columns).integers(-2, 3, (rows, columns)).astype(np.float16)
