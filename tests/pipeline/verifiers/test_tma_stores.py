"""The verifier of stores by TMA accepts what the pipeline makes and refuses each wait and barrier that is missing."""

from itertools import product
from pathlib import Path

import pytest
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i32

from tests.emulated_kernels import scheduled_case
from tileiras_build.core.errors import InternalError
from tileiras_build.pipeline.verifiers.shared_memory_allocation import verify_shared_memory_allocation
from tileiras_build.pipeline.verifiers.tma_stores import verify_tma_stores
from tileiras_build.pipeline.verifiers.token_barriers import verify_token_barriers

KERNELS = Path(__file__).parents[2] / "pipeline" / "tileaa_to_tileas" / "tma_stored_tiles.py"
SMS = ("sm_90", "sm_100", "sm_120")
STORED = {
    "f16": 1,
    "persistent": 1,
    "overwritten": 1,
    "twice": 2,
    "read_back": 1,
    "written_before": 1,
    "signalled": 1,
    "forbidden": 0,
}


def module_of(name, sm="sm_90"):
    return scheduled_case(KERNELS, name, sm)


def find(module, name, **attributes):
    found = [op for op in module.walk() if op.name == f"nv_tileas.{name}"]
    return [op for op in found if all((key in op.attributes) == value for key, value in attributes.items())]


def drop(op):
    op.detach()
    op.erase()


def refused(module, message, check=verify_tma_stores):
    with pytest.raises(InternalError, match=f"-verifier.*{message}"):
        check(module)


@pytest.mark.parametrize("sm", SMS)
@pytest.mark.parametrize("name", STORED)
def test_what_the_passes_make_is_proved(name, sm):
    module = module_of(name, sm)
    assert verify_tma_stores(module) == STORED[name]
    verify_shared_memory_allocation(module)
    verify_token_barriers(module)


def test_a_token_that_only_an_access_which_waits_carries():
    """Where no access runs between them, the stores of the next iteration follow none before them."""
    module = module_of("signalled_in_turn", "sm_100")
    assert verify_tma_stores(module) == 2
    for wait in find(module, "async.tma_store_wait", read=False):
        only_reads(wait)
    refused(module, "comes after nv_tileas.async.tiled_tma_store and does not wait until it has written")


@pytest.mark.parametrize("name", ["f16", "twice"])
def test_a_kernel_that_ends_while_tma_reads(name):
    module = module_of(name)
    drop(find(module, "async.tma_store_wait", read=True)[-1])
    refused(module, "return comes while the copies of nv_tileas.async.tiled_tma_store may still read")


@pytest.mark.parametrize("name", ["twice", "persistent"])
def test_a_loop_that_overwrites_what_tma_reads(name):
    module = module_of(name)
    drop(find(module, "async.tma_store_wait")[0])
    refused(module, "tiled_tma_store comes while the copies of nv_tileas.async.tiled_tma_store may still read")


def test_a_loop_that_overwrites_before_all_threads_know():
    module = module_of("twice")
    for store in find(module, "async.tiled_tma_store", sync_before=True):
        del store.attributes["sync_before"]
    refused(module, "comes before a barrier after the wait for reads of nv_tileas.async.tiled_tma_store")


def test_a_wait_that_comes_before_the_store():
    module = module_of("f16")
    [store] = find(module, "async.tiled_tma_store")
    [wait] = find(module, "async.tma_store_wait")
    wait.detach()
    store.parent.insert_op_before(wait, store)
    refused(module, "return comes while the copies")


def only_reads(wait):
    wait.attributes["read"] = UnitAttr()


@pytest.mark.parametrize(
    ("name", "change"),
    [*product(["read_back", "signalled"], [drop, only_reads]), ("overwritten", only_reads)],
)
def test_an_access_that_does_not_wait_until_a_store_has_written(name, change):
    module = module_of(name)
    for wait in find(module, "async.tma_store_wait", read=False):
        change(wait)
    refused(module, "comes after nv_tileas.async.tiled_tma_store and does not wait until it has written")


@pytest.mark.parametrize("name", ["read_back", "signalled", "overwritten"])
def test_a_wait_that_only_one_thread_knows_of(name):
    module = module_of(name)
    for wait in find(module, "async.tma_store_wait", read=False):
        assert wait.next_op.name == "nv_tileas.barrier"
        drop(wait.next_op)
    refused(module, "with no barrier between the wait and it|comes before a barrier")


def test_accesses_of_partitions_are_ordered_too():
    module = module_of("read_back")
    for barrier in find(module, "barrier"):
        drop(barrier)
    refused(module, "no barrier on a path", verify_token_barriers)


def test_a_place_where_no_swizzle_starts():
    module = module_of("persistent")
    [store] = find(module, "async.tiled_tma_store")
    store.attributes["scratch_offset"] = IntegerAttr(128, i32)
    refused(module, "not aligned to the swizzle")


def test_a_ring_that_is_still_filled():
    module = module_of("persistent")
    [store] = find(module, "async.tiled_tma_store")
    store.attributes["scratch_offset"] = find(module, "alloc_tensor")[0].attributes["shared_offset"]
    message = "async.dot uses a ring in the bytes of nv_tileas.async.tiled_tma_store, which came before"
    refused(module, message, verify_shared_memory_allocation)


def test_a_ring_that_other_threads_still_read():
    module = module_of("f16")
    [store] = find(module, "async.tiled_tma_store", sync_before=True)
    del store.attributes["sync_before"]
    refused(module, "may write where nv_tileas.async.dot still reads a ring", verify_shared_memory_allocation)


def test_a_ring_that_mmas_in_flight_still_read():
    """A barrier alone does not complete them."""
    module = module_of("f16")
    [wait] = find(module, "async.dot_wait")
    wait.attributes["pending"] = IntegerAttr(1, i32)
    refused(module, "may write where nv_tileas.async.dot still reads a ring", verify_shared_memory_allocation)
