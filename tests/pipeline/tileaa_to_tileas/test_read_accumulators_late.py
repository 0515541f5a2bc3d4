"""Accumulators that the next iteration reads: where, and correct results without races, for loops of no trips, too."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import run, scheduled_case
from tileiras_build.core.errors import InternalError
from tileiras_build.ir.casting import as_op
from tileiras_build.ir.dialects.fast_xdsl import walk
from tileiras_build.ir.dialects.nv_tileas.ops import BarrierOp, TmemLoadOp, TmemStoreOp, UmmaCommitOp
from tileiras_build.ir.dialects.op_traits import is_agent_switch, is_counted_loop
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

KERNELS = Path(__file__).with_name("read_accumulators_late.py")


def matrix(rows, columns, seed):
    return np.random.default_rng(seed).integers(-1, 2, (rows, columns)).astype(np.float16)


def reference(q, k, begin, times=1):
    total, beyond, most = np.zeros((512, 16)), np.zeros((128, 16)), np.zeros(16)
    for first in [*range(128 * begin, len(k), 128)] * times:
        tile = np.zeros((128, 512))
        tile[: len(k) - first] = k[first : first + 128]
        scores = tile @ q
        beyond += np.maximum(scores - most, 0)
        most = np.maximum(most, scores.max(axis=0))
        total = total / 2 + tile.T @ np.maximum(scores, 0)
    return total, beyond


@pytest.mark.parametrize("sm", ["sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("name", ["halved", "by_more_warps"])
@pytest.mark.parametrize(("begin", "rows"), [(0, 100), (0, 300), (2, 200), (2, 300)])
def test_halved(name, begin, rows, sm):
    q, k = matrix(512, 16, 1), matrix(rows, 512, 2)
    outputs = [np.full(shape, np.nan, np.float32) for shape in ((512, 16), (128, 16))]
    *_, total, beyond = run(KERNELS, f"{name}_from_{begin}", sm, [q, k, *outputs])
    wanted = reference(q.astype(np.float64), k.astype(np.float64), begin)
    np.testing.assert_array_equal(total, wanted[0])
    np.testing.assert_array_equal(beyond, wanted[1])


@pytest.mark.parametrize("rows", [100, 200, 300])
def test_loop_that_runs_again(rows):
    """All threads have waited behind it before a commit in front of it completes the next phase."""
    q, k = matrix(512, 16, 1), matrix(rows, 512, 2)
    outputs = [np.full(shape, np.nan, np.float32) for shape in ((512, 16), (128, 16))]
    *_, total, beyond = run(KERNELS, "repeated", "sm_100", [q, k, *outputs])
    wanted = reference(q.astype(np.float64), k.astype(np.float64), 1, times=3)
    np.testing.assert_array_equal(beyond, wanted[1])
    np.testing.assert_allclose(total, wanted[0], rtol=1e-6)


def test_verifier_of_a_loop_that_runs_again():
    module = scheduled_case(KERNELS, "repeated", "sm_100")
    assert verify_pipelines(module) > 0
    [commit] = [op for op in walk(module) if isinstance(op, UmmaCommitOp) and isinstance(op.prev_op, BarrierOp)]
    commit.prev_op.detach()
    with pytest.raises(InternalError, match="item 1 may be filled while other threads wait for item 0"):
        verify_pipelines(module)


@pytest.mark.parametrize("name", ["halved", "by_more_warps"])
def test_reads_stand_before_their_uses(name):
    module = scheduled_case(KERNELS, f"{name}_from_0", "sm_100")
    [switch] = filter(is_agent_switch, walk(module))
    loop = next(as_op(op) for op in as_op(switch).regions[-1].blocks[0].ops if is_counted_loop(op))
    [store] = [as_op(op) for op in loop.regions[0].blocks[0].ops if is_store_of(op, 64)]
    [read, behind] = [op for op in walk(switch) if isinstance(op, TmemLoadOp) and op.operands[0] is store.operands[1]]
    assert read.parent is store.parent and read.is_before_in_block(store)
    assert behind.parent is loop.parent and loop.is_before_in_block(behind)
    assert all(result.type != read.results[0].type for result in loop.results)
    [first] = [op for op in loop.parent.ops if isinstance(op, UmmaCommitOp)]
    assert first.is_before_in_block(loop)
    assert verify_pipelines(module) > 0


def is_store_of(op, columns):
    return isinstance(op, TmemStoreOp) and as_op(op).operands[1].type.columns.data == columns
