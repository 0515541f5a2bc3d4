"""libdevice/split_library.py: a function's closure holds what it needs, with reflect answered."""

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.libdevice.locate_libdevice import find_libdevice
from tileiras_build.libdevice.split_library import Library

SMALL = """
@.str = private unnamed_addr constant [11 x i8] c"__CUDA_FTZ\\00", align 1
@.str.1 = private unnamed_addr constant [12 x i8] c"__CUDA_ARCH\\00", align 1
@.str.2 = private unnamed_addr constant [17 x i8] c"__CUDA_PREC_SQRT\\00", align 1
@__table = internal addrspace(1) global [2 x i32] [i32 1, i32 2], align 4
define i32 @__nv_a(i32 %x) #0 {
  %1 = call i32 @__nvvm_reflect(ptr @.str)
  %2 = call i32 @__helper(i32 %1)
  ret i32 %2
}
define internal i32 @__helper(i32 %x) #0 {
  %1 = load i32, ptr addrspace(1) @__table
  %2 = call i32 @__nvvm_reflect(ptr @.str.2) #1
  ret i32 %1
}
define i32 @__nv_b(i32 %x) #0 {
  %1 = call i32 @__nvvm_reflect(ptr @.str.1)
  ret i32 %1
}
attributes #0 = { alwaysinline nounwind "unsafe-fp-math"="false" }
attributes #1 = { "unsafe-fp-math"="false" }
!llvm.ident = !{!0}
!0 = !{!"clang"}
"""


@pytest.fixture(scope="module")
def library():
    return Library.from_file(find_libdevice())


def test_closure_reaches_helpers_and_tables():
    closure = Library(SMALL, ("__nv_a", "__nv_b")).closure("__nv_a", 90)
    assert "define i32 @__helper" in closure.text, "a helper must not stay internal"
    assert "@__table = linkonce_odr addrspace(1) constant" in closure.text
    assert "__nv_b" not in closure.text and not closure.reads_arch


def test_reflect_is_answered():
    text = Library(SMALL, ("__nv_a", "__nv_b")).closure("__nv_a", 90).text
    assert "%1 = add i32 0, 0" in text  # subnormals are kept
    assert "%2 = add i32 0, 1" in text  # sqrt is correctly rounded
    closure = Library(SMALL, ("__nv_a", "__nv_b")).closure("__nv_b", 90)
    assert closure.reads_arch and "add i32 0, 900" in closure.text
    assert "__nvvm_reflect" not in text + closure.text


def test_names_that_llvm_quotes_are_followed():
    names = {"__helper": '"help$er"', "__table": "a-table", ".str.2": '"a string"'}
    text = SMALL
    for name, other in names.items():
        text = text.replace(f"@{name}", f"@{other}")
    closure = Library(text, ("__nv_a",)).closure("__nv_a", 90)
    assert closure.text.count("define ") == 2 and '@"help$er"(i32 %x)' in closure.text
    assert "@a-table = linkonce_odr addrspace(1) constant" in closure.text
    assert "%2 = add i32 0, 1" in closure.text


def test_producer_options_stay_behind():
    text = Library(SMALL, ("__nv_a", "__nv_b")).closure("__nv_a", 90).text
    assert "unsafe-fp-math" not in text and "!llvm.ident" not in text


def test_the_real_library(library):
    assert len(library.symbols) > 300
    assert {"__nv_expf", "__nv_sin", "__nv_pow", "__nv_tanhf"} <= library.symbols
    assert not library.closure("__nv_expf", 80).reads_arch
    assert library.closure("__nv_fast_tanhf", 80).reads_arch


@pytest.mark.parametrize("data", [b"", b"not bitcode at all", b"BC\xc0\xde", b"BC\xc0\xde" + bytes(64)])
def test_a_broken_file_is_refused(tmp_path, data):
    path = tmp_path / "broken.bc"
    path.write_bytes(data)
    with pytest.raises(InvalidInput) as caught:
        Library.from_file(path)
    assert caught.value.id == "libdevice-broken"
    assert "blobLinkedLib: failed to parse embedded bitcode" in str(caught.value)


def test_a_truncated_library_is_refused(tmp_path):
    path = tmp_path / "half.bc"
    path.write_bytes(find_libdevice().read_bytes()[:200_000])
    with pytest.raises(InvalidInput, match="libdevice-broken"):
        Library.from_file(path)
