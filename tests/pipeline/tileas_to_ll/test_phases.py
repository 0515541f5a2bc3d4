"""The nine phases over bodies: what each leaves behind, and what happens without it or out of order."""

from dataclasses import replace
from itertools import pairwise

import pytest
from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnrealizedConversionCastOp, i8, i32
from xdsl.dialects.llvm import LLVMPointerType

from tests.examples.example_library import bytecode_of
from tileiras_build import driver
from tileiras_build.dialects import arith
from tileiras_build.dialects.definition import define
from tileiras_build.errors import InternalError
from tileiras_build.pipeline import text_format, tileas_to_ll
from tileiras_build.pipeline.contracts import run_passes
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.tileas_to_ll import PASSES, phases
from tileiras_build.pipeline.tileas_to_ll.decompose_prints import VARARGS, PrintOp
from tileiras_build.pipeline.tileas_to_ll.handlers import HANDLERS
from tileiras_build.pipeline.tileas_to_ll.kernel_emitter import KernelEmitter
from tileiras_build.pipeline.tileas_to_ll.module_emitter import ModuleEmitter
from tileiras_build.pipeline.tileas_to_ll.phases import PHASES, body_of, convert_body, owner_by_name, owner_of
from tileiras_build.targets import find_target

JOB = Job(find_target("sm_80"))
NAMES = tuple(phase.name for phase in PHASES)
TILEAS = driver.lower(bytecode_of("matmul_f16_nt"), "tilebc", "tileas", JOB)[".tileas"]


def module():
    """A pipelined product that also prints a small integer: every phase has something to do."""
    made = text_format.parse(TILEAS)
    kernel = next(op for op in made.body.block.ops if op.name == "nv_tileaa.func")
    block = kernel.regions[0].block
    number = next(op for op in block.ops if op.name == "nv_tileas.get_program_id").results[0]
    narrow = arith.TruncIOp.make([number], [i8])
    again = arith.TruncIOp.make([number], [i8])
    token = next(op for op in block.walk() if op.name == "nv_tileas.create_mem_token").results[0].type
    printing = PrintOp.make([[narrow.results[0], again.results[0]], None], [token], {"format": StringAttr("%d %u\n")})
    for op in (narrow, again, printing):
        block.insert_op_before(op, block.last_op)
    return made


class Body:
    """The kernel of ``module`` and its emitter, before any phase."""

    def __init__(self):
        made = run_passes(PASSES, module(), JOB)
        emitter = ModuleEmitter(made, JOB)
        self.kernel = next(op for op in made.body.block.ops if op.name == "func.func")
        self.e = KernelEmitter(emitter, JOB, self.kernel.attributes["num_warps"].value.data, HANDLERS)
        for index, argument in enumerate(self.kernel.regions[0].block.args):
            emitter._parameter(self.e, argument, index)
        self.done: list[str] = []

    def run(self, count: int):
        """The first ``count`` phases."""
        for phase in PHASES[:count]:
            phases._run(phase, self.e, self.kernel)
            self.done.append(phase.name)
        return self

    def left(self) -> set[str]:
        """The operations without a writer."""
        return {op.name for op in body_of(self.kernel) if op not in self.e.writers}

    def names(self) -> list[str]:
        return [op.name for op in body_of(self.kernel)]

    def find(self, name: str):
        return next(op for op in body_of(self.kernel) if op.name == name)


@pytest.mark.seed("lowering-overview", "phase-1-print")
def test_prints_take_the_types_of_varargs():
    assert not all(value.type in VARARGS for value in Body().find("nv_tileas.print").values)
    after = Body().run(1)
    values = after.find("nv_tileas.print").values
    assert all(value.type in VARARGS for value in values)
    assert [value.owner.name for value in values] == ["arith.extsi", "arith.extui"]


