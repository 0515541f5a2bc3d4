"""ll_to_ptx: modules become PTX on every GPU, and every refusal is one sentence."""

import os
import re

import pytest

from tests.pipeline.ll_to_ptx.line_table import LINES
from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.pipeline import ll_to_ptx
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ptx_to_cubin import lower as assemble
from tileiras_build.target.isa.serializer_options import LEVELS
from tileiras_build.target.targets import TARGETS

SM80, SM90 = TARGETS["sm_80"], TARGETS["sm_90"]
MATH = """
define ptx_kernel void @k(ptr addrspace(1) %p) "nvvm.reqntid"="128" {
  %t = call range(i32 0, 128) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %g = getelementptr float, ptr addrspace(1) %p, i32 %t
  %x = load float, ptr addrspace(1) %g
  %e = call float @__nv_expf(float %x)
  %s = call float @__nv_sinf(float %e)
  %r = call float @__nv_sqrtf(float %s)
  store float %r, ptr addrspace(1) %g
  ret void
}
declare float @__nv_expf(float)
declare float @__nv_sinf(float)
declare float @__nv_sqrtf(float)
!tileiras.manifest = !{!0}
!tileiras.libdevice = !{!1}
!0 = !{!"{\\22version\\22:1,\\22target\\22:\\22sm_90a\\22,\\22kernels\\22:{\\22k\\22:{\\22threads_per_cta\\22:128}}}"}
!1 = !{!"libdevice.10.bc"}
"""


def kernel(body, head="", tail=""):
    parameters = "ptr addrspace(1) %p, ptr addrspace(3) %s"
    return f"{head}\ndefine ptx_kernel void @k({parameters}) {{\n{body}\nret void\n}}\n{tail}"


@pytest.mark.seed("codegen-overview", "stage-libraries", "libdevice-specialization", "stage-emission")
@pytest.mark.parametrize("name", list(TARGETS))
def test_libdevice_on_every_gpu(name):
    job = Job(TARGETS[name])
    ptx = ll_to_ptx.lower(MATH, job)
    assert f".target {TARGETS[name].arch}\n" in ptx
    assert "sqrt.rn.f32" in ptx and "ex2.approx.ftz.f32" in ptx, "sqrt is exact, libdevice is inlined"
    assert "__nv_" not in ptx and "call" not in ptx
    cubin, manifest = assemble(ptx, job)
    assert cubin[:4] == b"\x7fELF"
    assert manifest["kernels"]["k"]["threads_per_cta"] == 128
    assert manifest["kernels"]["k"]["resources"]["registers"] > 8


@pytest.mark.parametrize("level", [0, 1, 2, 3, "s", "z"])
def test_every_level_assembles(level):
    job = Job(SM80, opt_level=level)
    assert assemble(ll_to_ptx.lower(MATH, job), job)[1]["kernels"]["k"]["resources"]["registers"] > 0


def test_slow_paths_stay_functions():
    text = MATH.replace("float", "double").replace("expf", "exp").replace("sinf", "sin").replace("sqrtf", "sqrt")
    ptx = ll_to_ptx.lower(text, Job(SM90))
    assert ptx.count(".func") >= 1 and ".weak" not in ptx
    assert assemble(ptx, Job(SM90))[1]["kernels"].keys() == {"k"}


def test_the_same_input_gives_the_same_bytes():
    assert ll_to_ptx.lower(MATH, Job(SM90)) == ll_to_ptx.lower(MATH, Job(SM90))


def test_shared_addresses_are_32_bit():
    asm = 'call void asm sideeffect "st.shared.b32 [$0], $0;", "r"(ptr addrspace(3) %s) #0'
    ptx = ll_to_ptx.lower(kernel(asm, tail="attributes #0 = { convergent nounwind }"), Job(SM80))
    assert ".param .u32 .ptr .shared" in ptx and "cvt" not in ptx


def test_optimization_shares_address_arithmetic():
    body = "\n".join(
        f"%i{n} = mul i32 %t, 12\n%j{n} = add i32 %i{n}, {n}\n"
        f"%g{n} = getelementptr i32, ptr addrspace(1) %p, i32 %j{n}\nstore i32 %t, ptr addrspace(1) %g{n}"
        for n in range(4)
    )
    text = kernel("%t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n" + body)
    counts = {level: len(ll_to_ptx.lower(text, Job(SM80, opt_level=level)).splitlines()) for level in LEVELS}
    assert counts[3] < counts[0]


def test_source_lines_reach_the_ptx():
    text = LINES.replace("KIND", "DebugDirectivesOnly")
    job = Job(SM90, lineinfo=True)
    ptx = ll_to_ptx.lower(text, job)
    assert re.search(r"\.loc\s+1 42 3", ptx) and 'k.py"' in ptx
    assert b".debug_line" in assemble(ptx, job)[0]


