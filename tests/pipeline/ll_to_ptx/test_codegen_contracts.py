"""What LLVM's passes and code generator promise for device code: address spaces, calls, intrinsics, frames, vectors."""

import re

import numpy as np
import pytest

from tests.pipeline.ll_to_ptx.test_llvm_passes import optimized
from tests.pipeline.ll_to_ptx.test_ptx_text import GLOBAL, kernel, lower
from tileiras_build.core.errors import TileirasError
from tileiras_build.pipeline.ll_to_ptx import compile_module
from tileiras_build.simulate import emulator

SMS = ("sm_80", "sm_90", "sm_100", "sm_120")
CAST = f"""  %g = addrspacecast {GLOBAL} %p to ptr
  %c = icmp slt i32 %i, 4
  br i1 %c, label %a, label %b
a:
  %ga = getelementptr i32, ptr %g, i32 3
  br label %end
b:
  %gb = getelementptr i32, ptr %g, i32 %i
  br label %end
end:
  %q = phi ptr [ %ga, %a ], [ %gb, %b ]
  store i32 %i, ptr %q"""


@pytest.mark.seed("codegen-overview", "address-space-inference", "abi-no-mismatched-casts")
def test_the_space_of_a_generic_pointer_is_inferred_through_arithmetic_and_phis():
    ptx = lower(kernel(CAST))
    assert "st.global.b32" in ptx
    assert not re.search(r"\bst\.b32|\bcvta", ptx), "no generic access and no conversion of addresses is left"


@pytest.mark.seed("codegen-overview", "address-space-inference")
def test_a_pointer_of_unknown_space_stays_generic():
    ptx = lower(kernel("  store i32 %i, ptr %g", "ptr %g, i32 %i"))
    assert "st.global.b32" in ptx, "a kernel's pointer arguments are in global memory"
    unknown = f"  %g = load ptr, {GLOBAL} %p\n  store i32 %i, ptr %g"
    assert re.search(r"\bst\.b32", lower(kernel(unknown)))


REPEATED = f"""  %a = mul i32 %i, 12
  %b = mul i32 %i, 12
  %dead = sdiv i32 %b, 7
  store volatile i32 %a, {GLOBAL} %p
  store volatile i32 %b, {GLOBAL} %p"""


@pytest.mark.seed("codegen-overview", "final-sweep")
@pytest.mark.parametrize("level", [2, 3, "s", "z"])
def test_equal_values_are_computed_once_and_unused_ones_never(level):
    text = optimized(kernel(REPEATED), level)
    assert text.count("mul i32") + text.count("shl i32") == 1 and "sdiv" not in text


SHUFFLED = f"""  %x = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %i, i32 0, i32 31)
  %c = icmp slt i32 %i, 4
  br i1 %c, label %a, label %end
a:
  store i32 %x, {GLOBAL} %p
  br label %end
end:"""
SHUFFLE = "declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)"


@pytest.mark.seed("codegen-overview", "intrinsics-stay-legal")
@pytest.mark.parametrize("level", [1, 3, "z"])
def test_what_a_warp_executes_together_is_not_moved_behind_a_branch(level):
    ptx = lower(kernel(SHUFFLED, tail=SHUFFLE), opt_level=level)
    assert ptx.count("shfl.sync.idx") == 1
    assert ptx.index("shfl.sync.idx") < re.search(r"@!?%p\d+ bra", ptx).start()


