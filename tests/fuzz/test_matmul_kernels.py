"""Random cuTile kernels of matmuls compute what NumPy reads in their source.

``benchmarks/matmul_fuzz.py`` runs many more of them.
"""

from functools import partial

import pytest

from tests.fuzz.block_scaled_kernels import random_scaled_kernel
from tests.fuzz.branching_kernels import random_branches
from tests.fuzz.compare_matmuls import compare_kernel
from tests.fuzz.loop_kernels import random_loops
from tests.fuzz.matmul_kernels import random_kernel
from tests.fuzz.verify_matmul_passes import prove_kernel

TARGETS = ("sm_80", "sm_90", "sm_100", "sm_120")


@pytest.mark.parametrize("seed", range(4))
def test_random_matmuls_are_right(seed, tmp_path):
    """Each on two targets in turn."""
    targets = TARGETS[seed % 4], TARGETS[(seed + 2) % 4]
    assert list(map(str, compare_kernel(random_kernel(seed), targets, tmp_path, races=True))) == []


@pytest.mark.parametrize("seed", [5004, 5013, 5074])
def test_random_block_scaled_matmuls_are_right(seed, tmp_path):
    assert list(map(str, compare_kernel(random_scaled_kernel(seed), ("sm_100",), tmp_path, races=True))) == []


@pytest.mark.parametrize("seed", [5004, 5009])
def test_passes_of_random_block_scaled_matmuls_are_verified(seed, tmp_path):
    assert list(map(str, prove_kernel(random_scaled_kernel(seed), ("sm_100",), tmp_path))) == []


@pytest.mark.parametrize("seed", [9, 10])
def test_passes_of_random_matmuls_are_verified(seed, tmp_path):
    assert list(map(str, prove_kernel(random_kernel(seed), ("sm_90", "sm_100"), tmp_path))) == []


def test_scratch_takes_what_rings_leave(tmp_path):
    """Two accumulators that change their layout between two loops whose rings fill shared memory."""
    assert list(map(str, prove_kernel(random_kernel(97153), ("sm_100",), tmp_path))) == []


@pytest.mark.parametrize("seed", [1, 2])
def test_matmuls_in_loops_of_every_kind_are_right(seed, tmp_path):
    """Each on two targets in turn."""
    targets = TARGETS[seed % 4], TARGETS[(seed + 1) % 4]
    assert list(map(str, compare_kernel(random_loops(seed).tuned(), targets, tmp_path, races=True))) == []


@pytest.mark.parametrize(
    ("seed", "target"), [(14, "sm_100"), (39, "sm_100"), (0, "sm_90"), (2, "sm_80"), (5, "sm_120")]
)
def test_matmuls_between_returns_and_branches_are_right(seed, target, tmp_path):
    assert list(map(str, compare_kernel(random_branches(seed), (target,), tmp_path, races=True))) == []


def test_a_kernel_is_compiled_at_a_level():
    """Its other hints stay."""
    kernel = random_branches(3)
    assert kernel.source.endswith("kernel = ct.kernel(num_ctas=2)(body)\n")
    at_each = [kernel.at_level(level).source.splitlines()[-1] for level in (0, 3)]
    assert at_each == [f"kernel = ct.kernel(num_ctas=2, opt_level={level})(body)" for level in (0, 3)]
    assert kernel.at_level(0).at_level(3).source == kernel.at_level(3).source


def test_failed_verification_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "tileiras_build.pipeline.tileaa_to_tileas.hoist_async_mma_issue._load_completes_before",
        lambda loads, position: True,
    )
    found = prove_kernel(random_kernel(95174, large=True), ("sm_100",), tmp_path)
    assert [one.target for one in found] == ["sm_100"]


def test_a_seed_has_one_kernel():
    assert random_kernel(3).source == random_kernel(3).source != random_kernel(4).source


def test_a_wrong_value_is_reported(tmp_path, monkeypatch):
    kernel = random_kernel(5)
    monkeypatch.setattr("tests.fuzz.numpy_tiles._mma", lambda left, right, total: total)
    assert any("elements of" in str(one) for one in compare_kernel(kernel, ("sm_90",), tmp_path))


@pytest.mark.parametrize(
    ("make", "seed", "target"),
    [
        (random_loops, 1200322, "sm_100"),
        (partial(random_kernel, large=True), 1300016, "sm_100"),
        (partial(random_kernel, large=True), 1300041, "sm_90"),
    ],
)
def test_tiles_at_different_times_share_the_bytes_that_a_gpu_has(make, seed, target, tmp_path):
    assert list(map(str, compare_kernel(make(seed), (target,), tmp_path, races=True))) == []


def test_left_operands_that_tensor_memory_cannot_hold_stay_in_shared_memory(tmp_path):
    """A left operand of 64 rows beside others that leave no columns."""
    assert list(map(str, compare_kernel(random_kernel(1301000, large=True), ("sm_100",), tmp_path, races=True))) == []


def test_a_loop_goes_on_with_what_another_family_has_added(tmp_path):
    """Of the loop before, tensor memory has a part of the dots that are added: the loop was erased as the read of its accumulator."""
    assert list(map(str, compare_kernel(random_loops(20001), ("sm_100",), tmp_path, races=True))) == []


def test_columns_of_a_chain_whose_last_dots_accumulate_elsewhere(tmp_path):
    """The first one continues the accumulator of the loop before, but in columns of its own."""
    assert list(map(str, prove_kernel(random_loops(1600478), ("sm_100",), tmp_path))) == []
