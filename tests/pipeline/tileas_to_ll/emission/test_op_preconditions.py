"""What an operation must satisfy before it becomes thread code."""

import pytest
from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnrealizedConversionCastOp, i32
from xdsl.dialects.llvm import LLVMPointerType

from tests.pipeline.tileas_to_ll.printing_matmul import JOB, before_conversion, body_of, first
from tileiras_build.core.errors import InternalError
from tileiras_build.pipeline.pass_manager import run_passes
from tileiras_build.pipeline.tileas_to_ll.convert_tile_as_to_llvm import ConvertTileASToLLVM
from tileiras_build.pipeline.tileas_to_ll.emission.buffer_offsets import Buffers
from tileiras_build.pipeline.tileas_to_ll.emission.op_preconditions import check_operation
from tileiras_build.target.targets import find_target


def refused(module, pattern):
    with pytest.raises(InternalError, match=pattern):
        run_passes([ConvertTileASToLLVM], module, JOB)


@pytest.mark.seed("lowering-overview", "phase-4-bulk")
def test_a_copy_to_a_buffer_without_a_place_is_refused():
    copy = first(before_conversion(), "nv_tileas.async_tiled_load")
    with pytest.raises(InternalError, match="copy-buffer"):
        check_operation(copy, Buffers(), JOB.target)
    check_operation(copy, Buffers({copy.buffer: 0}), JOB.target)


@pytest.mark.seed("lowering-overview", "phase-4-bulk")
def test_a_copy_of_another_shape_is_refused():
    module = before_conversion()
    copy = first(module, "nv_tileas.async_tiled_load")
    layout = copy.attributes["layout"]
    copy.attributes["layout"] = type(layout)(layout.data.reshape((layout.data.size,)))
    refused(module, "copy-shape")


@pytest.mark.seed("lowering-overview", "phase-5-cute")
def test_an_atom_that_nobody_knows_is_refused():
    module = before_conversion()
    first(module, "nv_tileas.dot").attributes["mma"] = StringAttr("mma_of_tomorrow")
    refused(module, "atom-unknown.*mma_of_tomorrow.*sm_80")


@pytest.mark.seed("lowering-overview", "phase-5-cute")
def test_an_atom_of_another_gpu_is_refused():
    dot = first(before_conversion(), "nv_tileas.dot")
    dot.attributes["mma"] = StringAttr("wgmma_m64k16_f16_f16_f32")
    check_operation(dot, Buffers(), find_target("sm_90"))
    with pytest.raises(InternalError, match="atom-unknown.*sm_100"):
        check_operation(dot, Buffers(), find_target("sm_100"))


@pytest.mark.seed("lowering-overview", "atom-witnesses")
@pytest.mark.parametrize("atom", ["ldmatrix_of_tomorrow", "tma_load"])
def test_a_copy_by_an_atom_that_the_gpu_lacks_is_refused(atom):
    module = before_conversion()
    first(module, "nv_tileas.local_load").attributes["copy_atom"] = StringAttr(atom)
    refused(module, f"atom-unknown.*uses {atom}, which sm_80 does not have")


@pytest.mark.seed("lowering-overview", "phase-6-async")
@pytest.mark.parametrize("pending", [99, -1])
def test_a_wait_that_leaves_more_pending_than_there_are_stages_is_refused(pending):
    module = before_conversion()
    first(module, "nv_tileas.async_wait").attributes["pending"] = IntegerAttr(pending, i32)
    refused(module, f"wait-pending.*{pending} groups")


def test_a_stage_that_iterations_share_is_one_for_each_of_them():
    module = before_conversion()
    wait, ring = first(module, "nv_tileas.async_wait"), first(module, "nv_tileas.alloc_tensor").result
    wait.attributes["pending"] = IntegerAttr(ring.type.stages.data, i32)
    check_operation(wait, Buffers({ring: 0}, steps=2), JOB.target)
    with pytest.raises(InternalError, match="wait-pending"):
        check_operation(wait, Buffers({ring: 0}), JOB.target)


@pytest.mark.seed("lowering-overview", "phase-8-casts")
def test_a_cast_between_other_forms_is_refused():
    module = before_conversion()
    number = first(module, "nv_tileas.get_program_id").results[0]
    wrong, _ = UnrealizedConversionCastOp.cast_one(number, LLVMPointerType())
    body_of(module).insert_op_before(wrong, body_of(module).last_op)
    refused(module, r"cast-survives.*from i32 to !llvm.ptr")


def casts(module):
    """From which types to which."""
    found = (op for op in module.walk() if isinstance(op, UnrealizedConversionCastOp))
    return {(*op.operand_types, *op.result_types) for op in found}


@pytest.mark.seed("lowering-overview", "phase-8-casts")
def test_casts_between_equal_forms_vanish():
    module = before_conversion()
    before = casts(module)
    assert before
    run_passes([ConvertTileASToLLVM], module, JOB)
    assert not before & casts(module)
