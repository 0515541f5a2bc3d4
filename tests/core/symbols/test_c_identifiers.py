"""What C and C++ call kernels that C++ has named: for people everywhere but where the driver is asked."""

import os
import re

import pytest

from tests.launch.packages.test_invalid_cpp_launches import IMAGE, SIZES
from tests.launch.runtime import fake_libcuda
from tests.launch.runtime.fake_libcuda import compiler, cuda_include, run
from tests.launch.runtime.validated_kernel import KERNEL
from tileiras_build.core.errors import InvalidInput
from tileiras_build.core.symbols.c_identifiers import c_identifiers
from tileiras_build.launch.packages.generate_c_launcher import render_cpp_header, render_header, render_source
from tileiras_build.launch.runtime.library_manifest import CUBIN, Image, LibraryManifest

NAMES = {
    "vector_add_f32": "vector_add_f32",
    "a$b": "a_b",
    "_Z5scaleIfLi256EEvPKT_PS0_i": "scale_float_256",
    "_ZN2my5inner1kI6__halfJLi1ELi2EEEEvPT_": "my_inner_k___half_1_2",
    "_Z1kIPKfRiEvv": "k_float_const_pointer_int_reference",
    "_Z1kILin5ELb0EEvv": "k_minus_5_false",
    "_Z1kILd3ff8000000000000EEvv": "k_1p5",
    "_ZN12_GLOBAL__N_11kEPf": "anonymous_namespace_k",
    "_ZunreadableE": "_ZunreadableE",
    "./add": "add",
    "nn/my-blocks/add": "nn_my_blocks_add",
    "2d/add": "in_2d_add",
    "nn/_Z5scaleIfLi256EEvPKT_PS0_i": "nn_scale_float_256",
    "./_Z5scaleIfLi256EEvPKT_PS0_i": "scale_float_256",
}
SCALE, FLOATS, DOUBLES = "_Z5scaleIfLi256EEvPKT_PS0_i", "_Z6negatePf", "_Z6negatePd"


@pytest.mark.parametrize("symbol", NAMES)
def test_names_are_words_of_what_cpp_says(symbol):
    assert c_identifiers([symbol]) == {symbol: NAMES[symbol]}
    assert re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", NAMES[symbol])


def test_names_that_are_alike_are_distinguished_in_any_order():
    found = c_identifiers([FLOATS, SCALE, DOUBLES])
    assert c_identifiers([DOUBLES, FLOATS, "negate"]) == {
        **{name: found[name] for name in (FLOATS, DOUBLES)},
        "negate": "negate",
    }
    assert found[SCALE] == "scale_float_256" and len(set(found.values())) == 3
    assert all(re.fullmatch("negate_[0-9a-f]{6}", found[name]) for name in (FLOATS, DOUBLES))


def library_of(*symbols: str) -> LibraryManifest:
    image = Image("sm_90a", CUBIN, 0, len(IMAGE), KERNEL)
    return LibraryManifest("sample", "sample.fatbin", len(IMAGE), "0" * 64, dict.fromkeys(symbols, (image,)))


def test_names_of_c_that_are_alike_are_refused():
    with pytest.raises(InvalidInput, match="kernels a_b and a[$]b have the same C name a_b; rename one"):
        render_header(library_of("a_b", "a$b"))


def test_the_symbol_is_for_the_driver_alone():
    library = library_of(SCALE, FLOATS, DOUBLES)
    for text in (render_header(library), render_cpp_header(library)):
        assert "_Z" not in text and "scale<float, 256> for sm_90a" in text
    (row,) = [line for line in render_source(library).splitlines() if SCALE in line]
    assert row.startswith(f'    {{"{SCALE}", ')


PROGRAM = """
#include "sample.hpp"
#include <cstdio>

int main(int, char **words)
{
    sample_library *library;
    sample_scale_float_256_arguments arguments = {};
    if (sample_open_file(&library, words[1]))
        return 1;
    arguments.n = 8;
    sample_load_all(library);
    CUresult status = sample_launch_scale_float_256(library, {0, 1, 1}, nullptr, &arguments);
    std::printf("%s\\n", sample_error_string(status));
    sample_add_arguments here = {};
    sample_my_part_add_arguments there = {};
    here.n = there.n = 8;
    std::puts(sample_error_string(sample_launch_add(library, {0, 1, 1}, nullptr, &here)));
    std::puts(sample_error_string(sample_launch_my_part_add(library, {0, 1, 1}, nullptr, &there)));
    auto method = &sample::library::my_part_add;
    (void)method;
    sample_close(library);
    return 0;
}
"""


def test_sentences_have_the_name_of_c(tmp_path):
    library, cuda = library_of(SCALE, "my-part/add", "./add"), fake_libcuda.build(tmp_path)
    texts = {
        "sample.h": render_header(library),
        "sample.c": render_source(library),
        "sample.hpp": render_cpp_header(library),
    }
    for name, text in (texts | {"main.cpp": PROGRAM}).items():
        (tmp_path / name).write_text(text)
    (tmp_path / "sample.fatbin").write_bytes(IMAGE)
    options = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-isystem", cuda_include(), f"-I{tmp_path}"]
    run([compiler("gcc"), "-std=c99", *options, "-c", tmp_path / "sample.c", "-o", tmp_path / "sample.o"])
    sources = [tmp_path / "main.cpp", tmp_path / "sample.o", f"-L{tmp_path}", "-lcuda"]
    run([compiler("g++"), "-std=c++17", *options, *sources, "-o", tmp_path / "main"])
    log, sizes = tmp_path / "log", ",".join(map(str, SIZES))
    environment = {
        "FAKE_CUDA_LOG": str(log),
        "FAKE_CUDA_SM": "90",
        "FAKE_CUDA_PARAMS": sizes,
        "LD_LIBRARY_PATH": str(cuda.folder),
    }
    said = run([tmp_path / "main", tmp_path / "sample.fatbin"], env=os.environ | environment).stdout
    names = ("scale_float_256", "./add", "my-part/add")
    assert said.splitlines() == [f"kernel {name}: invalid grid (0, 1, 1)" for name in names]
    asked = [line.split()[-1] for line in log.read_text().splitlines() if line.startswith("cuLibraryGetKernel")]
    assert sorted(asked) == [SCALE, "add", "add"]
