"""The proof of pipelines accepts what specialize_warps makes and refuses each change that lets agents disagree."""

from pathlib import Path

import pytest
from xdsl.dialects.builtin import IntegerAttr, i32

from tests.emulated_kernels import scheduled_case
from tests.pipeline.verifiers.lowered_examples import NAMES, scheduled
from tileiras_build.core.errors import InternalError
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

KERNELS = Path(__file__).parents[2] / "pipeline" / "tileaa_to_tileas" / "tma_dots.py"
SMS = ("sm_90", "sm_100", "sm_120")
FETCHED = ("f16_rows", "f16_columns", "nested", "added", "chained")


def module_of(name, sm):
    return scheduled_case(KERNELS, name, sm)


def find(module, suffix):
    return [op for op in module.walk() if op.name.endswith(suffix)]


@pytest.mark.parametrize("sm", SMS)
@pytest.mark.parametrize("name", FETCHED)
def test_agents_agree(name, sm):
    assert verify_pipelines(module_of(name, sm)) > 0


@pytest.mark.parametrize("sm", SMS)
@pytest.mark.parametrize("name", NAMES)
def test_examples_are_proved(name, sm):
    verify_pipelines(scheduled(name, sm))


def refused(module, message):
    with pytest.raises(InternalError, match=f"pipeline-verifier.*{message}"):
        verify_pipelines(module)


@pytest.mark.parametrize("sm", SMS)
def test_a_wait_that_is_missing(sm):
    module = module_of("nested", sm)
    next(op for op in find(module, "consumer_wait") if op.pipeline.type.stages.data > 2).detach()
    refused(module, "holds no item that was waited for")


@pytest.mark.parametrize("sm", ["sm_90", "sm_120"])
def test_a_release_that_is_missing(sm):
    module = module_of("f16_columns", sm)
    find(module, "consumer_release")[0].detach()
    refused(module, "others are not released")


def test_a_release_of_what_is_under_way():
    module = module_of("f16_columns", "sm_90")
    [release] = find(module, "consumer_release")
    del release.attributes["previous_stage"]
    refused(module, "the release after|under way")


def test_a_product_too_many_under_way():
    module = module_of("f16_columns", "sm_90")
    [dot] = find(module, "async.dot")
    dot.attributes["pending"] = IntegerAttr(2, i32)
    refused(module, "under way")


@pytest.mark.parametrize("sm", SMS)
def test_a_token_that_stands_still(sm):
    module = module_of("f16_columns", sm)
    advance = find(module, "pipeline.advance")[0]
    advance.results[0].replace_all_uses_with(advance.token)
    refused(module, "has token")


@pytest.mark.parametrize("sm", SMS)
def test_an_agent_that_fetches_less(sm):
    module = module_of("f16_columns", sm)
    switch = find(module, "agent_switch")[0]
    find(switch.regions[0].blocks[0], "nv_tileas.for")[0].operands[1] = find(switch.regions[0].blocks[0], "for")[
        0
    ].lower
    refused(module, "items")


def test_a_sum_that_is_read_before_its_commit():
    module = module_of("f16_columns", "sm_100")
    find(module, "umma_commit")[0].detach()
    refused(module, "waited for")


@pytest.mark.parametrize("name", ["f16_columns", "nested"])
def test_an_end_before_commits_have_given_all_stages_back(name):
    module = module_of(name, "sm_100")
    find(module, "producer_tail")[0].detach()
    refused(module, "nobody waits for the last of them")


def test_an_end_that_waits_for_another_stage():
    module = module_of("f16_columns", "sm_100")
    [tail] = find(module, "producer_tail")
    tail.operands[1] = find(module.body.block.first_op, "arith.constant")[0].results[0]
    refused(module, "producer_tail of item")


# ---- products of an agent of their own ---------------------------------------------------------------------------
@pytest.mark.parametrize("suffix", ["umma_acquire", "umma_commit", "consumer_release"])
def test_a_step_of_the_ring_of_sums_that_is_missing(suffix):
    module = module_of("nested", "sm_100")
    find(module, suffix)[0].detach()
    refused(module, "not acquired|are waited for|are not released|never filled")


@pytest.mark.parametrize("suffix", ["tmem_load", "tmem_store", "async.umma"])
def test_a_sum_of_another_stage(suffix):
    module = module_of("nested", "sm_100")
    [op] = find(module, suffix)
    constant = find(module.body.block.first_op, "arith.constant")[0]
    assert constant.results[0].type == i32
    op.operands[-1] = constant.results[0]
    refused(module, "which holds no sum|which is not acquired")


def test_a_sum_that_is_released_before_it_is_read():
    module = module_of("nested", "sm_100")
    [load], [release] = find(module, "tmem_load"), find(module, "consumer_release")
    release.detach()
    load.parent.insert_op_before(release, load)
    refused(module, "which holds no sum")


def test_agents_that_wait_for_each_other():
    """The epilogue of a tile begins when the products of the tile after the next are done: there are two buffers."""
    module = module_of("nested", "sm_100")
    [create] = [op for op in find(module, "pipeline.create") if op.result.type.stages.data == 2]
    [commit], [acquire] = find(module, "umma_commit"), find(module, "umma_acquire")
    acquire.detach()
    commit.parent.insert_op_after(acquire, commit)
    assert commit.ready is create.result
    refused(module, "not acquired|for ever")


def chained():
    return scheduled_case(KERNELS.with_name("rotated_dots.py"), "squared", "sm_100")


def parts_of(module):
    return [op for op in find(module, "tmem_store") if "chunk" in op.attributes]


def test_a_left_operand_in_parts():
    assert verify_pipelines(chained()) > 0


def test_a_part_that_is_written_twice():
    module = chained()
    parts_of(module)[1].attributes["chunk"] = IntegerAttr(0, i32)
    refused(module, "part 0 is written as item 1")


def test_a_part_that_is_never_written():
    module = chained()
    parts_of(module)[-1].detach()
    refused(module, "part 0 is written as item 1|waits for ever")


def test_parts_that_are_written_before_the_last_ones_were_waited_for():
    """Nobody acquires them: what keeps the warps that compute is that they wait for the next scores."""
    module = chained()
    first = parts_of(module)[0]
    for wait in [op for op in first.parent.ops if op.name.endswith("consumer_wait")]:
        wait.detach()
    refused(module, "item 0 is filled again before it is waited for")
