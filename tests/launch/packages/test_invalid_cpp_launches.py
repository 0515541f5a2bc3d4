"""Invalid launches from C++ (and so from C): refused by the compiler, or by the launcher with one sentence."""

import hashlib
import os
import subprocess
from dataclasses import dataclass

import pytest

from tests.launch.runtime import fake_libcuda
from tests.launch.runtime.fake_libcuda import compiler, cuda_include, run
from tests.launch.runtime.validated_kernel import KERNEL
from tileiras_build.launch.packages.generate_c_launcher import render_cpp_header, render_header, render_source
from tileiras_build.launch.runtime.library_manifest import CUBIN, Image, LibraryManifest

IMAGE = bytes(1024)
SIZES = [param.size for param in KERNEL.params]
RIGHT = """
    sample::tensor<const sample::f16, 2> a(at<const sample::f16>(0x1000), {4, 16});
    sample::tensor<const sample::bf16, 1> b(at<const sample::bf16>(0x2000), {32});
    sample::tensor<float, 2> out(at<float>(0x3000), {4, 16});
    std::int64_t *p = at<std::int64_t>(0x4000);
    sample::grid grid = {4, 1, 1};
    std::int32_t n = 16;
"""
LAUNCH = "status = library.try_k(grid, nullptr, a, b, out, n, 0.5f, p, true);"
PROGRAM = """
#include "sample.hpp"
#include <cstdio>
#include <cstdlib>

template <class T> T *at(std::uintptr_t address) { return reinterpret_cast<T *>(address); }

int main(int, char **words)
{
    sample::library library, other;
    sample::status status = library.try_open_file(words[1]);
    if (status)
        return 1;
    switch (std::atoi(words[2])) {
%s
    }
    std::printf("%%d %%s\\n", static_cast<int>(status.code()), status.message().c_str());
}
"""
INVALID, NO_IMAGE, WRONG_IMAGE, NO_FILE = 1, 209, 200, 301


@dataclass(frozen=True)
class Wrong:
    """A wrong launch: a statement before it or instead of it, and what comes of it. ``number`` is the GPU's."""

    change: str
    sentence: str
    status: int = INVALID
    number: int = 90
    launch: str = LAUNCH


WRONG = [
    Wrong("", "", 0),
    Wrong("a.data = at<const sample::f16>(0x1008);", "kernel k: the address 0x1008 of a is not a multiple of 16 bytes"),
    Wrong("out.data = at<float>(0x3004);", "kernel k: the address 0x3004 of out is not a multiple of 16 bytes"),
    Wrong("p = at<std::int64_t>(0x4004);", "kernel k: the address 0x4004 of p is not a multiple of 8 bytes"),
    Wrong("a.strides = {1, 4};", "kernel k: the stride of axis 0 of a is 1 element, not a multiple of 8"),
    Wrong("out.strides[1] = 2;", "kernel k: the stride of axis 1 of out is 2 elements, expected 1"),
    Wrong("a.strides[0] = 20;", "kernel k: the stride of axis 0 of a is 20 elements, not a multiple of 8"),
    Wrong("a.strides[0] = -16;", "kernel k: the stride of axis 0 of a is -16 elements, less than 0"),
    Wrong("b.strides[0] = -1;", "kernel k: the stride of axis 0 of b is -1 element, expected 1"),
    Wrong("b.shape[0] = 30;", "kernel k: the length of axis 0 of b is 30, not a multiple of 8"),
    Wrong("out.shape[0] = -4;", "kernel k: the length of axis 0 of out is -4, less than 0"),
    Wrong("a.shape[0] = 1ll << 31;", "the length of axis 0 of a is 2147483648, more than the kernel's parameter holds, 2147483647"),
    Wrong("n = 20;", "kernel k: n is 20, not a multiple of 8"),
    Wrong("n = 0;", "kernel k: n is 0, less than 8"),
    Wrong("n = 4104;", "kernel k: n is 4104, more than 4096"),
    Wrong("grid.x = 0;", "kernel k: invalid grid (0, 1, 1)"),
    Wrong("grid.y = 65536;", "kernel k: invalid grid (4, 65536, 1)"),
    Wrong("", "no image of kernel k for sm_100; rebuild with sm=100", NO_IMAGE, 100),
    Wrong("", "kernel k: missing library", launch=LAUNCH.replace("library", "other")),
    Wrong("other = std::move(library);", "kernel k: missing library"),
    Wrong("", "cannot load the kernels of sample: no library", launch="status = other.try_load_all();"),
    Wrong("other = std::move(library);", "cannot load the kernels of sample: no library", launch="status = library.try_load_all();"),
    Wrong("(void)other.try_open_file(\"/absent\");", "cannot load the kernels of sample: no library", launch="status = other.try_load_all();"),
    Wrong("", "cannot read the image of library sample: NULL", NO_FILE, launch="status = other.try_open_file(nullptr);"),
    Wrong("", "not the image of library sample", WRONG_IMAGE, launch="status = other.try_open(nullptr, 1024);"),
    Wrong("", "the result pointer is NULL", launch="status = sample::status(sample_open(nullptr, words, 1024));"),
    Wrong("", "the result pointer is NULL", launch="status = sample::status(sample_open_file(nullptr, words[1]));"),
    Wrong("", "not the image of library sample (1024 bytes)", WRONG_IMAGE, launch='status = other.try_open("x", 1);'),
    Wrong("", "cannot read the image of library sample: /absent", NO_FILE, launch='status = other.try_open_file("/absent");'),
    Wrong("a.shape = {1, 16}; a.strides = {7, 1};", "", 0),  # along one element, a stride is any
    Wrong("out.shape = {4, 0}; out.strides = {3, 9};", "", 0),
]  # fmt: skip
ELEMENTS, RANK, CONST = (
    "the array does not have the kernel's element type",
    "the array does not have the kernel's rank",
    "the kernel writes to the array, which is const",
)
# What no compiler takes: arguments in place of the right ones.
REFUSED = {
    "element of a": ("sample::tensor<const float, 2>(at<const float>(16), {4, 16}), b, out, n, 0.5f, p, true", ELEMENTS),
    "integers for floats": ("sample::tensor<const short, 2>(at<const short>(16), {4, 16}), b, out, n, 0.5f, p, true", ELEMENTS),
    "another 16-bit float": ("a, sample::tensor<const sample::f16, 1>(at<const sample::f16>(16), {8}), out, n, 0.5f, p, true", ELEMENTS),
    "element of the output": ("a, b, sample::tensor<double, 2>(at<double>(16), {4, 16}), n, 0.5f, p, true", ELEMENTS),
    "element behind an address": ("a, b, out, n, 0.5f, at<int>(16), true", ELEMENTS),
    "rank too low": ("sample::tensor<const sample::f16, 1>(at<const sample::f16>(16), {4}), b, out, n, 0.5f, p, true", RANK),
    "rank too high": ("a, sample::tensor<const sample::bf16, 2>(at<const sample::bf16>(16), {4, 4}), out, n, 0.5f, p, true", RANK),
    "read-only output": ("a, b, sample::tensor<const float, 2>(at<const float>(16), {4, 16}), n, 0.5f, p, true", CONST),
    "read-only memory to update": ("a, b, out, n, 0.5f, static_cast<const std::int64_t *>(p), true", CONST),
}  # fmt: skip


