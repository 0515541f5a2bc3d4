"""Threads write operands for a warp that issues the MMAs, as many iterations ahead as there are stages: correct results and no race."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import run, scheduled_case, scheduled_kernel
from tileiras_build.core.errors import InternalError
from tileiras_build.ir.casting import as_op, defining_op
from tileiras_build.ir.dialects.fast_xdsl import walk
from tileiras_build.ir.dialects.nv_tileas.ops import (
    AsyncTiledTmaLoadOp,
    BarrierOp,
    ConsumerWaitOp,
    CreatePipelineOp,
    LocalStoreOp,
    ProducerCommitOp,
    TmemStoreOp,
)
from tileiras_build.ir.dialects.nv_tileas.types import PipelineType, TmemType
from tileiras_build.ir.dialects.op_traits import is_agent_switch, is_async_mma, is_loop
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

KERNELS = Path(__file__).with_name("written_ahead.py")
NAMES = ("weighted", "planes", "halves", "groups")
STEPS = [0, 1, 2, 9]  # more than there are stages


def matrix(rng, rows, columns, dtype=np.float16):
    """An empty one has the strides of one that is not."""
    return rng.integers(-2, 3, (rows or 1, columns or 64)).astype(dtype)[:rows, :columns]


def nothing(rows, columns):
    return np.full((rows, columns), np.nan, np.float32)


@pytest.mark.parametrize("name", NAMES)
def test_warps_arrive_for_as_many_iterations_as_there_are_stages(name):
    [switch] = filter(is_agent_switch, walk(scheduled_kernel(KERNELS, name, "sm_100")))
    _, issuer, consumer = switch.regions
    loop = [op for op in walk(consumer) if is_loop(op)][-1]
    assert any(map(is_async_mma, walk(issuer))) and not any(map(is_async_mma, walk(consumer)))
    assert any(isinstance(op, LocalStoreOp | TmemStoreOp) for op in walk(loop)) and not any(
        isinstance(op, BarrierOp) for op in walk(loop)
    )
    loads = [op for op in walk(switch) if isinstance(op, AsyncTiledTmaLoadOp) and is_loop(op.parent_op())]
    arrivals = [as_op(op).pipeline for op in walk(loop) if isinstance(op, ProducerCommitOp)]
    assert arrivals and {as_op(load).pipeline.type for load in loads} >= {pipeline.type for pipeline in arrivals}
    assert all(pipeline.type.stages.data > 1 for pipeline in arrivals)


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_threads_write_an_operand_of_several_dots_once(sm):
    """The higher part of the rows is for the last two of three, of which the other one shares no tile with the first."""
    [switch] = filter(is_agent_switch, walk(scheduled_kernel(KERNELS, "halves", sm)))
    loop = [op for op in walk(switch.regions[-1]) if is_loop(op)][-1]
    assert len([op for op in walk(loop) if isinstance(op, LocalStoreOp | TmemStoreOp)]) == 4


@pytest.mark.parametrize(("name", "count"), [("planes", 1), ("halves", 2)])
def test_left_operands_have_stages_in_tensor_memory(name, count):
    [switch] = filter(is_agent_switch, walk(scheduled_kernel(KERNELS, name, "sm_100")))
    loop = [op for op in walk(switch.regions[-1]) if is_loop(op)][-1]
    stores = [as_op(op) for op in walk(loop) if isinstance(op, TmemStoreOp)]
    dots = [as_op(op) for op in walk(switch) if is_async_mma(op)]
    assert len(stores) == count and all(store.stage is not None for store in stores)
    assert {store.dest for store in stores} == {dot.lhs for dot in dots if isinstance(dot.lhs.type, TmemType)}


@pytest.mark.parametrize("name", NAMES)
def test_verifier_of_pipelines(name):
    assert verify_pipelines(scheduled_case(KERNELS, name, "sm_100")) > 0


def test_verifier_refuses_arrivals_further_ahead_than_the_issuer_waits():
    """With one stage, warps would arrive again before the issuer has waited for their last arrival."""
    module = scheduled_case(KERNELS, "weighted", "sm_100")
    [arrival] = [as_op(op) for op in walk(module) if isinstance(op, ProducerCommitOp)]
    created = defining_op(arrival.pipeline)
    assert isinstance(created, CreatePipelineOp)
    created.results[0]._type = PipelineType.new([created.results[0].type.stages.__class__(1)])
    with pytest.raises(InternalError, match="pipeline-verifier"):
        verify_pipelines(module)


@pytest.mark.parametrize("kind", [LocalStoreOp, ConsumerWaitOp])
def test_verifier_refuses_an_operand_that_is_written_and_a_wait_behind_the_arrival(kind):
    module = scheduled_case(KERNELS, "weighted", "sm_100")
    [arrival] = [op for op in walk(module) if isinstance(op, ProducerCommitOp)]
    [moved] = [op for op in arrival.parent.ops if isinstance(op, kind)]
    moved.detach()
    arrival.parent.insert_op_after(moved, arrival)
    with pytest.raises(InternalError, match="pipeline-verifier"):
        verify_pipelines(module)


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
@pytest.mark.parametrize("steps", STEPS)
def test_weights_with_scales(sm, steps):
    rng = np.random.default_rng(steps)
    x, w = matrix(rng, 128, 64 * steps), matrix(rng, 64 * steps, 64)
    scales = rng.choice([0.5, 1, 2], (1, 64)).astype(np.float32)
    found = run(KERNELS, "weighted", sm, [x, w, scales, nothing(128, 64)])[3]
    np.testing.assert_array_equal(found, x.astype(np.float64) @ (w * scales))


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
@pytest.mark.parametrize("steps", STEPS)
def test_products_of_planes(sm, steps):
    rng = np.random.default_rng(steps)
    a, b = (matrix(rng, 200, 32 * steps) for _ in "ab")
    c, d = (matrix(rng, 32 * steps, 112) for _ in "cd")
    found = run(KERNELS, "planes", sm, [a, b, c, d, nothing(200, 112), nothing(200, 112)], (2, 2, 1))
    want = (a + 1j * b) @ (c + 1j * d)
    np.testing.assert_array_equal(found[4], want.real)
    np.testing.assert_array_equal(found[5], want.imag)


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
@pytest.mark.parametrize("steps", STEPS)
def test_operands_in_two_halves(sm, steps):
    """The product of both lower halves, which is left out, is zero: one operand has none."""
    rng = np.random.default_rng(steps)
    x, y = matrix(rng, 200, 32 * steps, np.float32), matrix(rng, 32 * steps, 64, np.float32)
    x += rng.integers(0, 2, x.shape).astype(np.float32) / 4096
    found = run(KERNELS, "halves", sm, [x, y, nothing(200, 64)], (2, 1, 1))[2]
    np.testing.assert_array_equal(found, x.astype(np.float64) @ y)


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
@pytest.mark.parametrize("steps", STEPS)
def test_groups_one_after_the_other(sm, steps):
    rng = np.random.default_rng(steps)
    x, w = matrix(rng, 128, 64 * steps), matrix(rng, 64 * steps, 192)
    scales = rng.choice([0.5, 1, 2], (1, 192)).astype(np.float32)
    found = run(KERNELS, "groups", sm, [x, w, scales, nothing(128, 192)])[3]
    np.testing.assert_array_equal(found, x.astype(np.float64) @ (w * scales))
