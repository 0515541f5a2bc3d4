"""The verifier of scratch memory accepts what the pipeline makes and refuses what lacks a barrier or overlaps."""

import pytest
from xdsl.dialects.builtin import IntegerAttr, i32

from tests.pipeline.verifiers.lowered_examples import scheduled
from tileiras_build.core.errors import InternalError
from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.pipeline.verifiers.cp_async_buffers import verify_cp_async_buffers
from tileiras_build.pipeline.verifiers.shared_memory_allocation import verify_shared_memory_allocation

TILE, OTHER = "#cute.layout<(64), (32,2,1):(1,32,0)>", "#cute.layout<(64), (32,2,1):(2,1,0)>"
HEAD = f"!a = tensor<64xf32, {TILE}>\n!b = tensor<64xf32, {OTHER}>\n"


def kernel(body: str, shared: int = 512):
    text = f"""{HEAD}nv_tileaa.func @k attributes {{num_warps = 2 : i32, shared_bytes = {shared} : i32}} {{
    ^bb0(%x: !a, %c: i1, %n: i32):
      {body}
      nv_tileaa.return
    }}"""
    return parse(text.encode(), "k.tileas")


def convert(offset: int, extra: str = "", size: int = 256) -> str:
    attributes = f"scratch_bytes = {size} : i32, scratch_offset = {offset} : i32{extra}"
    return f"%r{offset}{len(extra)} = nv_tileas.convert_layout %x {{{attributes}}} : (!a) -> !b\n"


def loop(body: str) -> str:
    return f"nv_tileas.for %n, %n, %n : (i32, i32, i32) -> () {{\n^bb1(%i: i32):\n{body}nv_tileas.continue\n}}\n"


def branch(then: str, otherwise: str = "") -> str:
    return f"nv_tileas.if %c : (i1) -> () {{\n{then}nv_tileas.yield\n}} {{\n{otherwise}nv_tileas.yield\n}}\n"


SYNC = ", sync_before"
ACCEPTED = {
    "one": convert(0),
    "own_regions": convert(0) + convert(256),
    "barrier_of_its_own": convert(0) + convert(0, SYNC),
    "barrier_between": convert(0) + "nv_tileas.barrier\n" + convert(0, " "),
    "barrier_inside_a_third": convert(0) + convert(256) + convert(0, " "),
    "loop": loop(convert(0, SYNC)),
    "either_arm": branch(convert(0), convert(0, " ")),
}
REFUSED = {
    "same_region": convert(0) + convert(0, " "),
    "part_of_a_region": convert(0) + convert(128),
    "loop": loop(convert(0)),
    "after_one_arm": branch(convert(0)) + convert(0, " "),
    "after_a_loop": loop(convert(0, SYNC)) + convert(0, " "),
}


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED)
def test_separated_users_are_accepted(body):
    assert verify_shared_memory_allocation(kernel(body)) == body.count("scratch_offset")


def test_an_iteration_that_is_cut_short_is_followed():
    """``continue`` in a branch leads from the first conversion straight to itself."""
    cut = "nv_tileas.if %c : (i1) -> () {\nnv_tileas.continue\n} {\nnv_tileas.yield\n}\n"
    body = f"{convert(0, SYNC)}{cut}{convert(256)}nv_tileas.break\n"
    assert verify_shared_memory_allocation(kernel(f"nv_tileas.loop : () -> () {{\n{body}}}\n")) == 2
    with pytest.raises(InternalError, match="may write where"):
        verify_shared_memory_allocation(kernel(f"nv_tileas.loop : () -> () {{\n{body.replace(SYNC, '')}}}\n"))


@pytest.mark.parametrize("name", REFUSED)
def test_overlapping_users_are_refused(name):
    with pytest.raises(InternalError, match="scratch-verifier.*convert_layout .* may write where"):
        verify_shared_memory_allocation(kernel(REFUSED[name]))


def test_region_beyond_the_kernels_memory_is_refused():
    with pytest.raises(InternalError, match="is not placed"):
        verify_shared_memory_allocation(kernel(convert(256, size=512)))


def test_storage_shares_no_byte():
    attributes = "num_elem = 16 : i64, alignment = 16 : i64, shared_offset = 128 : i32"
    alloca = f"%s = nv_tileas.alloca {{{attributes}}} : !nv_tileaa.ptr<i32>\n"
    with pytest.raises(InternalError, match="storage .128, 192. is not its own"):
        verify_shared_memory_allocation(kernel(alloca + convert(0)))
    assert verify_shared_memory_allocation(kernel(alloca + convert(256))) == 1


RING = "!nv_tileas.buffer<f16, #builtin.int<{}>, #cute.shared<16, swizzle<3,3,3> o (8,64):(64,1)>>"


@pytest.mark.parametrize(("offset", "stages", "loads"), [(1024, 2, 1), (0, 1, 1), (0, 2, 0)])
def test_a_buffer_over_another_one_has_its_stages(offset, stages, loads):
    """The stages of both are filled through one pipeline."""
    under, over = RING.format(2), RING.format(stages)
    body = f"%u = nv_tileas.alloc_tensor {{shared_offset = 0 : i32}} : {under}\n"
    body += f"%o = nv_tileas.alloc_tensor %u {{shared_offset = {offset} : i32}} : ({under}) -> {over}\n"
    match = "are not those of the buffer" if loads else "has tiles of several pipelines"
    with pytest.raises(InternalError, match=match):
        verify_shared_memory_allocation(kernel(body, 4096))


@pytest.mark.parametrize("name", ["attention_f16", "batch_matmul_f16", "matmul_f16_nn", "softmax_f32"])
def test_examples_without_their_barriers_are_refused(name):
    """Every sync_before that the pass writes is needed; a region moved onto another's is noticed."""
    module = scheduled(name, "sm_80")
    users = [op for op in module.walk() if "sync_before" in op.attributes]
    for op in users:
        kept = op.attributes.pop("sync_before")
        with pytest.raises(InternalError, match="scratch-verifier|cp-async-verifier"):
            verify_shared_memory_allocation(module)
            verify_cp_async_buffers(module)
        op.attributes["sync_before"] = kept
    users = [op for op in module.walk() if "scratch_offset" in op.attributes]
    for op in users:
        op.attributes["scratch_offset"] = IntegerAttr(0, i32)
        op.attributes.pop("sync_before", None)
    for barrier in [op for op in module.walk() if op.name == "nv_tileas.barrier"]:
        barrier.detach()
    if len(users) > 1:
        with pytest.raises(InternalError, match="scratch-verifier"):
            verify_shared_memory_allocation(module)
