"""verify_pipelines accepts the output of specialize_warps and refuses each change that lets partitions disagree."""

from pathlib import Path

import pytest
from xdsl.dialects.builtin import IntegerAttr, i32

from tests.emulated_kernels import compiled, scheduled_case
from tileiras_build.core.errors import InternalError
from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

KERNELS = Path(__file__).parents[2] / "pipeline" / "tileaa_to_tileas" / "dots_of_loaded_tiles.py"
SMS = ("sm_90", "sm_100", "sm_120")
TMA_KERNELS = ("f16_rows", "f16_columns", "nested", "added", "chained")


def module_of(name, sm):
    return scheduled_case(KERNELS, name, sm)


def find(module, suffix):
    return [op for op in module.walk() if op.name.endswith(suffix)]


@pytest.mark.parametrize("sm", SMS)
@pytest.mark.parametrize("name", TMA_KERNELS)
def test_partitions_agree(name, sm):
    assert verify_pipelines(module_of(name, sm)) > 0


def refused(module, message):
    with pytest.raises(InternalError, match=f"pipeline-verifier.*{message}"):
        verify_pipelines(module)


@pytest.mark.parametrize("sm", SMS)
def test_a_missing_wait(sm):
    module = module_of("nested", sm)
    next(op for op in find(module, "consumer_wait") if op.pipeline.type.stages.data > 2).detach()
    refused(module, "holds no item that was waited for")


@pytest.mark.parametrize("sm", ["sm_90", "sm_120"])
def test_a_missing_release(sm):
    module = module_of("f16_columns", sm)
    find(module, "consumer_release")[0].detach()
    refused(module, "others are not released")


def test_a_release_of_an_operand_of_an_mma_in_flight():
    module = module_of("f16_columns", "sm_90")
    [release] = find(module, "consumer_release")
    del release.attributes["previous_stage"]
    refused(module, "the release after|in flight")


def test_too_many_mmas_in_flight():
    module = module_of("f16_columns", "sm_90")
    [dot] = find(module, "async.dot")
    dot.attributes["pending"] = IntegerAttr(2, i32)
    refused(module, "in flight")


@pytest.mark.parametrize("sm", SMS)
def test_a_token_that_never_advances(sm):
    module = module_of("f16_columns", sm)
    advance = find(module, "pipeline.advance")[0]
    advance.results[0].replace_all_uses_with(advance.token)
    refused(module, "has token")


@pytest.mark.parametrize("sm", SMS)
def test_a_producer_that_loads_fewer_items(sm):
    module = module_of("f16_columns", sm)
    switch = find(module, "agent_switch")[0]
    find(switch.regions[0].blocks[0], "nv_tileas.for")[0].operands[1] = find(switch.regions[0].blocks[0], "for")[
        0
    ].lower
    refused(module, "items")


@pytest.mark.parametrize("sm", SMS)
def test_a_stage_that_expects_other_bytes(sm):
    module = module_of("f16_columns", sm)
    load = find(module, "tiled_tma_load")[0]
    load.pipeline.owner.attributes["bytes"] = IntegerAttr(load.buffer.type.placement.data.size_bytes, i32)
    refused(module, "expects .* bytes, and TMA copies")


def test_a_stage_of_a_united_ring_that_expects_the_bytes_of_another_tile():
    """Two loops fill one ring, with tiles of other bytes."""
    module = scheduled_case(KERNELS.with_name("united_rings.py"), "values_of_scores", "sm_100")
    [acquire] = [op for op in find(module, "producer_acquire") if op.bytes is not None]
    del acquire.attributes["bytes"]
    refused(module, "expects .* bytes, and TMA copies")


@pytest.mark.parametrize("sm", SMS)
def test_a_load_to_a_stage_that_is_not_acquired(sm):
    module = module_of("f16_columns", sm)
    acquire, load = find(module, "producer_acquire")[0], find(module, "tiled_tma_load")[0]
    acquire.detach()
    load.parent.insert_op_after(acquire, load)
    refused(module, "tiled_tma_load of item -1 has token")


def test_an_accumulator_that_is_read_before_its_commit():
    module = module_of("f16_columns", "sm_100")
    find(module, "umma_commit")[0].detach()
    refused(module, "waited for")