@pytest.mark.seed("lowering-overview", "phase-2-bufferization")
def test_buffers_have_their_places():
    body = Body().run(2)
    rings = [op for op in body_of(body.kernel) if op.name == "nv_tileas.alloc_tensor"]
    assert body.e.buffers.places == {op.result: op.attributes["shared_offset"].value.data for op in rings}
    assert len(rings) == 2 and body.e.buffers.print_bytes == 8 and not body.e.buffers.generic
    assert not body.e.writers


@pytest.mark.seed("lowering-overview", "phase-2-bufferization")
@pytest.mark.parametrize("offset", [None, -1, 1 << 20])
def test_a_buffer_outside_shared_memory_is_refused(offset):
    body = Body().run(1)
    ring = body.find("nv_tileas.alloc_tensor")
    del ring.attributes["shared_offset"]
    if offset is not None:
        ring.attributes["shared_offset"] = IntegerAttr(offset, i32)
    with pytest.raises(InternalError, match="buffer-place"):
        phases._run(PHASES[1], body.e, body.kernel)


@pytest.mark.seed("lowering-overview", "phase-3-main")
def test_tiles_are_converted_first():
    body = Body().run(3)
    left = {name for name in body.left() if name.startswith("nv_tileas.")}
    assert left == {"nv_tileas.async_tiled_load", "nv_tileas.async_commit", "nv_tileas.async_wait", "nv_tileas.dot"}
    assert body.e.pointer_space == ".global" and not body.e.b.lines


@pytest.mark.seed("lowering-overview", "phase-4-bulk")
def test_bulk_copies_are_converted_next():
    assert "nv_tileas.async_tiled_load" in Body().run(3).left() - Body().run(4).left()
    body = Body().run(3)
    copy = body.find("nv_tileas.async_tiled_load")
    del body.e.buffers.places[copy.buffer]
    with pytest.raises(InternalError, match="copy-buffer"):
        phases._run(PHASES[3], body.e, body.kernel)


@pytest.mark.seed("lowering-overview", "phase-4-bulk")
def test_a_copy_of_another_shape_is_refused():
    body = Body().run(3)
    copy = body.find("nv_tileas.async_tiled_load")
    layout = copy.attributes["layout"]
    copy.attributes["layout"] = type(layout)(layout.data.reshape((layout.data.size,)))
    with pytest.raises(InternalError, match="copy-shape"):
        phases._run(PHASES[3], body.e, body.kernel)


@pytest.mark.seed("lowering-overview", "phase-5-cute")
def test_atoms_are_dispatched_for_the_target():
    assert "nv_tileas.dot" in Body().run(4).left() - Body().run(5).left()
    body = Body().run(4)
    body.find("nv_tileas.dot").attributes["atom"] = StringAttr("mma_of_tomorrow")
    with pytest.raises(InternalError, match="atom-unknown.*mma_of_tomorrow.*sm_80"):
        phases._run(PHASES[4], body.e, body.kernel)


@pytest.mark.seed("lowering-overview", "phase-5-cute")
@pytest.mark.parametrize("name", ["cute.probe", "cute_nvgpu.probe", "cutlass.probe"])
def test_companion_operations_end_with_their_phase(name):
    made = module()
    block = next(op for op in made.body.block.ops if op.name == "nv_tileaa.func").regions[0].block
    block.insert_op_before(
        define(name, "", "", "an operation without a conversion", pure=False).make([], []), block.last_op
    )
    with pytest.raises(InternalError, match=f"phase-contract.*{name} survived phase convert-cute$"):
        tileas_to_ll.lower(made, JOB)


@pytest.mark.seed("lowering-overview", "phase-6-async")
def test_pipelines_are_converted_after_what_they_guard():
    gone = Body().run(5).left() - Body().run(6).left()
    assert gone == {"nv_tileas.async_commit", "nv_tileas.async_wait"}
    body = Body().run(5)
    body.find("nv_tileas.async_wait").attributes["pending"] = IntegerAttr(99, i32)
    with pytest.raises(InternalError, match="wait-pending.*99 groups"):
        phases._run(PHASES[5], body.e, body.kernel)


