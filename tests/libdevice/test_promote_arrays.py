"""Small arrays of libdevice that are indexed at run time become registers, with equal results."""

from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from tests.emulated_kernels import compiled, run
from tileiras_build.libdevice.link import store_for
from tileiras_build.libdevice.locate_libdevice import find_libdevice
from tileiras_build.libdevice.promote_arrays import select_elements
from tileiras_build.pipeline.ll_to_ptx.target_machine import library_machine

KERNELS = Path(__file__).with_name("trigonometry.py")
FUNCTION = """
define i32 @f(i32 %x, i64 %at) {
  %a = alloca [3 x i32], align 4
  store i32 %x, ptr %a, align 4
  %1 = getelementptr inbounds nuw i8, ptr %a, i64 4
  store i32 7, ptr %1, align 4
  %2 = getelementptr inbounds i8, ptr %a, i64 8
  store i32 9, ptr %2, align 4
  %3 = getelementptr inbounds i32, ptr %a, i64 %at
  %4 = load i32, ptr %3, align 4
  ret i32 %4
}
"""


def test_each_element_is_loaded_and_one_selected():
    text = select_elements(FUNCTION)
    assert text.count("= load i32") == 3 and text.count("= select i1") == 2
    llvm.parse_assembly(text).verify()


@pytest.mark.parametrize("size", [9, 64])
def test_larger_arrays_stay(size):
    text = FUNCTION.replace("[3 x", f"[{size} x")
    assert select_elements(text) == text


def test_arrays_that_are_written_at_computed_places_stay():
    text = FUNCTION.replace("  ret i32 %4", "  store i32 5, ptr %3, align 4\n  ret i32 %4")
    assert select_elements(text) == text


@pytest.mark.parametrize("name", ["__nv_sinf", "__nv_cosf", "__nv_tanf"])
def test_no_array_is_left(name):
    machine = library_machine("nvptx64-nvidia-cuda")
    with llvm.parse_bitcode(store_for(find_libdevice(), machine).cut([name], 90)) as module:
        assert name in str(module) and "alloca" not in str(module)


@pytest.mark.parametrize(("dtype", "sm"), [("float32", "sm_80"), ("float32", "sm_100"), ("float64", "sm_90")])
def test_large_arguments(dtype, sm):
    x = np.concatenate([np.logspace(0, np.log10(np.finfo(dtype).max) - 1, 62), [-1e9, 1e30]]).astype(dtype)
    found = run(KERNELS, dtype, sm, [x, *(np.zeros_like(x) for _ in range(3))])[1:]
    wide = x.astype(np.float64)
    for values, expected in zip(found, (np.sin(wide), np.cos(wide), np.tan(wide)), strict=True):
        np.testing.assert_allclose(values, expected, rtol=8 * np.finfo(dtype).eps)


def test_threads_need_no_local_memory():
    assert ".local" not in str(compiled(KERNELS, "float32", "sm_90").ptx)
