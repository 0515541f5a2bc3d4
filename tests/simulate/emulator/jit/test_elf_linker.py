"""Linking of object files: linked code runs; unsupported files are rejected."""

import ctypes

import pytest

from tileiras_build.simulate.emulator.jit import executable_memory
from tileiras_build.simulate.emulator.jit.elf_linker import LinkedCode, link_function
from tileiras_build.simulate.emulator.jit.llvm_jit import _module, _target_machine

pytestmark = pytest.mark.skipif(not executable_memory.IS_SUPPORTED, reason="this is x86-64 under Linux only")

# A function that calls another one, constants, and a jump table.
TEXT = """
define i64 @other(i64 %n) noinline {
  %scaled = mul i64 %n, 10
  ret i64 %scaled
}
define i64 @first(i64 %n) {
  %float = uitofp i64 %n to double
  %more = fadd double %float, 1234.5
  %whole = fptoui double %more to i64
  switch i64 %n, label %last [i64 0, label %a
    i64 1, label %b
    i64 2, label %c
    i64 3, label %d
    i64 4, label %e]
a:
  ret i64 7
b:
  ret i64 %whole
c:
  %called = call i64 @other(i64 %whole)
  ret i64 %called
d:
  ret i64 11
e:
  %twice = call i64 @other(i64 %n)
  ret i64 %twice
last:
  ret i64 %n
}
"""


def made(text: str, **options: str) -> bytes:
    return _target_machine(**{"reloc": "pic", "codemodel": "small", **options}).emit_object(_module(text))


def called(image: LinkedCode, number: int) -> int:
    place = executable_memory.map_code(image.code)
    assert place is not None
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(place + image.entry)(number)


def test_linked_code_is_position_independent():
    image = link_function(made(TEXT), "first")
    assert image is not None and image.entry > 0
    assert [called(image, n) for n in range(6)] == [7, 1235, 12360, 11, 40, 5]
    assert LinkedCode.unpacked(image.packed()) == image


@pytest.mark.parametrize(
    "text",
    [
        "declare i64 @getpid()\ndefine i64 @first(i64 %n) { %x = call i64 @getpid() ret i64 %x }",
        "@kept = internal global i64 3\ndefine i64 @first(i64 %n) { %x = load i64, ptr @kept store i64 %n, ptr @kept ret i64 %x }",
        "@kept = internal global i64 0\ndefine i64 @first(i64 %n) { %x = load i64, ptr @kept store i64 %n, ptr @kept ret i64 %x }",
        "@kept = global i64 3\ndefine i64 @first(i64 %n) { %x = load i64, ptr @kept ret i64 %x }",
        "@at = constant ptr @first\ndefine i64 @first(i64 %n) { %x = load i64, ptr @at ret i64 %x }",
    ],
    ids=["calls the C library", "variable", "empty variable", "may be another's", "holds an address"],
)
def test_unsupported_object_files(text):
    assert link_function(made(text), "first") is None


def test_missing_function():
    data = made(TEXT)
    assert link_function(data, "none") is None and link_function(data, "irst") is None


def test_object_files_of_other_architectures():
    data = made(TEXT)
    other = bytearray(data)
    other[18] = 183  # AArch64
    assert link_function(bytes(other), "first") is None
    assert [link_function(data[:size], "first") for size in (0, 10, 64, len(data) // 2)] == [None] * 4
