"""blobLinkedLib: a module links what its blob holds, named or inline, only what it needs, and nothing by itself."""

from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.libdevice import find_libdevice
from tileiras_build.libdevice.extract_subset import ClosureStore
from tileiras_build.libdevice.resolve_linked_library import INLINE, Blob, encode, resolve, with_blob_note
from tileiras_build.libdevice.split_library import Library
from tileiras_build.pipeline import ll_to_ptx
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx.libdevice_request import needs_libdevice
from tileiras_build.pipeline.ll_to_ptx.target_machine import library_machine
from tileiras_build.simulate import emulator
from tileiras_build.target.targets import TARGETS

DOCUMENT = "nvptx-bring-up"
SINE = """
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %x = load float, ptr addrspace(1) %p
  %y = call float @__nv_sinf(float %x)
  store float %y, ptr addrspace(1) %p
  ret void
}
declare float @__nv_sinf(float)
"""
NAMED = SINE + '!tileiras.libdevice = !{!0}\n!0 = !{!"libdevice.10.bc"}\n'
JOB = Job(TARGETS["sm_90"])


def bitcode(text: str) -> bytes:
    library_machine()
    with llvm.create_context() as context, llvm.parse_assembly(text, context=context) as module:
        return module.as_bitcode()


def inline(text: str, data: bytes) -> str:
    return f'{text}!tileiras.libdevice = !{{!0}}\n!0 = !{{!"{encode(data)}"}}\n'


@pytest.mark.seed("nvptx-bring-up", "blob-absent", "no-implicit-libdevice", "blob-only-entry")
@pytest.mark.parametrize("job", [JOB, Job(TARGETS["sm_90"], libdevice=str(find_libdevice()))])
def test_nothing_is_linked_without_a_blob(job):
    with pytest.raises(InvalidInput) as caught:
        ll_to_ptx.lower(SINE, job)
    assert caught.value.id == "unresolved-libdevice" and "__nv_sinf" in caught.value.message


@pytest.mark.seed("nvptx-bring-up", "blob-path", "blob-first")
def test_a_named_file_is_read_at_link_time(tmp_path):
    path = tmp_path / "own.bc"
    path.write_bytes(bitcode("define float @__nv_sinf(float %x) {\n ret float 3.0\n}"))
    text = NAMED.replace("libdevice.10.bc", str(path))
    assert "1077936128" in ll_to_ptx.lower(text, JOB), "3.0f, from the file"
    path.write_bytes(bitcode("define float @__nv_sinf(float %x) {\n ret float 5.0\n}"))
    assert "1084227584" in ll_to_ptx.lower(text, JOB), "5.0f, from the changed file"


@pytest.mark.seed("nvptx-bring-up", "blob-inline", "blob-reproducible")
def test_an_inline_blob_needs_no_toolkit(monkeypatch, tmp_path):
    named = ll_to_ptx.lower(NAMED, JOB)
    pinned = with_blob_note(NAMED)
    monkeypatch.setattr(
        "tileiras_build.libdevice.resolve_linked_library.find_libdevice", lambda path: pytest.fail("toolkit asked")
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert ll_to_ptx.lower(pinned, JOB) == named
    assert INLINE in pinned and with_blob_note(SINE) == SINE
    assert needs_libdevice(NAMED.encode()) and not needs_libdevice(pinned.encode()), "a build need not watch the file"


@pytest.mark.seed("nvptx-bring-up", "blob-inline")
def test_an_inline_blob_wins_over_the_job():
    own = inline(SINE, bitcode("define float @__nv_sinf(float %x) {\n ret float 3.0\n}"))
    assert "1077936128" in ll_to_ptx.lower(own, Job(TARGETS["sm_90"], libdevice=str(find_libdevice())))


@pytest.mark.seed("nvptx-bring-up", "diag-blob-path")
def test_a_path_that_is_no_file(tmp_path):
    for path in (tmp_path, tmp_path / "none.bc"):
        with pytest.raises(InvalidInput, match="blobLinkedLib: bitcode path does not exist or is not a file"):
            ll_to_ptx.lower(NAMED.replace("libdevice.10.bc", str(path)), JOB)


CALLS_NOTHING = """define ptx_kernel void @k(ptr addrspace(1) %p) {
  store float 1.0, ptr addrspace(1) %p
  ret void
}
"""


@pytest.mark.seed("nvptx-bring-up", "diag-blob-path", "blob-path")
@pytest.mark.parametrize("job", [JOB, Job(TARGETS["sm_90"], libdevice=str(find_libdevice()))])
@pytest.mark.parametrize("head", [SINE, CALLS_NOTHING])
def test_a_path_of_the_module_is_honoured_whatever_it_calls(head, job, tmp_path, monkeypatch):
    """Also one that ends in the installed library's name, and where the job has a library."""
    monkeypatch.chdir(tmp_path)
    text = head + '!tileiras.libdevice = !{!0}\n!0 = !{!"./libdevice.10.bc"}\n'
    with pytest.raises(InvalidInput, match=r"path does not exist or is not a file: \./libdevice\.10\.bc"):
        ll_to_ptx.lower(text, job)
    Path("libdevice.10.bc").write_bytes(bitcode("define float @__nv_sinf(float %x) {\n ret float 3.0\n}"))
    assert ("1077936128" in ll_to_ptx.lower(text, job)) == (head is SINE)


@pytest.mark.seed("nvptx-bring-up", "diag-blob-parse")
def test_a_blob_that_nothing_is_asked_of_is_looked_at():
    with pytest.raises(InvalidInput, match="blobLinkedLib: failed to parse embedded bitcode: the inline blob"):
        ll_to_ptx.lower(inline(CALLS_NOTHING, b"no bitcode"), JOB)


def test_a_file_of_the_job_is_no_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="libdevice-missing"):
        ll_to_ptx.lower(NAMED, Job(TARGETS["sm_90"], libdevice="libdevice.10.bc"))