@pytest.mark.seed("lowering-overview", "phase-7-cleanup")
def test_arithmetic_is_merged_and_converted():
    before, after = Body().run(6), Body().run(7)
    assert before.names().count("arith.trunci") == 2 and after.names().count("arith.trunci") == 1
    assert any(name.startswith("arith.") for name in before.left())
    assert not any(name.startswith(("arith.", "math.")) for name in after.left())


@pytest.mark.seed("lowering-overview", "phase-8-casts")
def test_casts_between_equal_forms_are_all_that_is_reconciled():
    cast = "builtin.unrealized_conversion_cast"
    assert Body().run(7).left() == {cast} and not Body().run(8).left()
    body = Body().run(7)
    wrong, _ = UnrealizedConversionCastOp.cast_one(body.find("nv_tileas.get_program_id").results[0], LLVMPointerType())
    body.kernel.regions[0].block.insert_op_before(wrong, body.kernel.regions[0].block.last_op)
    with pytest.raises(InternalError, match=r"cast-survives.*from i32 to !llvm.ptr"):
        phases._run(PHASES[7], body.e, body.kernel)


@pytest.mark.seed("lowering-overview", "phase-9-late")
def test_the_code_is_written_last():
    body = Body().run(8)
    assert not body.e.b.lines and not body.e.prologue
    phases._run(PHASES[8], body.e, body.kernel)
    assert sum("@llvm.nvvm.mma.m16n8k16" in line for line in body.e.b.lines) > 0
    # Addresses that depend on the thread alone are computed once, before the body.
    assert any("tid.x" in line for line in body.e.prologue)


def linked(rows: list) -> tuple:
    """The rows with their order said anew: only what a phase does can find it wrong."""
    names = [None, *(row.name for row in rows)]
    return tuple(replace(row, after=name) for row, name in zip(rows, names))


@pytest.mark.seed(
    "lowering-overview", "phase-1-print", "phase-2-bufferization", "phase-3-main", "phase-4-bulk", "phase-5-cute",
    "phase-6-async", "phase-7-cleanup", "phase-8-casts", "phase-9-late",
)  # fmt: skip
@pytest.mark.parametrize("name", NAMES)
def test_a_missing_phase_is_noticed(name, monkeypatch):
    rows = [phase for phase in PHASES if phase.name != name]
    for table in (tuple(rows), linked(rows)):
        monkeypatch.setattr(phases, "PHASES", table)
        with pytest.raises(InternalError):
            tileas_to_ll.lower(module(), JOB)


@pytest.mark.seed(
    "lowering-overview", "phase-1-print", "phase-2-bufferization", "phase-3-main", "phase-4-bulk", "phase-5-cute",
    "phase-6-async", "phase-7-cleanup", "phase-8-casts", "phase-9-late",
)  # fmt: skip
@pytest.mark.parametrize("position", range(len(PHASES) - 1))
def test_phases_out_of_order_are_noticed(position, monkeypatch):
    rows = list(PHASES)
    rows[position], rows[position + 1] = rows[position + 1], rows[position]
    monkeypatch.setattr(phases, "PHASES", tuple(rows))
    with pytest.raises(InternalError, match="phase-order.*must run right after"):
        tileas_to_ll.lower(module(), JOB)


def test_each_phase_names_the_one_before_it():
    assert PHASES[0].after is None
    assert all(second.after == first.name for first, second in pairwise(PHASES))


def test_every_operation_with_a_writer_has_a_phase():
    assert {name for name in HANDLERS if owner_by_name(name) is None} == set()


def test_the_phases_write_what_the_stage_writes():
    body = Body()
    convert_body(body.e, body.kernel)
    text = tileas_to_ll.lower(module(), JOB)
    assert "\n".join(body.e.b.lines[-20:]) in text
    assert all(owner_of(op) in NAMES for op in body_of(body.kernel))
