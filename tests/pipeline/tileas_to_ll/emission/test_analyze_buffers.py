"""Where buffers are: each in shared memory, the arguments of prints on the stack."""

import pytest
from xdsl.dialects.builtin import IntegerAttr, i32

from tests.pipeline.tileas_to_ll.printing_matmul import JOB, before_conversion, first, scheduled
from tileiras_build.errors import InternalError
from tileiras_build.pipeline.contracts import run_passes
from tileiras_build.pipeline.tileas_to_ll.convert_tile_as_to_llvm import ConvertTileASToLLVM
from tileiras_build.pipeline.tileas_to_ll.emission.analyze_buffers import analyze_buffers


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
    with pytest.raises(InternalError, match="buffer-place"):
        run_passes([ConvertTileASToLLVM], module, JOB)


@pytest.mark.seed("lowering-overview", "phase-1-print")
def test_a_print_that_is_not_decomposed_is_refused():
    with pytest.raises(InternalError, match="print-operands"):
        analyzed(scheduled(), "nv_tileaa.func")
