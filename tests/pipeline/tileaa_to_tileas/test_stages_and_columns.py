"""What shared memory or tensor memory does not hold is computed in another way: no such kernel is refused."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case, scheduled_kernel
from tileiras_build.ir.casting import as_op
from tileiras_build.ir.dialects.fast_xdsl import walk
from tileiras_build.pipeline.analysis.enclosing_control_flow import enclosing_loops
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

KERNELS = Path(__file__).with_name("stages_and_columns.py")


def random_arrays(*shapes, dtype=np.float32):
    rng = np.random.default_rng(1)
    return [rng.integers(-2, 3, shape).astype(dtype) for shape in shapes]


def launched(name, sm, arrays, shape):
    out = run(KERNELS, name, sm, [*arrays, np.zeros(shape, np.float32)])[-1]
    verify_pipelines(scheduled_case(KERNELS, name, sm))
    return out


@pytest.mark.parametrize("sm", ["sm_90", "sm_120"])
def test_a_dot_between_two_loops(sm):
    arrays = random_arrays((128, 128), (32, 128), (128, 64), (64, 32), (128, 128), (128, 32))
    a, b, c, d, e, f = arrays
    found = launched("in_three_places", sm, arrays, (128, 32))
    np.testing.assert_array_equal(found, a @ b.T + c @ d + e.T @ f)


def test_operands_that_threads_transpose_from_stages():
    arrays = random_arrays((128, 128), (64, 64), (128, 128), (128, 128), (128, 128), (128, 128))
    a, b, c, d, e, f = arrays
    found = launched("transposed", "sm_90", arrays, (128, 128))
    np.testing.assert_array_equal(found, (a[:, :64] + a[:, 64:]) @ b @ np.ones((64, 128)) + c @ d + e @ f)


def test_dots_that_add_to_one_accumulator_up_to_another_instruction():
    arrays = random_arrays((64, 64), (64, 256), (64, 256), (64, 128), (128, 256), dtype=np.float16)
    a, b, c, d, e = (array.astype(np.float32) for array in arrays)
    signs = sum((a[:, k : k + 32] @ d[k : k + 32] > 0).astype(np.float32) @ e for k in (0, 32))
    found = launched("interrupted", "sm_100", arrays, (64, 256))
    np.testing.assert_array_equal(found, a @ b + abs(a) @ c + signs)


@pytest.mark.parametrize("sm, mma", [("sm_90", "wgmma.mma_async"), ("sm_100", "tcgen05.mma")])
def test_the_first_dots_of_more_than_shared_memory_has_space_for(sm, mma):
    """They read the state there; the others read fragments."""
    rng = np.random.default_rng(1)
    arrays = [rng.integers(-1, 2, (128, 128)).astype(np.float32) / 16 for _ in range(3)]
    w, k, v = (array.reshape(2, 64, 128) for array in arrays)
    state, expected = np.zeros((128, 128), np.float32), []
    for step in range(2):
        new = v[step] - w[step] @ state
        expected.append(w[step] @ k[step].T @ new + 2 * k[step] @ state)
        state += 4 * k[step].T @ new
    found = launched("carried_state", sm, arrays, (128, 128))
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=5e-3, atol=5e-3)
    ptx = compiled(KERNELS, "carried_state", sm).ptx
    assert mma in ptx and "mma.sync" in ptx


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_dots_beside_operands_that_threads_compute(sm):
    arrays = random_arrays((5, 64, 256), (5, 256, 128), (2, 256), dtype=np.float16)
    a, b, scale = (array.astype(np.float32) for array in arrays)
    b[:2] *= scale[:, :, None]
    parts = [a[:, :, k : k + 128] @ b[:, k : k + 128] for k in (0, 128)]
    found = launched("scaled", sm, arrays, (64, 128))
    np.testing.assert_array_equal(found, np.maximum(parts, 0).sum(axis=(0, 1)))


@pytest.mark.parametrize("name, stages, pending", [("rounded_32", 4, 1), ("rounded_64", 2, 0)])
def test_a_dot_of_two_stages_releases_its_own_where_threads_compute_an_operand(name, stages, pending):
    """The stage before would be free only when they have computed the next operand, and TMA would load nothing meanwhile."""
    tileas = compiled(KERNELS, name, "sm_90").tileas
    assert f"!nv_tileas.pipeline<#builtin.int<{stages}>>" in tileas
    assert re.findall(r"async.dot .* pending = (\d)", tileas) == [str(pending)]
    a, b = random_arrays((128, 192), (192, 32))
    found = launched(name, "sm_90", [a, b.astype(np.float16)], (128, 32))
    np.testing.assert_array_equal(found, a @ b)


def test_a_transposed_operand_from_before_the_loops_is_written_there():
    a, b = random_arrays((128, 128), (64, 64), dtype=np.float16)
    kernel = scheduled_kernel(KERNELS, "kept", "sm_90")
    stores = [op for op in walk(kernel) if op.name == "nv_tileas.local_store"]
    assert [len(list(enclosing_loops(as_op(op)))) for op in stores] == [0]
    parts = [a[m : m + 64, k : k + 64].astype(np.float32) @ b.T.astype(np.float32) for m in (0, 64) for k in (0, 64)]
    np.testing.assert_array_equal(
        launched("kept", "sm_90", [a, b], (64, 64)), sum(np.maximum(part, 0) for part in parts)
    )
