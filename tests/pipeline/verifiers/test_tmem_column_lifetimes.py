"""verify_pipelines refuses each change by which threads, MMAs and tiles disagree about columns of tensor memory."""

from pathlib import Path

import pytest
from xdsl.dialects.builtin import IntegerAttr, i32

from tests.emulated_kernels import scheduled_case
from tileiras_build.core.errors import InternalError
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

KERNELS = Path(__file__).parents[1] / "tileaa_to_tileas" / "shared_tmem.py"


def module_of(name):
    return scheduled_case(KERNELS, name, "sm_100")


def find(module, suffix):
    return [op for op in module.walk() if op.name.endswith(suffix)]


def refused(module, message):
    with pytest.raises(InternalError, match=f"pipeline-verifier.*{message}"):
        verify_pipelines(module)


def move_before(op, place):
    op.detach()
    place.parent.insert_op_before(op, place)


@pytest.mark.parametrize("name", ["scan", "scan_narrow", "twice", "differing"])
def test_columns_that_are_shared_in_turn(name):
    assert verify_pipelines(module_of(name)) > 0


def test_an_operand_that_is_not_complete_for_all_threads():
    module = module_of("differing")
    find(module, "tmem_store")[0].next_op.detach()  # a barrier
    refused(module, "an MMA accesses columns of tensor memory that other threads may still write")


def test_an_accumulator_that_other_threads_may_still_read():
    module = module_of("differing")
    for barrier in find(module, "nv_tileas.barrier"):
        barrier.detach()
    for store in find(module, "tmem_store"):
        store.detach()
    for op in module.walk():
        op.attributes.pop("scratch_offset", None)
    refused(module, "an MMA overwrites columns of tensor memory that other threads may still read")


def test_an_accumulator_that_is_read_before_the_wait_for_its_mmas():
    module = module_of("differing")
    load = find(module, "tmem_load")[0]
    move_before(
        load,
        next(wait for wait in find(module, "consumer_wait") if wait.next_op is load or wait.is_before_in_block(load)),
    )
    refused(module, "tmem_load accesses columns of tensor memory of an MMA that is not waited for")


def test_an_operand_that_is_written_while_an_mma_reads_it():
    module = module_of("differing")
    second = [store for store in find(module, "tmem_store") if "accumulator" not in store.attributes][1]
    move_before(second, find(module, "umma_commit")[0])
    refused(module, "tmem_store accesses columns of tensor memory of an MMA that is not waited for")


def test_an_operand_that_is_overwritten_before_its_mmas():
    """Both operands written before the loop around, as if they were one: each dot reads the second."""
    module = module_of("differing")
    first, second = (store for store in find(module, "tmem_store") if "accumulator" not in store.attributes)
    move_before(second, first.next_op)
    refused(module, "the columns of tensor memory that nv_tileas.tmem_store writes are never read")


def test_an_accumulator_that_is_overwritten_before_it_is_read():
    module = module_of("twice")
    find(module, "tmem_load")[0].results[0].replace_all_uses_with(find(module, "tmem_load")[1].results[0])
    find(module, "tmem_load")[0].detach()
    refused(module, "the columns of tensor memory that .* writes are never read")


def test_tiles_that_overlap():
    module = module_of("twice")
    tiles = find(module, "alloc_tmem")
    tiles[-1].attributes["column"] = IntegerAttr(int(tiles[0].attributes["column"].value.data) + 8, i32)
    refused(module, "columns of tensor memory that another tile has overwritten|columns of another tile")
