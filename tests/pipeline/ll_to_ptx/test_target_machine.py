"""ll_to_ptx/target_machine.py: both triples, and one target machine for each triple, chip, feature string and level."""

from dataclasses import replace

import llvmlite.binding as llvm
import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.pipeline import ll_to_ptx
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx import target_machine as machines
from tileiras_build.pipeline.ll_to_ptx.target_machine import (
    TRIPLE,
    TRIPLES,
    MachineRequest,
    data_layout,
    target_machine,
    target_machine_for,
)
from tileiras_build.target.targets import TARGETS

REQUEST = MachineRequest(TRIPLE, "sm_90a", "+ptx83")
STORE = """
define ptx_kernel void @k(ptr addrspace(1) %p) {
  store ptr addrspace(1) %p, ptr addrspace(1) %p
  ret void
}
"""


def emit(request: MachineRequest, text: str = STORE) -> str:
    made = target_machine(request)
    with llvm.create_context() as context, llvm.parse_assembly(text, context=context) as module:
        module.triple, module.data_layout = request.triple, data_layout(request.triple)
        return made.emit_assembly(module)


@pytest.mark.seed("codegen-overview", "init-registry", "init-services")
@pytest.mark.seed("nvptx-bring-up", "service-target-info", "service-target", "triples-share-services")
@pytest.mark.seed("nvptx-bring-up", "asm-pointer-size", "asm-stack-slot-size")
@pytest.mark.parametrize("triple, bits", [("nvptx64-nvidia-cuda", 64), ("nvptx-nvidia-cuda", 32)])
def test_both_triples_emit_their_pointers(triple, bits):
    ptx = emit(replace(REQUEST, triple=triple))
    assert f".address_size {bits}" in ptx and f".param .u{bits} .ptr" in ptx
    frame = emit(replace(REQUEST, triple=triple), FRAME)
    assert f".reg .b{bits} \t%SP" in frame, "the stack pointer has the triple's size"
    assert ".version 8.3" in ptx and ".target sm_90a" in ptx, "chip and features are the request's"


FRAME = """
define ptx_kernel void @k(ptr %p, i32 %i) {
  %a = alloca [8 x i32]
  %g = getelementptr i32, ptr %a, i32 %i
  store volatile i32 %i, ptr %g
  ret void
}
"""


@pytest.mark.seed("nvptx-bring-up", "registration-first")
def test_targets_are_registered_before_one_is_looked_up(monkeypatch):
    order = []
    look_up, register = llvm.Target.from_triple, machines.initialize_llvm
    monkeypatch.setattr(machines, "initialize_llvm", lambda: order.append("registered") or register())
    monkeypatch.setattr(llvm.Target, "from_triple", lambda triple: order.append("looked up") or look_up(triple))
    target_machine(replace(REQUEST, features="+ptx81"))
    assert order == ["registered", "looked up"]


@pytest.mark.seed("nvptx-bring-up", "target-options")
def test_machines_are_exact():
    ptx = emit(replace(REQUEST, opt_level=3), EXACT)
    assert all(name in ptx for name in ("mul.rn.f32", "add.rn.f32", "div.rn.f32", "sqrt.rn.f32")) and "fma" not in ptx


def test_the_code_generator_leaves_out_strength_reduction_of_straight_lines():
    """It would compute %y as %x plus %s."""
    assert emit(REQUEST, ADDS_OF_MULTIPLES).count("mad.lo.s32") == 2


ADDS_OF_MULTIPLES = """
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %b, i32 %s) {
  %m6 = mul i32 %s, 6
  %x = add i32 %b, %m6
  store volatile i32 %x, ptr addrspace(1) %p
  %m7 = mul i32 %s, 7
  %y = add i32 %b, %m7
  store volatile i32 %y, ptr addrspace(1) %p
  ret void
}
"""
EXACT = """
declare float @llvm.sqrt.f32(float)
define ptx_kernel void @k(ptr addrspace(1) %p, float %f) {
  %m = fmul float %f, %f
  %a = fadd float %m, %f
  %d = fdiv float %a, %f
  %s = call float @llvm.sqrt.f32(float %d)
  store float %s, ptr addrspace(1) %p
  ret void
}
"""


@pytest.mark.seed("codegen-overview", "default-triple")
def test_the_device_path_is_64_bit():
    assert TRIPLE == "nvptx64-nvidia-cuda"
    assert ".address_size 64" in ll_to_ptx.lower(STORE, Job(TARGETS["sm_90"]))


def test_a_module_may_ask_for_32_bits():
    text = 'target triple = "nvptx-nvidia-cuda"\n' + STORE
    assert ".address_size 32" in ll_to_ptx.lower(text, Job(TARGETS["sm_90"]))


@pytest.mark.seed("nvptx-bring-up", "diag-triple", "gpulibs-metadata")
@pytest.mark.parametrize("triple", ["nvptx64-nvidia-gpulibs", "x86_64-unknown-linux-gnu", ""])
def test_other_triples_are_no_targets(triple):
    with pytest.raises(InvalidInput, match="failed to look up NVPTX target for requested triple"):
        target_machine(replace(REQUEST, triple=triple))
    with pytest.raises(InvalidInput, match="target-triple"):
        ll_to_ptx.lower(f'target triple = "{triple}"\n{STORE}', Job(TARGETS["sm_90"]))


@pytest.mark.seed("nvptx-bring-up", "cache-reuse")
def test_equal_requests_share_a_machine():
    assert target_machine(REQUEST) is target_machine(MachineRequest(TRIPLE, "sm_90a", "+ptx83"))
    assert target_machine_for(TARGETS["sm_90"], 2) is target_machine_for(TARGETS["sm_90"], 2)


@pytest.mark.seed("nvptx-bring-up", "cache-new", "cache-key", "service-subtarget-info")
@pytest.mark.seed("codegen-overview", "init-machine-key")
@pytest.mark.parametrize(
    "change, shown",
    [
        ({"features": "+ptx86"}, ".version 8.6"),
        ({"chip": "sm_80"}, ".target sm_80"),
        ({"triple": TRIPLES[1]}, ".address_size 32"),
    ],
)
def test_any_difference_makes_a_new_machine(change, shown):
    first, second = target_machine(REQUEST), target_machine(replace(REQUEST, **change))
    assert first is not second
    assert shown in emit(replace(REQUEST, **change)) and shown not in emit(REQUEST)


def test_levels_have_machines_of_their_own():
    assert target_machine(replace(REQUEST, opt_level=0)) is not target_machine(REQUEST)
