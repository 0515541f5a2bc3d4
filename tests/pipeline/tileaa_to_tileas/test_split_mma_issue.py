"""A warp of its own issues the MMAs whose results threads read: correct results and no race, and what each partition has."""

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region

from tests.emulated_kernels import compiled, run, scheduled_case, scheduled_kernel
from tileiras_build.core.errors import InternalError
from tileiras_build.ir.casting import as_op, defining_op
from tileiras_build.ir.dialects.fast_xdsl import walk
from tileiras_build.ir.dialects.op_traits import is_agent_switch, is_loop
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

FOLDER = Path(__file__).parent
ROTATED, GRADIENTS, STATES = (FOLDER / f"{name}.py" for name in ("rotated_dots", "tiles_of_two_dots", "state_dots"))
ARRIVAL, WAIT = (f"nv_tileas.async.pipeline.{name}" for name in ("producer_commit", "consumer_wait"))
BARRIER, MMA = "nv_tileas.barrier", "nv_tileas.async.umma"


def partitions(path: Path, name: str) -> list[Region]:
    """The partitions of a kernel: the producer, issuers, and the consumer last."""
    [switch] = filter(is_agent_switch, walk(scheduled_kernel(path, name, "sm_100")))
    return list(switch.regions)


def within(region: Region, name: str) -> list[Operation]:
    return [op for op in walk(region) if op.name == name]


@pytest.mark.parametrize(("path", "name"), [(ROTATED, "of_two"), (ROTATED, "before_another"), (GRADIENTS, "gradients")])
def test_threads_that_read_results_neither_issue_mmas_nor_wait_for_each_other(path, name):
    producer, issuer, consumer = partitions(path, name)
    loops = [op for op in walk(consumer) if is_loop(op)]
    assert within(issuer, MMA) and not within(producer, MMA) and not within(consumer, MMA)
    assert not any(op.name == BARRIER for loop in loops for op in walk(loop))
    pipelines = {as_op(op).pipeline for op in within(consumer, ARRIVAL)}
    waited = {as_op(op).pipeline for op in within(issuer, "nv_tileas.async.pipeline.consumer_wait")}
    assert pipelines and pipelines <= waited
    assert scheduled_kernel(path, name, "sm_100").attributes["schedule"].data["mma_warp"].value.data


def test_the_mbarriers_at_which_warps_arrive_lie_side_by_side():
    consumer = partitions(ROTATED, "of_two")[-1]
    created = {defining_op(as_op(op).pipeline) for op in within(consumer, ARRIVAL)}
    offsets = sorted(as_op(op).shared_offset for op in created)
    assert len(offsets) > 2 and offsets == list(range(offsets[0], offsets[0] + 16 * len(offsets), 16))


@pytest.mark.parametrize(
    ("path", "name", "access"),
    [
        (ROTATED, "beside_totals", "local_load"),  # threads read what TMA loads
        (STATES, "linear_attention", "local_store"),  # threads write an operand beside what TMA loads
        (STATES, "halved_queries", "local_load"),  # both
    ],
)
def test_threads_wait_for_stages_that_they_access_themselves(path, name, access):
    """They arrive behind each access, so the issuer releases no stage before."""
    _, issuer, consumer = partitions(path, name)
    assert within(issuer, MMA) and not within(consumer, MMA)
    [loop] = [op for op in walk(consumer) if is_loop(op)]
    waited = {as_op(op).pipeline for op in within(issuer, WAIT)}
    names = [op.name for op in walk(loop) if op.name != WAIT or as_op(op).pipeline in waited]
    last = len(names) - 1 - names[::-1].index(f"nv_tileas.{access}")
    assert names.index(WAIT) < last and ARRIVAL in names[last:]


def test_a_barrier_stays_where_threads_exchange_rows():
    """Rows that warps copy ahead for all: each warp arrives at what the issuer waits for behind the barrier."""
    _, issuer, consumer = partitions(STATES, "gradients")
    barriers = [op for op in within(consumer, BARRIER) if is_loop(op.parent_op())]
    assert within(issuer, MMA) and not within(consumer, MMA)
    assert any(barrier.next_op.name == ARRIVAL for barrier in barriers)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (ROTATED, "weighted_steps"),  # one MMA in the loop: nothing overlaps it
        (GRADIENTS, "two_accumulators"),  # threads read them behind the loop
    ],
)
def test_threads_issue_other_mmas_themselves(path, name):
    _, consumer = partitions(path, name)
    assert within(consumer, MMA) and not within(consumer, ARRIVAL)