FUNCTION = f"""
define internal {{ i32, i64 }} @device({{ i32, i64 }} %s, i32 %x, <4 x float> %v, {GLOBAL} %z) noinline {{
  %a = extractvalue {{ i32, i64 }} %s, 0
  %b = extractvalue {{ i32, i64 }} %s, 1
  %y = add i32 %a, %x
  store i32 %y, {GLOBAL} %z
  %f = extractelement <4 x float> %v, i32 2
  %n = fptosi float %f to i64
  %m = add i64 %n, %b
  %r = insertvalue {{ i32, i64 }} poison, i32 %y, 0
  %q = insertvalue {{ i32, i64 }} %r, i64 %m, 1
  ret {{ i32, i64 }} %q
}}
"""
CALL = f"""  %s0 = insertvalue {{ i32, i64 }} poison, i32 %i, 0
  %s = insertvalue {{ i32, i64 }} %s0, i64 1000, 1
  %v = insertelement <4 x float> poison, float %f, i32 2
  %r = call {{ i32, i64 }} @device({{ i32, i64 }} %s, i32 7, <4 x float> %v, {GLOBAL} %p)
  %a = extractvalue {{ i32, i64 }} %r, 0
  %b = extractvalue {{ i32, i64 }} %r, 1
  %c = trunc i64 %b to i32
  %d = add i32 %a, %c
  %g = getelementptr i32, {GLOBAL} %p, i32 1
  store i32 %d, {GLOBAL} %g"""


@pytest.mark.seed("codegen-overview", "abi-device-parameters", "abi-device-results")
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("sm", SMS)
def test_functions_call_each_other_through_parameter_space(sm, level):
    ptx = lower(kernel(CALL, head=FUNCTION), sm, opt_level=level)
    assert ".func  (.param .align 16 .b8 func_retval0[16]) device(" in ptx
    assert re.search(r"\.param \.align 16 \.b8 device_param_0\[16\],\s+\.param \.b32 device_param_1,", ptx)
    assert re.search(r"\.param \.b64 device_param_3\b", ptx), "an object by pointer is its address"
    assert "st.param.b64 \t[func_retval0+8]" in ptx and re.search(r"ld\.param\.b64 \t%rd\d+, \[retval0\+8\]", ptx)
    out = np.zeros(16, np.int32)
    memory = emulator.Memory()
    arguments = [memory.map_array(out).to_bytes(8, "little"), (35).to_bytes(4, "little"), np.float32(2.5).tobytes()]
    emulator.run_ptx(ptx, "k", 1, 1, arguments, memory=memory)
    assert list(out[:2]) == [42, 42 + 2 + 1000]


@pytest.mark.seed("codegen-overview", "vector-memory")
def test_a_wide_vector_is_one_access_where_the_target_has_it():
    body = f"""  %x = load <8 x float>, {GLOBAL} %p, align 32
  %y = fmul <8 x float> %x, %x
  store <8 x float> %y, {GLOBAL} %p, align 32"""
    assert re.search(r"ld\.global\.(v8\.b32|v4\.b64)", lower(kernel(body), "sm_100"))
    assert lower(kernel(body), "sm_90").count("ld.global.v4.b32") == 2


@pytest.mark.seed("codegen-overview", "vector-memory")
def test_vectors_of_parameter_space():
    body = f"  %s = fadd <4 x float> %v, %v\n  store <4 x float> %s, {GLOBAL} %p, align 16"
    assert "ld.param.v4.b32" in lower(kernel(body, f"{GLOBAL} %p, <4 x float> %v"))


TENSOR = f"""  %q = inttoptr i32 %i to ptr addrspace(6)
  %a = call <4 x i32> @llvm.nvvm.tcgen05.ld.32x32b.x4(ptr addrspace(6) %q, i1 0)
  call void @llvm.nvvm.tcgen05.st.32x32b.x4(ptr addrspace(6) %q, <4 x i32> %a, i1 0)
  store <4 x i32> %a, {GLOBAL} %p, align 16"""
TENSOR_DECLARED = """declare <4 x i32> @llvm.nvvm.tcgen05.ld.32x32b.x4(ptr addrspace(6), i1)
declare void @llvm.nvvm.tcgen05.st.32x32b.x4(ptr addrspace(6), <4 x i32>, i1)"""


@pytest.mark.seed("codegen-overview", "vector-memory", "vector-tensor-memory")
def test_vectors_of_tensor_memory_are_tcgen05s():
    ptx = lower(kernel(TENSOR, tail=TENSOR_DECLARED), "sm_100")
    registers = r"\{%r\d+, %r\d+, %r\d+, %r\d+\}"
    assert re.search(rf"tcgen05\.ld\.sync\.aligned\.32x32b\.x4\.b32\s+{registers}, \[%r\d+\];", ptx)
    assert re.search(rf"tcgen05\.st\.sync\.aligned\.32x32b\.x4\.b32\s+\[%r\d+\], {registers};", ptx)