@pytest.mark.seed("nvptx-bring-up", "diag-blob-parse")
@pytest.mark.parametrize("note", [encode(b"BC\xc0\xdebroken"), encode(b"no bitcode"), encode(b""), INLINE + "%%%"])
def test_an_inline_blob_that_is_no_bitcode(note):
    with pytest.raises(InvalidInput, match="blobLinkedLib: failed to parse embedded bitcode: the inline blob"):
        ll_to_ptx.lower(NAMED.replace("libdevice.10.bc", note), JOB)


HELPERS = """
target datalayout = "e-i64:64-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-gpulibs"
@Sleef_rempitabqp = constant [2 x i64] [i64 7, i64 9]
define i128 @__nv_udivti3(i128 %a, i128 %b) {
  %q = call i128 @helper(i128 %a, i128 %b)
  ret i128 %q
}
define internal i128 @helper(i128 %a, i128 %b) noinline {
  %q = call i128 @inner(i128 %a, i128 %b)
  %r = xor i128 %q, %b
  ret i128 %r
}
define internal i128 @inner(i128 %a, i128 %b) noinline {
  %q = xor i128 %a, 7
  ret i128 %q
}
define i128 @__nv_umodti3(i128 %a, i128 %b) {
  %q = udiv i128 %a, %b
  %p = mul i128 %q, %b
  %r = sub i128 %a, %p
  ret i128 %r
}
define i128 @__nv_divti3(i128 %a, i128 %b) {
  %q = sdiv i128 %a, %b
  ret i128 %q
}
define i128 @__nv_modti3(i128 %a, i128 %b) {
  %r = srem i128 %a, %b
  ret i128 %r
}
define i128 @__nv_fp128_neg(i128 %a) {
  %f = bitcast i128 %a to fp128
  %n = call fp128 @f128M_neg(fp128 %f)
  %r = bitcast fp128 %n to i128
  ret i128 %r
}
define fp128 @f128M_neg(fp128 %f) alwaysinline {
  %a = bitcast fp128 %f to i128
  %n = xor i128 %a, 170141183460469231731687303715884105728
  %r = bitcast i128 %n to fp128
  ret fp128 %r
}
define i64 @Sleef_sinq(i64 %i) alwaysinline {
  %g = getelementptr i64, ptr @Sleef_rempitabqp, i64 %i
  %v = load i64, ptr %g
  ret i64 %v
}
define i128 @f128M_add(i128 %a, i128 %b) alwaysinline {
  %s = call i128 @softfloat_addMags(i128 %a, i128 %b)
  ret i128 %s
}
define i128 @softfloat_addMags(i128 %a, i128 %b) alwaysinline {
  %s = add i128 %a, %b
  ret i128 %s
}
!llvm.ident = !{!0}
!0 = !{!"clang version PRODUCER"}
"""
PRODUCERS = ("16.0.0", "7.1.0 git-630d6c22278")