def test_a_schedule_declines_the_warp():
    text = compiled(ROTATED, "of_two", "sm_100", schedule='{"schedule": {"mma_warp": false}}').tileas
    consumer = text[text.rindex("nv_tileas.for ") :]
    assert MMA in consumer and "mma_warp = false" in text


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_results_of_two_dots_that_threads_multiply(steps):
    rng = np.random.default_rng(steps)
    q, k, v = (rng.integers(-1, 2, (rows, 64)).astype(np.float16) for rows in (200, 320, 320))
    k, v = k[: 64 * steps], v[: 64 * steps]
    want = (q @ k.T.astype(np.float64)) * (q @ v.T.astype(np.float64)) @ v
    if not steps:
        k, v = np.zeros((1, 64), np.float16), np.zeros((1, 64), np.float16)
    found = run(ROTATED, "of_two", "sm_100", [q, k, v, np.full((200, 64), np.nan, np.float32)], (4, 1, 1))[3]
    np.testing.assert_array_equal(found, want)


def test_a_dot_whose_operand_threads_read_too():
    q, k, v = (np.random.default_rng(5).integers(-1, 2, (rows, 64)).astype(np.float16) for rows in (200, 320, 320))
    want = (q @ k.T.astype(np.float64) + k.sum(axis=1, dtype=np.float64)) @ v + q
    found = run(ROTATED, "beside_totals", "sm_100", [q, k, v, np.full((200, 64), np.nan, np.float32)], (2, 1, 1))[3]
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        *((ROTATED, name) for name in ("of_two", "of_itself_and_turned", "beside_totals")),
        *((STATES, name) for name in ("linear_attention", "halved_queries")),
        (GRADIENTS, "gradients"),
    ],
)
def test_verifier_of_pipelines(path, name):
    assert verify_pipelines(scheduled_case(path, name, "sm_100")) > 0


def refused(module: ModuleOp, message: str) -> None:
    with pytest.raises(InternalError, match=f"pipeline-verifier.*{message}"):
        verify_pipelines(module)


def in_loop(module: ModuleOp, name: str) -> list[Operation]:
    """The operations of a name in the last loop of the consumer."""
    [switch] = filter(is_agent_switch, walk(module))
    loop = [op for op in walk(as_op(switch).regions[-1]) if is_loop(op)][-1]
    return [op for op in loop.regions[0].blocks[0].ops if op.name == f"nv_tileas.{name}"]


def move_behind(op: Operation, place: Operation) -> None:
    op.detach()
    place.parent.insert_op_after(op, place)


def test_verifier_refuses_a_read_behind_the_last_arrival():
    module = scheduled_case(ROTATED, "beside_totals", "sm_100")
    [load] = in_loop(module, "local_load")
    move_behind(load, in_loop(module, "async.pipeline.producer_commit")[-1])
    refused(module, "is released before the read of other threads")


def test_verifier_refuses_a_wait_behind_the_last_arrival():
    module = scheduled_case(ROTATED, "beside_totals", "sm_100")
    [load], wait = in_loop(module, "local_load"), in_loop(module, "async.pipeline.consumer_wait")[0]
    last = in_loop(module, "async.pipeline.producer_commit")[-1]
    move_behind(load, last)
    move_behind(wait, last)
    refused(module, "is released before the wait of other threads")


def test_verifier_refuses_an_operand_that_is_written_behind_the_last_arrival():
    module = scheduled_case(STATES, "linear_attention", "sm_100")
    [store] = in_loop(module, "local_store")
    move_behind(store, in_loop(module, "async.pipeline.producer_commit")[-1])
    refused(module, "is released before the store of other threads")


def test_verifier_refuses_an_operand_that_an_mma_reads_too_early():
    module = scheduled_case(STATES, "halved_queries", "sm_100")
    move_behind(in_loop(module, "local_store")[0], in_loop(module, "async.pipeline.producer_commit")[0])
    refused(module, "is read before other threads store it")