MANAGED = """@m = addrspace(1) global i32 0, align 4
!nvvm.annotations = !{!0}
!0 = !{ptr addrspace(1) @m, !"managed", i32 1}"""


@pytest.mark.seed("codegen-overview", "emission-managed")
def test_managed_variables_are_declared_as_such():
    body = "  store i32 %i, ptr addrspace(1) @m"
    assert ".visible .global .attribute(.managed) .align 4 .u32 m;" in lower(kernel(body, head=MANAGED))
    assert ".attribute(.managed)" not in lower(kernel(body, head=MANAGED.partition("\n")[0]))


FRAME = f"""  %a = alloca [8 x i32]
  %g = getelementptr i32, ptr %a, i32 %i
  store volatile i32 %i, ptr %g
  %x = load volatile i32, ptr %g
  store i32 %x, {GLOBAL} %p"""


@pytest.mark.seed("codegen-overview", "emission-frame")
def test_a_function_with_storage_sets_its_frame_up():
    ptx = lower(kernel(FRAME))
    [depot] = re.findall(r"\.local \.align \d+ \.b8 \t(__local_depot\d+)\[32\];", ptx)
    assert re.search(rf"mov\.b(32|64) \t%SPL, {depot};", ptx)
    assert "__local_depot" not in lower(kernel(f"  store i32 %i, {GLOBAL} %p"))


WGMMA = "declare void @llvm.nvvm.wgmma.fence.sync.aligned()"


@pytest.mark.seed("codegen-overview", "printer-trusts-selection", "intrinsics-stay-legal")
def test_what_the_target_lacks_never_reaches_the_printer(monkeypatch):
    body = "  call void @llvm.nvvm.wgmma.fence.sync.aligned()"
    assert "wgmma.fence.sync.aligned" in lower(kernel(body, tail=WGMMA))
    monkeypatch.setattr(compile_module, "_parse", lambda *given: pytest.fail("the module went on"))
    with pytest.raises(TileirasError, match="wgmma"):
        lower(kernel(body, tail=WGMMA), "sm_80")


MASKS = 24  # more than the predicates that the code generator keeps over a loop


def _masked(weights: str) -> str:
    """A branch before a loop, and one in it, that select by the same comparisons."""
    ids = range(MASKS)
    masks = [f"  %m{n} = icmp slt i32 %x{n}, %i" for n in ids]
    rows = [f"  %x{n} = load volatile i32, {GLOBAL} %p" for n in ids]

    def selected(kind: int) -> list[str]:
        picked = [f"  %s{kind}.{n} = select i1 %m{n}, i32 {kind}, i32 %x{n}" for n in ids]
        return picked + [f"  store volatile i32 %s{kind}.{n}, {GLOBAL} %p" for n in ids]

    return "\n".join([
        *rows, *masks, "  %first = icmp eq i32 %i, 7", "  br i1 %first, label %a, label %b", "a:", *selected(1), "  br label %b",
        "b:", "  br label %loop", "loop:", "  %t = phi i32 [ 0, %b ], [ %u, %next ]", f"  store volatile i32 %t, {GLOBAL} %p",
        "  %equal = icmp eq i32 %t, %i", f"  br i1 %equal, label %mask, label %next{weights}",
        "mask:", *selected(2), "  br label %next",
        "next:", "  %u = add i32 %t, 1", f"  %n = load volatile i32, {GLOBAL} %p", "  %more = icmp slt i32 %u, %n",
        "  br i1 %more, label %loop, label %end", "end:",
    ])  # fmt: skip


def test_a_branch_that_one_iteration_takes_makes_its_comparisons_itself():
    rare = lower(kernel(_masked(', !prof !{!"branch_weights", i32 1, i32 2000}')))
    usual = lower(kernel(_masked("")))
    assert usual.count("setp.lt") == MASKS + 1, "compared once, before both branches: the predicates live over the loop"
    assert rare.count("setp.lt") == 2 * MASKS + 1
