"""What LLVM may do with a call: marked memory effects keep it, convergence keeps it where it is."""

import pytest

from tests.meta.import_graph import PACKAGE
from tileiras_build.driver import compile
from tileiras_build.frontend.export_cutile import export_kernels
from tileiras_build.pipeline import ll_to_ptx
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx import compile_module
from tileiras_build.target.targets import TARGETS

JOB = Job(TARGETS["sm_90"])
EXAMPLES = PACKAGE.parent / "examples" / "kernels"


def lower(body: str, tail: str = "") -> str:
    head = "define ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(3) %s, i32 %i, i1 %c) {\n"
    return ll_to_ptx.lower(f"{head}{body}\n  ret void\n}}\n{tail}", JOB)


@pytest.mark.seed("nvptx-bring-up", "mapping-effects-kept", "mapping-effects")
@pytest.mark.parametrize(
    "marks, constraints, kept",
    [("sideeffect ", "=r,l,~{memory}", 2), ("sideeffect ", "=r,l", 2), ("", "=r,l", 0)],
)
def test_a_marked_operation_without_users_stays(marks, constraints, kept):
    call = f'call i32 asm {marks}"atom.global.inc.u32 $0, [$1], 7;", "{constraints}"(ptr addrspace(1) %p)'
    assert lower(f"  %x = {call}\n  %y = {call}").count("atom.global.inc") == kept


@pytest.mark.seed("nvptx-bring-up", "mapping-effects-kept")
@pytest.mark.parametrize("marks, loads", [("sideeffect ", 2), ("", 1)])
def test_a_marked_operation_is_not_merged(marks, loads):
    call = f'call i32 asm {marks}"ld.global.u32 $0, [$1];", "=r,l"(ptr addrspace(1) %p)'
    ptx = lower(f"  %x = {call}\n  %y = {call}\n  %z = mul i32 %x, %y\n  store i32 %z, ptr addrspace(1) %p")
    assert ptx.count("ld.global.u32") == loads


@pytest.mark.seed("nvptx-bring-up", "mapping-effects", "mapping-intrinsic")
def test_writing_intrinsics_stay_and_reading_ones_go():
    body = (
        "  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %s, i32 1)\n"
        "  %t = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) %s)\n"
        "  %u = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    )
    ptx = lower(body)
    assert "mbarrier.init.shared" in ptx and "mbarrier.arrive.shared" in ptx and "%tid.x" not in ptx


@pytest.mark.seed("nvptx-bring-up", "mapping-assembly", "mapping-modifiers")
def test_assembly_is_copied_verbatim():
    asm = 'call i32 asm "{ .reg .pred q; setp.ne.u32 q, $1, 0; selp.u32 $0, 1, 2, q; }", "=r,r"(i32 %i)'
    ptx = lower(f"  %x = {asm}\n  store i32 %x, ptr addrspace(1) %p")
    assert "{ .reg .pred q; setp.ne.u32 q, %r" in ptx


@pytest.mark.seed("nvptx-bring-up", "mapping-effects")
@pytest.mark.parametrize("mark, before_the_branch", [("convergent ", True), ("", False)])
def test_a_convergent_call_is_not_made_conditional(mark, before_the_branch, monkeypatch):
    """Only one side of the branch uses the result: LLVM sinks the call there unless it is convergent."""
    monkeypatch.setattr(compile_module, "check_module", lambda text, target: None)  # it would refuse the second case
    call = 'call i32 asm "shfl.sync.bfly.b32 $0, $1, 1, 31, -1;", "=r,r"(i32 %i) #0'
    body = f"""  %x = {call}
  br i1 %c, label %then, label %end
then:
  store i32 %x, ptr addrspace(1) %p
  br label %end
end:"""
    ptx = lower(body, f"attributes #0 = {{ {mark}nounwind willreturn memory(none) }}\n")
    assert (ptx.index("shfl.sync") < ptx.index("bra")) == before_the_branch


@pytest.mark.seed("nvptx-bring-up", "mapping-effects")
@pytest.mark.parametrize("name", ["transpose", "matmul"])
def test_every_collective_that_we_write_is_convergent(name):
    data = next(iter(export_kernels(EXAMPLES / f"{name}.py").values()))
    text = compile(data, "sm_90", stop_at="ll").ll
    groups = {line.split()[1] for line in text.splitlines() if line.startswith("attributes") and "convergent" in line}
    collectives = [line for line in text.splitlines() if " asm " in line and (".sync" in line or ".aligned" in line)]
    assert all(f"#{line.rpartition('#')[2].split()[0]}" in groups for line in collectives)
    intrinsics = [line for line in text.splitlines() if "@llvm.nvvm.barrier" in line or "@llvm.nvvm.mma" in line]
    assert collectives or intrinsics