def write(folder):
    """The package's sources, and its image."""
    image = Image("sm_90a", CUBIN, 0, len(IMAGE), KERNEL)
    manifest = LibraryManifest(
        "sample", "sample.fatbin", len(IMAGE), hashlib.sha256(IMAGE).hexdigest(), {"k": (image,)}
    )
    for name, text in (
        ("sample.h", render_header(manifest)), ("sample.c", render_source(manifest)), ("sample.hpp", render_cpp_header(manifest))
    ):  # fmt: skip
        (folder / name).write_text(text)
    (folder / "sample.fatbin").write_bytes(IMAGE)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """All rows in one program, with exceptions off: the launcher in C, the rest in C++."""
    folder = tmp_path_factory.mktemp("wrong")
    write(folder)
    cuda = fake_libcuda.build(folder)
    rows = [f"    case {number}: {{{RIGHT}{row.change}\n{row.launch}\nbreak; }}" for number, row in enumerate(WRONG)]
    (folder / "main.cpp").write_text(PROGRAM % "\n".join(rows))
    options = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-isystem", cuda_include(), f"-I{folder}"]
    run([compiler("gcc"), "-std=c99", *options, "-c", folder / "sample.c", "-o", folder / "sample.o"])
    unused = ["-Wno-unused-variable", "-Wno-unused-but-set-variable"]  # rows that launch nothing
    command = [compiler("g++"), "-std=c++17", "-fno-exceptions", *options, *unused]
    run([*command, folder / "main.cpp", folder / "sample.o", f"-L{folder}", "-lcuda", "-o", folder / "main"])
    return cuda


@pytest.mark.parametrize("number", range(len(WRONG)), ids=lambda number: WRONG[number].change or str(number))
def test_wrong_launch_is_refused_before_the_driver(program, number):
    row, log = WRONG[number], program.folder / "log"
    log.write_text("")
    environment = os.environ | {
        "FAKE_CUDA_LOG": str(log), "FAKE_CUDA_SM": str(row.number), "FAKE_CUDA_PARAMS": ",".join(map(str, SIZES)),
        "LD_LIBRARY_PATH": str(program.folder),
    }  # fmt: skip
    done = run([program.folder / "main", program.folder / "sample.fatbin", number], env=environment)
    status, _, sentence = done.stdout.strip().partition(" ")
    assert (int(status), row.sentence in sentence) == (row.status, True), done.stdout
    assert ("cuLaunchKernelEx" in log.read_text()) == (row.status == 0)


def test_there_are_sentences_enough():
    assert len([row for row in WRONG if row.status]) + len(REFUSED) >= 30


@pytest.mark.parametrize(("name", "tool"), [*((name, "g++") for name in REFUSED), ("read-only output", "clang++")])
def test_wrong_types_are_refused_by_the_compiler(tmp_path, name, tool):
    write(tmp_path)
    arguments, sentence = REFUSED[name]
    body = f"case 0: {{{RIGHT}(void)a; (void)b; (void)out; (void)p;\n status = library.try_k(grid, nullptr, {arguments}); }}"
    (tmp_path / "main.cpp").write_text(PROGRAM % body)
    command = [
        compiler(tool),
        "-std=c++17",
        "-fsyntax-only",
        "-isystem",
        str(cuda_include()),
        str(tmp_path / "main.cpp"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode and sentence in done.stderr
