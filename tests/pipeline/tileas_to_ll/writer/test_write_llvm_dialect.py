"""LLVM IR text of device modules: the library that they link comes from blobLinkedLib alone."""

import re

import pytest

from tests.examples.example_library import bytecode_of
from tests.pipeline.tileas_to_ll.modules import after
from tileiras_build import driver
from tileiras_build.core.errors import InvalidInput
from tileiras_build.libdevice.resolve_linked_library import encode
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.opt import parse_module
from tileiras_build.pipeline.tileas_to_ll.attach_nvvm_target import AttachNVVMTarget
from tileiras_build.pipeline.tileas_to_ll.writer.write_llvm_dialect import write
from tileiras_build.target.targets import find_target

CALL = """llvm.func @__nv_sinf(f32) -> f32
llvm.func @f(%x: f32) -> f32 {
  %y = llvm.call @__nv_sinf(%x) : (f32) -> f32
  llvm.return %y : f32
}"""


def module(attributes: str = "", body: str = CALL) -> str:
    return f"gpu.module @m {f'attributes {{{attributes}}}' if attributes else ''} {{ {body} }}"


@pytest.mark.parametrize("library", ["libdevice.10.bc", "/opt/math.bc", encode(b"BC")])
def test_the_library_is_the_modules(library):
    text = write(parse_module(module(f'blobLinkedLib = "{library}"')))
    assert f'!tileiras.libdevice = !{{!1}}\n!1 = !{{!"{library}"}}' in text


def test_a_module_without_one_links_nothing():
    assert "!tileiras.libdevice" not in write(parse_module(module()))


def test_two_libraries_are_refused():
    text = module('blobLinkedLib = "a.bc"') + module('blobLinkedLib = "b.bc"', "").replace("@m", "@n")
    with pytest.raises(InvalidInput, match='libdevice-blob.*"a.bc", "b.bc"'):
        write(parse_module(text))


@pytest.mark.parametrize("given, kept", [("", "libdevice.10.bc"), ('blobLinkedLib = "mine.bc"', "mine.bc")])
def test_math_links_libdevice(given, kept):
    body = "llvm.func @f(%x: f32) -> f32 { %y = math.sin %x : f32 llvm.return %y : f32 }"
    converted = after(module(given, body), "convert-math-to-libdevice")
    assert f'blobLinkedLib = "{kept}"' in str(converted)


def test_kernels_link_libdevice_where_they_call_it():
    for name, links in (("softmax_f32", True), ("matmul_f16_nt", False)):
        job = Job(find_target("sm_90"))
        text = driver.lower_until(bytecode_of(name), "tilebc", AttachNVVMTarget.name, job)[".mlir"].decode()
        assert ('blobLinkedLib = "libdevice.10.bc"' in text) is links


def test_weights_of_a_branch_are_metadata_of_it():
    branch = """llvm.func @f(%c: i1) {{
      llvm.cond_br %c, ^bb1, ^bb2 {}
    ^bb1:
      llvm.br ^bb2
    ^bb2:
      llvm.return
    }}"""
    weighted = write(parse_module(module(body=branch.format("{branch_weights = array<i32: 1, 2000>}"))))
    assert re.search(r'br i1 %\w+, label %\w+, label %\w+, !prof !{!"branch_weights", i32 1, i32 2000}\n', weighted)
    assert "!prof" not in write(parse_module(module(body=branch.format(""))))
