"""The verifier of rings accepts what the pipeline makes and refuses each change that lets a stage be reused too early."""

import pytest
from xdsl.dialects.builtin import IntegerAttr, i32

from tests.pipeline.verifiers.lowered_examples import scheduled
from tileiras_build.core.errors import InternalError
from tileiras_build.pipeline.verifiers.cp_async_buffers import verify_cp_async_buffers

PIPELINED = ("matmul_tf32_nn", "matmul_tf32_nt")


def with_rings(name):
    module = scheduled(name, "sm_80")
    assert verify_cp_async_buffers(module) > 0
    return module


def find(module, name):
    return [op for op in module.walk() if op.name == name]


@pytest.mark.parametrize("name", PIPELINED)
def test_barrier_in_the_loop_is_needed(name):
    module = with_rings(name)
    barrier = next(op for op in find(module, "nv_tileas.barrier") if op.prev_op and op.prev_op.name.endswith("wait"))
    barrier.detach()
    with pytest.raises(InternalError, match="cp-async-verifier"):
        verify_cp_async_buffers(module)


@pytest.mark.parametrize("name", PIPELINED)
def test_wait_for_one_group_fewer_is_refused(name):
    module = with_rings(name)
    for wait in find(module, "nv_tileas.async_wait"):
        wait.attributes["pending"] = IntegerAttr(wait.attributes["pending"].value.data + 1, i32)
    with pytest.raises(InternalError, match="is read before every thread's copies"):
        verify_cp_async_buffers(module)


@pytest.mark.parametrize("name", PIPELINED)
def test_copy_before_the_barrier_is_refused(name):
    """The stage copied to is the one that the last iteration read."""
    module = with_rings(name)
    # In the loop: fragments that it carries are waited for before it, too.
    dots = {op.parent: op for op in find(module, "nv_tileas.dot")}
    wait = next(op for op in find(module, "nv_tileas.async_wait") if op.parent in dots)
    body = wait.parent
    # With what their places are computed from: all between the dot and the commit.
    first = dots[body].next_op
    while first.name != "nv_tileas.async_commit":
        following = first.next_op
        first.detach()
        body.insert_op_before(first, wait)
        first = following
    with pytest.raises(InternalError, match="is copied to while it may still be read"):
        verify_cp_async_buffers(module)


# ---- scratch over rings
def over_a_ring():
    """A dot whose epilogue converts where its operands lay."""
    module = with_rings("matmul_f16_nn_f16")
    [conversion] = [op for op in find(module, "nv_tileas.convert_layout") if "scratch_offset" in op.attributes]
    start = conversion.attributes["scratch_offset"].value.data
    rings = [ring.attributes["shared_offset"].value.data for ring in find(module, "nv_tileas.alloc_tensor")]
    assert min(rings) == start
    return module, conversion


def test_scratch_that_does_not_wait_for_the_readers_of_a_ring_is_refused():
    module, conversion = over_a_ring()
    conversion.attributes.pop("sync_before")
    with pytest.raises(InternalError, match="writes over stage"):
        verify_cp_async_buffers(module)


def test_scratch_before_the_last_copies_have_landed_is_refused():
    module, _ = over_a_ring()
    find(module, "nv_tileas.async_wait")[-1].detach()
    with pytest.raises(InternalError, match="writes over stage"):
        verify_cp_async_buffers(module)


def test_scratch_over_tiles_that_are_still_to_be_read_is_refused():
    module, conversion = over_a_ring()
    first = next(op for op in find(module, "nv_tileas.local_load"))
    conversion.detach()
    first.parent.insert_op_before(conversion, first)
    with pytest.raises(InternalError, match="cp-async-verifier"):
        verify_cp_async_buffers(module)