def calling(name: str, type: str, arity: int) -> str:
    arguments = ", ".join([f"{type} %x"] * arity)
    return (
        f"define ptx_kernel void @k(ptr addrspace(1) %p) {{\n  %x = load {type}, ptr addrspace(1) %p\n"
        f"  %y = call {type} @{name}({arguments})\n  store {type} %y, ptr addrspace(1) %p\n  ret void\n}}\n"
        f"declare {type} @{name}({', '.join([type] * arity)})\n"
    )


@pytest.mark.seed("nvptx-bring-up", "producer-fp128", "producer-int128", "gpulibs-metadata")
@pytest.mark.seed("nvptx-bring-up", "gpulibs-integers", "gpulibs-needed", "blob-needed-only")
@pytest.mark.parametrize("producer", PRODUCERS)
def test_gpulibs_bitcode_is_accepted(producer):
    ptx = ll_to_ptx.lower(
        inline(calling("__nv_udivti3", "i128", 2), bitcode(HELPERS.replace("PRODUCER", producer))), JOB
    )
    assert "helper" in ptx and "gpulibs" not in ptx
    assert not any(name in ptx for name in ("Sleef", "f128M", "softfloat")), "only what is needed"


def computed(name: str, *integers: int) -> int:
    """What a function of the library computes of the integers, in the emulator."""
    text = f"""define ptx_kernel void @k(ptr addrspace(1) %p) {{
  %x = load i128, ptr addrspace(1) %p, align 16
  %g = getelementptr i128, ptr addrspace(1) %p, i32 1
  %y = load i128, ptr addrspace(1) %g, align 16
  %r = call i128 @{name}(i128 %x{", i128 %y" * (len(integers) - 1)})
  store i128 %r, ptr addrspace(1) %p, align 16
  ret void
}}
declare i128 @{name}(i128{", i128" * (len(integers) - 1)})
"""
    ptx = ll_to_ptx.lower(inline(text, bitcode(HELPERS)), JOB)
    data = b"".join((number % 2**128).to_bytes(16, "little") for number in (*integers, 0)[:2])
    held, memory = np.frombuffer(bytearray(data), np.uint64), emulator.Memory()
    emulator.run_ptx(ptx, "k", 1, 1, [memory.map_array(held).to_bytes(8, "little")], memory=memory)
    return int.from_bytes(held.tobytes()[:16], "little")


BIG = 2**100 + 12345678901234567