def test_full_debug_information_is_optimized_unless_debug_is_asked_for():
    text = LINES.replace("KIND", "FullDebug")
    assert ", debug" not in ll_to_ptx.lower(text, Job(SM90))
    debug = Job(SM90, debug=True)
    ptx = ll_to_ptx.lower(text, debug)
    assert ".target sm_90a, debug" in ptx
    assert b".debug_info" in assemble(ptx, debug)[0]


def test_libdevice_must_be_asked_for():
    text = "\n".join(line for line in MATH.splitlines() if not line.startswith("!tileiras.libdevice"))
    with pytest.raises(InvalidInput) as caught:
        ll_to_ptx.lower(text, Job(SM90))
    assert caught.value.id == "unresolved-libdevice"
    assert "__nv_expf, __nv_sinf, __nv_sqrtf" in str(caught.value)


def test_unknown_libdevice_functions_are_named():
    with pytest.raises(InvalidInput, match=r"unresolved-libdevice.*__nv_expg"):
        ll_to_ptx.lower(MATH.replace("__nv_expf", "__nv_expg"), Job(SM90))


def test_the_job_chooses_the_library(tmp_path):
    with pytest.raises(InvalidInput, match="libdevice-missing"):
        ll_to_ptx.lower(MATH, Job(SM90, libdevice=str(tmp_path / "none.bc")))
    broken = tmp_path / "broken.bc"
    broken.write_bytes(b"BC\xc0\xdebroken")
    with pytest.raises(InvalidInput, match="blobLinkedLib: failed to parse embedded bitcode"):
        ll_to_ptx.lower(MATH, Job(SM90, libdevice=str(broken)))
    with pytest.raises(InvalidInput, match="libdevice-missing"):
        ll_to_ptx.lower(MATH.replace('"libdevice.10.bc"', f'"{tmp_path}/other.bc"'), Job(SM90))


@pytest.mark.parametrize(
    "body, message",
    [
        ("%x = add i32 1, 2.0", "floating point constant"),
        ("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i64 0)", "invalid intrinsic signature"),
        ("%x = add i32 %y, 1", "use of undefined value"),
    ],
)
def test_bad_ir_points_into_the_ll(body, message):
    with pytest.raises(InternalError) as caught:
        ll_to_ptx.lower(kernel(body), Job(SM90))
    assert caught.value.id == "llvm" and message in caught.value.message
    assert "\n" not in str(caught.value)
    assert caught.value.location.line == 3


def test_ir_that_does_not_verify():
    # A phi that names a block which is no predecessor parses but does not verify.
    text = kernel("br label %b\nb:\n%x = phi i32 [ 1, %c ]\nbr label %d\nc:\nbr label %d\nd:")
    with pytest.raises(InternalError) as caught:
        ll_to_ptx.lower(text, Job(SM90))
    assert caught.value.id == "llvm" and "\n" not in str(caught.value)


def test_undefined_functions_are_named():
    with pytest.raises(InternalError, match=r"undefined-symbol.*helper"):
        ll_to_ptx.lower(kernel("call void @helper()", tail="declare void @helper()"), Job(SM90))
    printing = kernel("%x = call i32 @vprintf(ptr null, ptr null)", tail="declare i32 @vprintf(ptr, ptr)")
    assert "vprintf" in ll_to_ptx.lower(printing, Job(SM90))


@pytest.mark.parametrize("level", [-1, 4, "3", None])
def test_unknown_levels(level):
    with pytest.raises(InvalidInput, match="opt-level"):
        ll_to_ptx.lower(MATH, Job(SM90, opt_level=level))


def test_forked_workers_can_compile():
    expected = ll_to_ptx.lower(MATH, Job(SM90))
    child = os.fork()
    if child == 0:
        os._exit(0 if ll_to_ptx.lower(MATH, Job(SM90)) == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_hardly_grows():
    for _ in range(5):
        ll_to_ptx.lower(MATH, Job(SM90))
    before = resident_bytes()
    for _ in range(60):
        ll_to_ptx.lower(MATH, Job(SM90))
    assert resident_bytes() - before < 60 * 100_000


PRINTING = """target triple = "nvptx64-nvidia-cuda"
declare i32 @vprintf(ptr, ptr)
define ptx_kernel void @k(ptr %p) {
  CALL
  CALL
  CALL
  ret void
}
""".replace("CALL", "call i32 @vprintf(ptr %p, ptr null)")


def test_the_same_module_gives_the_same_bytes_whatever_was_compiled_before():
    first = ll_to_ptx.lower(PRINTING, Job(SM90))
    assert first == ll_to_ptx.lower(PRINTING, Job(SM90))
    assert re.findall(r"// callseq (\d+), 0", first) == ["0", "1", "2"]
