"""Kernels of tiles as thread code: what is left, where it stands, and what is refused."""

import pytest

from tests.pipeline.tileas_to_ll.printing_matmul import (
    CONVERSION,
    JOB,
    before_conversion,
    body_of,
    converted,
    first,
    scheduled,
)
from tileiras_build.core.errors import InternalError
from tileiras_build.ir.dialects.op_definition import define
from tileiras_build.pipeline import tileas_to_ll
from tileiras_build.pipeline.common.llvm_type_constructors import I32
from tileiras_build.pipeline.pass_manager import run_passes
from tileiras_build.pipeline.tileas_to_ll import PASSES
from tileiras_build.pipeline.tileas_to_ll.decompose_prints import VARARGS
from tileiras_build.pipeline.tileas_to_ll.emission.instruction_builder import InstructionBuilder
from tileiras_build.pipeline.tileas_to_ll.emission.register_values import LazyElement, LazyValues, materialize

THREAD = ("builtin.", "cute_nvgpu.", "gpu.", "llvm.", "math.", "nvgpu.", "nvvm.")


def finished():
    """The module that is written as LLVM IR."""
    return run_passes(PASSES, scheduled(), JOB)


def names(module) -> list[str]:
    return [op.name for op in module.walk()]


@pytest.mark.seed("lowering-overview", "phase-1-print")
def test_prints_take_the_types_of_varargs():
    assert not all(value.type in VARARGS for value in first(scheduled(), "nv_tileas.print").values)
    values = first(before_conversion(), "nv_tileas.print").values
    assert all(value.type in VARARGS for value in values)
    assert [value.owner.name for value in values] == ["arith.extsi", "arith.extui"]


@pytest.mark.seed("lowering-overview", "phase-3-main")
def test_only_thread_code_is_left():
    module = converted()
    # Numbers of threads and programs are of type index until gpu's operations are converted.
    assert {name for name in names(module) if not name.startswith(THREAD)} <= {"arith.index_cast"}
    [device] = module.body.block.ops
    assert device.name == "gpu.module"
    module.verify()


@pytest.mark.seed("lowering-overview", "phase-3-main")
def test_what_is_written_is_of_llvm_and_nvvm():
    written = {name for name in names(finished()) if not name.startswith(("llvm.", "nvvm."))}
    assert written == {"builtin.module", "gpu.module"}


@pytest.mark.seed("lowering-overview", "phase-3-main")
@pytest.mark.seed("lowering-overview", "phase-5-cute")
@pytest.mark.parametrize("name", ["nv_tileas.probe", "cute.probe", "cute_nvgpu.probe", "cutlass.probe", "gpu.probe"])
def test_an_operation_without_a_conversion_is_refused(name):
    module = scheduled()
    probe = define(name, "", "", "an operation without a conversion", pure=False).make([], [])
    body_of(module).insert_op_before(probe, body_of(module).last_op)
    with pytest.raises(InternalError, match=f"emit-no-handler.*{name} has no conversion"):
        tileas_to_ll.lower(module, JOB)


@pytest.mark.seed("lowering-overview", "phase-3-main")
def test_an_operation_that_survives_the_conversion_is_named():
    """A conversion that leaves the kernels unchanged breaks its contract."""

    class Idle(PASSES[CONVERSION]):
        def run(self, module, job):
            pass

    with pytest.raises(InternalError, match=r"pass-illegal-op.*nv_tileas\.\w+ survived pass convert-tile-as-to-llvm"):
        run_passes([Idle], before_conversion(), JOB)


@pytest.mark.seed("lowering-overview", "phase-4-bulk", "phase-5-cute", "phase-6-async")
@pytest.mark.parametrize(
    ("tile", "thread"),
    [
        ("nv_tileas.async_tiled_load", "nvgpu.device_async_copy"),
        ("nv_tileas.dot", "cute_nvgpu.arch.mma.SM80"),
        ("nv_tileas.async_commit", "nvgpu.device_async_create_group"),
        ("nv_tileas.async_wait", "nvgpu.device_async_wait"),
    ],
)
def test_what_tiles_become(tile, thread):
    assert tile in names(before_conversion()) and thread not in names(before_conversion())
    assert thread in names(converted())


@pytest.mark.seed("lowering-overview", "phase-7-cleanup")
def test_arithmetic_is_merged_and_converted():
    assert names(scheduled()).count("arith.trunci") == 2
    assert names(before_conversion()).count("arith.trunci") == 1
    assert not any(name.startswith(("arith.", "math.")) for name in names(finished()))


@pytest.mark.seed("lowering-overview", "phase-9-late")
def test_what_depends_on_the_thread_alone_is_computed_once_at_the_start():
    kernel = next(op for op in finished().walk() if op.name == "llvm.func" and op.body.blocks)
    entry = kernel.body.blocks[0]
    readers = [op for op in kernel.walk() if op.name == "nvvm.read.ptx.sreg.tid.x"]
    mmas = [op for op in kernel.walk() if op.name == "nvvm.mma.sync.atom"]
    assert [op.parent for op in readers] == [entry]
    assert mmas and entry not in [op.parent for op in mmas]


@pytest.mark.seed("lowering-overview", "phase-9-late")
def test_a_late_value_stands_where_it_is_first_asked_for():
    b, made = InstructionBuilder(), []

    def load():
        made.append("load")
        return [b.binary("add", 1, 2, I32) for _ in range(2)]

    source = LazyValues(load)
    values = [LazyElement(source, position) for position in range(2)]
    assert made == []
    assert materialize(b, values[1]) is materialize(b, values[1]) and made == ["load"]
    materialize(b, values[0])
    assert made == ["load"]