@pytest.mark.seed("nvptx-bring-up", "gpulibs-integers")
@pytest.mark.parametrize(
    ("name", "integers", "expected"),
    [
        ("__nv_umodti3", (BIG, 10**20 + 9), BIG % (10**20 + 9)),
        ("__nv_divti3", (-BIG, 10**20), 2**128 - BIG // 10**20),
        ("__nv_modti3", (-BIG, 10**20), 2**128 - BIG % 10**20),
        ("__nv_udivti3", (BIG, 10**20), BIG ^ 7 ^ 10**20),  # a stand-in, with helpers of helpers
    ],
)
def test_integers_of_128_bits_compute(name, integers, expected):
    assert computed(name, *integers) == expected


@pytest.mark.seed("nvptx-bring-up", "producer-fp128")
def test_fp128_is_held_in_integers():
    """A function that is fp128 inside, as those of clang 16's library are; NVPTX has no such register."""
    assert computed("__nv_fp128_neg", BIG) == BIG + 2**127


@pytest.mark.seed("nvptx-bring-up", "gpulibs-needed", "blob-needed-only")
def test_what_is_not_needed_is_not_linked():
    store = ClosureStore(Blob("own", data=bitcode(HELPERS)), library_machine())
    with llvm.create_context() as context, llvm.parse_bitcode(store.cut(["__nv_udivti3"], 90), context=context) as cut:
        assert {f.name for f in cut.functions} == {"__nv_udivti3", "helper", "inner"}
        assert not list(cut.global_variables)


@pytest.mark.seed("nvptx-bring-up", "gpulibs-soft-float", "gpulibs-sleef", "gpulibs-internal", "blob-internal")
@pytest.mark.parametrize(
    "name, type, arity, kept", [("f128M_add", "i128", 2, "shl.b64"), ("Sleef_sinq", "i64", 1, "Sleef_rempitabqp")]
)
def test_other_names_of_gpulibs_link_too(name, type, arity, kept):
    ptx = ll_to_ptx.lower(inline(calling(name, type, arity), bitcode(HELPERS)), JOB)
    assert kept in ptx
    assert name not in ptx and "call" not in ptx, "internal, hence inlined and gone"


@pytest.mark.seed("nvptx-bring-up", "gpulibs-one-unit", "gpulibs-needed")
def test_one_library_serves_all_families():
    body = """define ptx_kernel void @k(ptr addrspace(1) %p) {
  %x = load i128, ptr addrspace(1) %p
  %y = call i128 @f128M_add(i128 %x, i128 %x)
  %z = call i128 @__nv_udivti3(i128 %y, i128 %x)
  store i128 %z, ptr addrspace(1) %p
  %s = trunc i128 %z to i64
  %t = call i64 @Sleef_sinq(i64 %s)
  store i64 %t, ptr addrspace(1) %p
  ret void
}
declare i128 @f128M_add(i128, i128)
declare i128 @__nv_udivti3(i128, i128)
declare i64 @Sleef_sinq(i64)
"""
    ptx = ll_to_ptx.lower(inline(body, bitcode(HELPERS)), JOB)
    assert all(part in ptx for part in ("Sleef_rempitabqp", "xor.b64", "shl.b64")) and ".extern" not in ptx


@pytest.mark.seed("nvptx-bring-up", "gpulibs-attributes", "gpulibs-upgraded")
def test_a_librarys_own_machine_does_not_matter():
    """Attributes of another machine would forbid to inline, and an old producer's name would stay."""
    old = HELPERS.replace("PRODUCER", "clang version 7.1.0")
    own = old.replace(") {", ') "target-cpu"="sm_20" "target-features"="+ptx32" {')
    assert own != old
    ptx = [ll_to_ptx.lower(inline(calling("f128M_add", "i128", 2), bitcode(text)), JOB) for text in (old, own)]
    assert ptx[0] == ptx[1] and "call" not in ptx[1]
    flushing = 'define float @__nv_own(float %a) noinline "denormal-fp-math-f32"="preserve-sign" {\n'
    kept = bitcode(flushing + "  %s = fadd float %a, 1.0\n  ret float %s\n}")
    assert "add.rn.f32" in ll_to_ptx.lower(inline(calling("__nv_own", "float", 1), kept), JOB), "and not .ftz"


@pytest.mark.seed("nvptx-bring-up", "producer-int128", "gpulibs-upgraded")
def test_the_shipped_library_is_of_that_sort():
    """libdevice.10.bc itself: an old producer's bitcode with typed pointers, for the gpulibs triple."""
    with llvm.create_context() as context, llvm.parse_bitcode(find_libdevice().read_bytes(), context=context) as module:
        assert module.triple == "nvptx64-nvidia-gpulibs"
    assert len(Library.from_file(find_libdevice()).symbols) > 300


@pytest.mark.seed("codegen-overview", "stage-libraries")
def test_what_the_blob_lacks_stays_an_error():
    library = bitcode(HELPERS)
    with pytest.raises(InvalidInput, match=r"unresolved-libdevice.*__nv_clzti2.*the inline blob does not define"):
        ll_to_ptx.lower(inline(calling("__nv_clzti2", "i128", 2), library), JOB)
    with pytest.raises(InternalError, match=r"undefined-symbol.*Sleef_cosq"):
        ll_to_ptx.lower(inline(calling("Sleef_cosq", "i64", 1), library), JOB)
    with pytest.raises(InternalError, match=r"undefined-symbol.*@?helper"):
        ll_to_ptx.lower(inline(calling("helper", "i128", 2), library), JOB)


def test_blobs():
    assert resolve("libdevice.10.bc") == Blob.of_file(find_libdevice())
    assert resolve("libdevice.10.bc", find_libdevice()).path == find_libdevice()
    with pytest.raises(InvalidInput, match=r"libdevice-missing.*own\.bc"):
        resolve("own.bc", find_libdevice())
    assert resolve(encode(b"abc")).read() == b"abc"
    assert Blob("a", data=b"x").digest() != Blob("a", data=b"y").digest()
    with pytest.raises(InternalError, match="ll-metadata"):
        with_blob_note("!tileiras.libdevice = !{!7}\n!7 = !{i32 1}\n")
