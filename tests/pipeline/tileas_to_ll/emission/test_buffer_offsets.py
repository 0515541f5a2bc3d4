"""Where buffers are: each in shared memory, the arguments of prints on the stack."""

import pytest
from xdsl.dialects.builtin import IntegerAttr, i32

from tests.pipeline.tileas_to_ll.modules import after, only
from tests.pipeline.tileas_to_ll.printing_matmul import JOB, before_conversion, first, scheduled
from tileiras_build.core.errors import InternalError
from tileiras_build.pipeline.pass_manager import run_passes
from tileiras_build.pipeline.tileas_to_ll.convert_tile_as_to_llvm import ConvertTileASToLLVM
from tileiras_build.pipeline.tileas_to_ll.emission.buffer_offsets import analyze_buffers


def analyzed(module, kernel="func.func"):
    found = first(module, kernel)
    return analyze_buffers(found, found.attributes["shared_bytes"].value.data)


@pytest.mark.seed("lowering-overview", "phase-2-bufferization")
def test_buffers_have_their_places():
    module = before_conversion()
    rings = [op for op in module.walk() if op.name == "nv_tileas.alloc_tensor"]
    buffers = analyzed(module)
    assert buffers.places == {op.result: op.attributes["shared_offset"].value.data for op in rings}
    assert len(set(buffers.places.values())) == len(rings) == 2
    assert not buffers.generic


@pytest.mark.seed("lowering-overview", "phase-2-bufferization")
@pytest.mark.parametrize("offset", [None, -1, 1 << 20])
def test_a_buffer_outside_shared_memory_is_refused(offset):
    module = before_conversion()
    ring = first(module, "nv_tileas.alloc_tensor")
    del ring.attributes["shared_offset"]
    if offset is not None:
        ring.attributes["shared_offset"] = IntegerAttr(offset, i32)
    with pytest.raises(InternalError, match="buffer-address"):
        run_passes([ConvertTileASToLLVM], module, JOB)


STORAGE = """nv_tileaa.func @k attributes {num_warps = 1 : i32, shared_bytes = 16 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>, %x: f32):
  ALLOCA
  %t = nv_tileas.store %p, %x {mem_semantic = "weak"} : (!nv_tileaa.ptr<f32>, f32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}"""
ALLOCA = (
    "%own = nv_tileas.alloca {num_elem = 4 : i64, alignment = 16 : i64, shared_offset = 0 : i32} : !nv_tileaa.ptr<f32>"
)


@pytest.mark.seed("lowering-overview", "phase-2-bufferization")
@pytest.mark.parametrize(("storage", "space"), [("", "global"), (ALLOCA, None)])
def test_pointers_are_global_where_the_kernel_has_no_storage_of_its_own(storage, space):
    """What the analysis says of all of a kernel is known before its first operation is converted."""
    made = after(STORAGE.replace("ALLOCA", storage), "convert-nv-tile-func-to-llvm", "convert-tile-as-to-llvm")
    store = only(made, "nvvm.st")
    assert ("space" in store.attributes or "space" in store.properties) == (space is not None)


@pytest.mark.seed("lowering-overview", "phase-1-print")
def test_a_print_that_is_not_decomposed_is_refused():
    with pytest.raises(InternalError, match="print-operands"):
        analyzed(scheduled(), "nv_tileaa.func")