@pytest.mark.parametrize("name", ["f16_columns", "nested"])
def test_a_missing_producer_tail(name):
    module = module_of(name, "sm_100")
    find(module, "producer_tail")[0].detach()
    refused(module, "no partition waits for the last of them")


def test_a_producer_tail_of_another_stage():
    module = module_of("f16_columns", "sm_100")
    [tail] = find(module, "producer_tail")
    tail.operands[1] = find(module.body.block.first_op, "arith.constant")[0].results[0]
    refused(module, "producer_tail of item")


# ---- MMAs issued by a partition of its own ---------------------------------------------------------------------------
@pytest.mark.parametrize("suffix", ["umma_acquire", "umma_commit", "consumer_release"])
def test_a_missing_step_of_the_accumulator_pipeline(suffix):
    module = module_of("nested", "sm_100")
    find(module, suffix)[0].detach()
    refused(module, "not acquired|are waited for|are not released|no commit fills")


@pytest.mark.parametrize("suffix", ["tmem_load", "tmem_store", "async.umma"])
def test_an_accumulator_of_another_stage(suffix):
    module = module_of("nested", "sm_100")
    [op] = find(module, suffix)
    constant = find(module.body.block.first_op, "arith.constant")[0]
    assert constant.results[0].type == i32
    op.operands[-1] = constant.results[0]
    refused(module, "which holds no accumulator|which is not acquired")


def test_an_accumulator_that_is_released_before_it_is_read():
    module = module_of("nested", "sm_100")
    [load], [release] = find(module, "tmem_load"), find(module, "consumer_release")
    release.detach()
    load.parent.insert_op_before(release, load)
    refused(module, "which holds no accumulator")


def test_partitions_that_wait_for_each_other():
    """The epilogue of a tile begins when the MMAs of the tile after the next are complete: there are two buffers."""
    module = module_of("nested", "sm_100")
    [create] = [op for op in find(module, "pipeline.create") if op.result.type.stages.data == 2]
    [commit], [acquire] = find(module, "umma_commit"), find(module, "umma_acquire")
    acquire.detach()
    commit.parent.insert_op_after(acquire, commit)
    assert commit.ready is create.result
    refused(module, "not acquired|deadlock")


def chained():
    return scheduled_case(KERNELS.with_name("rotated_dots.py"), "squared", "sm_100")


def chunk_stores_of(module):
    return [op for op in find(module, "tmem_store") if "chunk" in op.attributes]


def test_a_left_operand_in_chunks():
    assert verify_pipelines(chained()) > 0


def test_a_chunk_that_is_written_twice():
    module = chained()
    chunk_stores_of(module)[1].attributes["chunk"] = IntegerAttr(0, i32)
    refused(module, "chunk 0 is written as item 1")


def test_a_chunk_that_is_never_written():
    module = chained()
    chunk_stores_of(module)[-1].detach()
    refused(module, "chunk 0 is written as item 1|deadlock")


def test_chunks_that_are_written_before_the_last_ones_were_waited_for():
    """No partition acquires them: the consumers are held back by their wait for the next scores."""
    module = chained()
    first = chunk_stores_of(module)[0]
    for wait in [op for op in first.parent.ops if op.name.endswith("consumer_wait")]:
        wait.detach()
    for load in [op for op in first.parent.ops if op.name.endswith("tmem_load")]:
        load.results[0].replace_all_uses_with(load.operands[0])
        load.detach()
    refused(module, "item 0 is filled again before it is waited for")


@pytest.mark.parametrize(
    ("place", "message"), [(1, None), (2, "writes over an operand of an MMA that is not waited for")]
)
def test_scratch_over_the_stages_of_an_mma(place, message):
    """An MMA is in flight from its issue, in an iteration, to the wait for it in the next one."""
    artifacts = compiled(
        KERNELS.with_name("rotated_dots.py"), "weighted_short", "sm_100", schedule='{"schedule": {"mma_warp": false}}'
    )
    module = parse(artifacts.tileas.encode(), "k.tileas")
    scratch, ring = find(module, "nv_tileas.barrier")[place], find(module, "async.umma")[0].rhs.owner
    scratch.attributes |= {"scratch_offset": ring.attributes["shared_offset"], "scratch_bytes": IntegerAttr(128, i32)}
    if message is None:
        assert verify_pipelines(module) > 0
    else:
        refused(module, message)
