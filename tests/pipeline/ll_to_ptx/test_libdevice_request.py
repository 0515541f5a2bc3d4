"""What an .ll asks of libdevice is read from its text as LLVM reads it, and the cut of that links as the whole library."""

import mmap

import pytest

from tileiras_build.libdevice import find_libdevice
from tileiras_build.libdevice.extract_subset import is_cut
from tileiras_build.pipeline import ll_to_ptx
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx.cut_libdevice import cut
from tileiras_build.pipeline.ll_to_ptx.libdevice_request import label_of, needs_libdevice, request_of
from tileiras_build.target.targets import TARGETS

NOTE = '!tileiras.libdevice = !{!0}\n!0 = !{!"libdevice.10.bc"}\n'
MODULE = """
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %x = load double, ptr addrspace(1) %p
  %s = call double @__nv_sin(double %x)
  %r = call double @__nv_rsqrt(double %s)
  store double %r, ptr addrspace(1) %p
  ret void
}
declare i32 @vprintf(ptr, ptr)
declare float @llvm.fma.f32(float, float, float)
declare double @__nv_sin(double)
 declare dso_local double
   @"__nv_rsqrt" (double)
; declare double @comment(double)
"""
SM90 = TARGETS["sm_90"]


@pytest.mark.parametrize("before", ["", "define void @f() {\n}\n\n"])
def test_libdevice_is_asked_for(before):
    assert needs_libdevice(f"{before}{NOTE}".encode())


@pytest.mark.parametrize("text", ["", "!tileiras.manifest = !{!0}\n", "; !tileiras.libdevice = none\n", MODULE])
def test_libdevice_is_not_asked_for(text):
    assert not needs_libdevice(text.encode()) and request_of(text.encode()) == b""


def test_a_request_names_triple_and_functions(tmp_path):
    expected = b"nvptx64-nvidia-cuda\n__nv_rsqrt\n__nv_sin\n"
    data = (MODULE + NOTE).encode()
    assert request_of(data) == expected
    (tmp_path / "k.ll").write_bytes(data)
    with open(tmp_path / "k.ll", "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert request_of(mapped) == expected
    other = f'target triple = "nvptx-nvidia-cuda"\n{NOTE}'
    assert request_of(other.encode()) == b"nvptx-nvidia-cuda\n"


def test_a_label_is_short():
    assert label_of(b"t\n__nv_a\n__multf3\n") == "a, __multf3"
    assert label_of(b"t\n__nv_a\n__nv_b\n__nv_c\n__nv_d\n__nv_e\n") == "a, b, c and 2 more"


@pytest.mark.parametrize("level", [0, 3])
def test_what_is_cut_links_as_the_whole_library_does(tmp_path, level):
    text, path = MODULE + NOTE, tmp_path / "own.libdevice.bc"
    path.write_bytes(cut(request_of(text.encode()).decode(), Job(SM90, libdevice=str(find_libdevice()))))
    assert is_cut(path.read_bytes())
    whole, linked = (ll_to_ptx.lower(text, Job(SM90, level, libdevice=own)) for own in (None, str(path)))
    assert linked == whole and "__internal_trig_reduction_slowpathd" in whole
