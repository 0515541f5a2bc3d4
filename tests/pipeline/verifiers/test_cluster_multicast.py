"""The verifier of clusters accepts what multicast_loads makes and refuses each change that lets CTAs disagree."""

from pathlib import Path

import pytest
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i32, i64

from tests.emulated_kernels import scheduled_case
from tests.pairwise import pairwise
from tileiras_build.core.errors import InternalError
from tileiras_build.ir.dialects import arith
from tileiras_build.pipeline.verifiers.cluster_multicast import verify_cluster_multicast
from tileiras_build.pipeline.verifiers.cp_async_buffers import verify_cp_async_buffers
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines
from tileiras_build.pipeline.verifiers.shared_memory_allocation import verify_shared_memory_allocation
from tileiras_build.pipeline.verifiers.token_barriers import verify_token_barriers

KERNELS = Path(__file__).parents[2] / "pipeline" / "tileaa_to_tileas" / "cluster_kernels.py"
MATMULS = ("matmul", "matmul_columns", "matmul_tall", "matmul_wide", "matmul_f8", "persistent")
PAIRS = (
    "matmul_tall", "pair_columns", "pair_wide", "pair_high", "pair_f8", "pair_narrow", "pair_tf32", "pair_tf32_columns",
    "pair_persistent",
)  # fmt: skip


def module_of(name, sm="sm_90"):
    return scheduled_case(KERNELS, name, sm)


def parts(name, sm="sm_90"):
    """The module, its get_cta_rank, its load for all CTAs, and its load for one."""
    module = module_of(name, sm)
    loads = [op for op in module.walk() if op.name.endswith("tiled_tma_load")]
    [rank] = [op for op in module.walk() if op.name.endswith("get_cta_rank")]
    return module, rank, *sorted(loads, key=lambda op: "multicast" not in op.attributes)


@pytest.mark.parametrize(("name", "ctas", "sm"), pairwise(MATMULS, [2, 4], ["sm_90", "sm_100"]))
def test_dots_are_accepted(name, ctas, sm):
    assert verify_cluster_multicast(module_of(f"{name}_{ctas}", sm)) == 1


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
@pytest.mark.parametrize("name", ["matmul_wide_4", "attention_2", "rows_normalized_4", "pair_persistent_2"])
def test_what_is_proved_of_one_cta_holds_in_a_cluster(name, sm):
    module = module_of(name, sm)
    for check in (verify_token_barriers, verify_pipelines, verify_cp_async_buffers, verify_shared_memory_allocation):
        check(module)


def test_both_operands_that_all_rows_need():
    assert verify_cluster_multicast(module_of("attention_2")) == 2


def refused(module, message):
    with pytest.raises(InternalError, match=f"cluster-verifier.*{message}"):
        verify_cluster_multicast(module)


@pytest.mark.parametrize("waits", [None, 1, 4])
def test_a_stage_that_waits_for_other_than_all_ctas(waits):
    module, _, load, _ = parts("matmul_2")
    pipeline = load.pipeline.owner
    del pipeline.attributes["ctas"]
    if waits is not None:
        pipeline.attributes["ctas"] = IntegerAttr(waits, i32)
    refused(module, "a stage that 2 CTAs fill is waited for by")


def test_a_tile_that_is_not_the_same():
    module, _, _, own = parts("matmul_2")
    own.attributes["multicast"] = IntegerAttr(0, i32)
    refused(module, "its tile is not the same in every CTA")


def _add_rank(module, rank, user, index):
    """The rank added to an operand."""
    moved = arith.AddiOp.make([user.operands[index], rank.results[0]], [i32])
    user.parent.insert_op_before(moved, user)
    user.operands[index] = moved.results[0]


def test_a_place_that_the_rank_moves_through_a_loop():
    module, rank, load, _ = parts("persistent_2")
    loop = load.parent_op().parent_op()
    _add_rank(module, rank, loop, 0)
    refused(module, "its tile is not the same in every CTA|does not execute equally often")


def test_a_loop_that_not_every_cta_runs_as_often():
    module, rank, load, _ = parts("matmul_2")
    [computing] = [op for op in module.walk() if op.name == "nv_tileas.for" and op is not load.parent_op()]
    _add_rank(module, rank, computing, 1)
    refused(module, "does not execute equally often in every CTA")


@pytest.mark.parametrize(("change", "message"), [(lambda box: [box[0], 2 * box[1]], "is loaded twice|is at"),
                                                 (lambda box: [box[0] // 2, box[1]], "is at")])  # fmt: skip
def test_boxes_that_are_not_the_share(change, message):
    module, _, load, _ = parts("matmul_2")
    descriptor = load.desc.owner
    box = change(list(descriptor.attributes["box"].get_values()))
    descriptor.attributes["box"] = DenseArrayBase.from_list(i64, box)
    refused(module, message)


def test_shares_along_another_dimension():
    module, _, load, _ = parts("matmul_2")
    load.attributes["multicast"] = IntegerAttr(1 - load.attributes["multicast"].value.data, i32)
    refused(module, "is loaded twice|is at")


# ---- pairs ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", PAIRS)
def test_pairs_are_accepted(name):
    module = module_of(f"{name}_2", "sm_100")
    assert verify_cluster_multicast(module) == 1 and verify_pipelines(module) == 2


def pair_of(name):
    """The module of a pair, and its operations by the ends of their names."""
    module = module_of(name, "sm_100")
    return module, lambda end: [op for op in module.walk() if op.name.endswith(end)]


@pytest.mark.parametrize("end", ["async.umma", "create_tmem"])
def test_a_dot_of_one_cta_in_a_pair(end):
    module, find = pair_of("matmul_tall_2")
    del find(end)[0].attributes["pair"]
    refused(module, "not one dot of two CTAs")


def test_a_stage_that_expects_too_much():
    module, find = pair_of("matmul_tall_2")
    [pipeline] = [op for op in find("pipeline.create") if "pair" in op.attributes]
    pipeline.attributes["bytes"] = IntegerAttr(pipeline.attributes["bytes"].value.data * 2, i32)
    refused(module, "a stage of 40960 bytes expects 81920|a stage of .* bytes expects")


@pytest.mark.parametrize("which", [0, 1])
def test_parts_that_both_ctas_load(which):
    module, find = pair_of("matmul_tall_2")
    load, [rank] = find("tiled_tma_load")[which], find("get_cta_rank")
    index = next(i for i, coord in enumerate(load.operands) if rank.results[0] in getattr(coord.owner, "operands", ()))
    load.operands[index] = load.operands[index].owner.operands[0]
    refused(module, "its tile is not this CTA's part")


def test_a_accumulator_that_one_cta_hears_of():
    module, find = pair_of("matmul_tall_2")
    del find("umma_commit")[0].ready.owner.attributes["ctas"]
    refused(module, "the accumulator is complete in one CTA only")


def test_a_accumulator_that_is_overwritten_too_early():
    module, find = pair_of("pair_persistent_2")
    find("umma_acquire")[0].detach()
    refused(module, "accumulators are overwritten before both CTAs have read them")


def test_a_accumulator_that_is_not_released():
    module, find = pair_of("pair_persistent_2")
    [release] = find("consumer_release")
    release.detach()
    with pytest.raises(InternalError, match="pipeline-verifier.*waits forever"):
        verify_pipelines(module)
