"""Whatever kernels and their parameters are called, the generated C and C++ compile, and each has a name of its own."""

import inspect
import re
from functools import cache
from shutil import which

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.launch.packages.test_package import FREE
from tests.launch.runtime.fake_libcuda import compiler, cuda_include, run
from tests.launch.runtime.validated_kernel import array, launch_of, pointer, scalar
from tileiras_build.core.errors import InvalidInput
from tileiras_build.core.symbols.c_identifiers import c_identifier
from tileiras_build.core.symbols.unique_names import unique_names
from tileiras_build.launch.packages.c_function_signatures import CLASS_MEMBERS, kernel_functions
from tileiras_build.launch.packages.generate_c_launcher import render_cpp_header, render_header, render_source
from tileiras_build.launch.runtime.generate_launch_stub import StubList
from tileiras_build.launch.runtime.library_manifest import CUBIN, Image, LibraryManifest
from tileiras_build.launch.runtime.python_signature import launcher

LIBRARY = "pk"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
# What a program may have included and defined before it includes a package, <windows.h> among it.
BEFORE = """
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <cuda.h>
#ifdef __cplusplus
#include <array>
#include <stdexcept>
#include <string>
#include <utility>
#endif
#define near
#define far
#define small char
#define interface struct
#define IN
#define OUT
#define ERROR 0
#define CONST const
#define DELETE (0x00010000L)
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define _Capital 1
"""
# Sets of names as kernels and their parameters have them.
SETS = {
    "try": (["foo", "try_foo", "try_try_foo", "try_foo_"], ["x"]),
    "arguments": (["launch_foo", "foo_arguments", "launch_foo_arguments", "foo"], ["x"]),
    "own macros": (["k"], ["BLOCK", "LOCK", "UNLOCK", "IMAGES", "KERNELS", "PARAMETERS", "TENSOR_MAPS", "IMAGE_SIZE"]),
    "macros of the launcher": (["k"], ["TILEIRAS_BLOCK", "PK_TARGETS", "PK_NO_EXCEPTIONS", "TILEIRAS_pk_H"]),
    "keywords": (["int", "int_", "class", "k"], ["int", "int_", "int_2", "register", "char8_t", "typeof", "co_await"]),
    "macros of C": (["EOF", "NULL", "errno", "k"], ["EOF", "SEEK_SET", "BUFSIZ", "NULL", "errno", "stdin", "putc"]),
    "the compiler's macros": (["linux", "unix", "k"], ["linux", "unix", "__FILE__", "__LINE__", "__cplusplus", "defined"]),
    "types": (["int64_t", "size_t", "CUdeviceptr", "std", "k"], ["int64_t", "uint8_t", "int32_t", "CUdeviceptr", "CUstream"]),
    "the driver": (["cuInit", "CUresult", "CUstream", "k"], ["CUDA_SUCCESS", "CUresult", "CUDA_VERSION", "cuMemAlloc"]),
    "of the class": ([*CLASS_MEMBERS, "status", "error", "grid", "array", "pk"], ["handle_", "launch_grid_", "status", "blocks"]),
    "open": (["open", "open_", "try_open", "try_open_"], ["open"]),
    "of the library": (["pk", "pk_library", "library"], ["pk", "pk_tensor_1", "pk_grid", "pk_k_arguments"]),
    "of structs": (["pointer", "shape", "none"], ["pointer", "shape", "strides", "none", "x", "X"]),
    "windows": (["min", "max", "near", "interface", "ERROR"], ["near", "far", "small", "IN", "OUT", "min", "CONST", "DELETE"]),
    "underscores": (["_x", "__x", "x_", "x__", "_Capital"], ["_", "__", "_x", "x_", "__x__", "_Capital", "a__b", "x__"]),
    "C++": (["this", "operator", "override", "final", "import", "module"], ["this", "template", "final", "override", "arg_x", "x"]),
    "cases": (["foo", "Foo", "FOO"], ["x", "X", "n", "N"]),
}  # fmt: skip


def launch_with(names):
    """A kernel whose arguments are called ``names``: arrays, numbers of all sizes, and addresses."""
    kinds = [("array", 1), ("scalar", "i8", 1), ("array", 2), ("scalar", "i64", 8), ("pointer",), ("scalar", "f32", 4), ("scalar", "i1", 1)]  # fmt: skip
    arguments, rows = [], []
    for index, name in enumerate(names):
        kind, *more = kinds[index % len(kinds)]
        arguments.append((name, kind, more[0] if kind == "array" else None))
        if kind == "array":
            rows += array(name, index, "f32", more[0])
        else:
            rows.append(pointer(name, index, "i64") if kind == "pointer" else scalar(name, index, *more))
    return launch_of(arguments, rows)


def library_of(kernels: dict, name: str = LIBRARY) -> LibraryManifest:
    """A library of kernels by name, each with the names of its parameters."""
    images = {kernel: (Image("sm_90a", CUBIN, 0, 8, launch_with(names)),) for kernel, names in kernels.items()}
    return LibraryManifest(name, f"{name}.fatbin", 8, "0" * 64, images)


@cache
def languages() -> list[list]:
    """How the texts are compiled: by each compiler that is there, as each language."""
    rows = [("gcc", "-std=c99"), ("gcc", "-std=gnu99"), ("g++", "-std=c++17"), ("g++", "-std=c++20"), ("clang", "-std=c99"), ("clang++", "-std=c++20")]  # fmt: skip
    return [[tool, standard] for tool, standard in rows if which(tool)]


def compile_all(library: LibraryManifest, folder, rows=None) -> None:
    """Compile a program's includes, and the package's source, in every language; each compiler runs once."""
    compiler("gcc")
    (folder / f"{LIBRARY}.h").write_text(render_header(library))
    (folder / f"{LIBRARY}.hpp").write_text(render_cpp_header(library))
    (folder / f"{LIBRARY}.c").write_text(render_source(library))
    (folder / "main.c").write_text(f'{BEFORE}#include "{LIBRARY}.h"\n')
    (folder / "main.cpp").write_text(f'{BEFORE}#include "{LIBRARY}.hpp"\n')
    for tool, standard in rows or languages():
        files = ["main.c", f"{LIBRARY}.c"] if "++" not in tool else ["main.cpp"]
        run([tool, standard, *STRICT, "-isystem", cuda_include(), f"-I{folder}", *(folder / file for file in files)])


def test_every_set_compiles(tmp_path):
    """All in one library: the set distinguishes their kernels as well."""
    kernels = {f"{index}"[-1:].translate(str.maketrans("0123456789", "abcdefghij")) + f"{index}k": names for index, (_, names) in enumerate(SETS.values())}  # fmt: skip
    kernels |= {name: ["x", "out"] for row, _ in SETS.values() for name in row}
    compile_all(library_of(kernels), tmp_path)


def test_packages_of_any_name_compile_in_one_program(tmp_path):
    """Names of the launcher's own classes, and names that differ in their letters' case."""
    names = [*FREE, "Mine", "MINE", "mine_H"]
    for name in names:
        library = library_of({"k": ["out", name], name: ["out"]}, name)
        (tmp_path / f"{name}.h").write_text(render_header(library))
        (tmp_path / f"{name}.hpp").write_text(render_cpp_header(library))
    (tmp_path / "main.cpp").write_text("".join(f'#include "{name}.hpp"\n' for name in names))
    (tmp_path / "main.c").write_text("".join(f'#include "{name}.h"\n' for name in names))
    options = [*STRICT, "-isystem", cuda_include(), f"-I{tmp_path}"]
    run([compiler("g++"), "-std=c++17", *options, tmp_path / "main.cpp"])
    run([compiler("gcc"), "-std=c99", *options, tmp_path / "main.c"])


@pytest.mark.parametrize("name", SETS)
def test_names_of_a_set_are_distinct(name):
    kernels, parameters = SETS[name]
    calls = kernel_functions(library_of(dict.fromkeys(kernels, parameters)))
    of_c = [word for call in calls for word in (call.names.function, call.names.type)]
    of_cpp = [word for call in calls for word in (call.names.method, f"try_{call.names.method}")]
    assert len(set(of_c)) == len(of_c) and len({*of_cpp, *CLASS_MEMBERS}) == len(of_cpp) + len(CLASS_MEMBERS)
    for call in calls:
        assert len({member.name for member in call.members}) == len(parameters)


def test_names_that_c_can_write_stay():
    (call,) = kernel_functions(library_of({"k": ["x", "BLOCK", "int", "int_", "M", "_x", "__FILE__", "uint8_t"]}))
    assert call.names == ("k", "pk_launch_k", "pk_k_arguments", "k")
    assert [member.name for member in call.members] == [
        "x",
        "BLOCK",
        "int_2",
        "int_",
        "M",
        "_x",
        "arg_FILE",
        "uint8_t_",
    ]


def test_the_members_of_the_class_are_all_known():
    text = render_cpp_header(library_of({"a_kernel": ["x"]}))
    text = re.sub(r"^#.*", "", text, flags=re.MULTILINE)
    body = text[text.index("class library {") : text.rindex("} // namespace")]
    body = re.sub(r"/\*.*?\*/|\{[^{}]*\}|\{(?:[^{}]|\{[^{}]*\})*\}", "{}", body[body.index("{") + 1 :], flags=re.DOTALL)
    found = set(re.findall(r"(?<![\w:])(\w+)(?=\((?!\*)[^:]| = nullptr;)", body)) - {
        "explicit",
        "a_kernel",
        "try_a_kernel",
    }
    assert found <= {*CLASS_MEMBERS, "how"} and found >= {"try_open", "open_file", "handle_", "get"}, found


# ---- any names -----------------------------------------------------------------------------------------------------
KNOWN = sorted({word for kernels, names in SETS.values() for word in (*kernels, *names)})
WORDS = st.one_of(
    st.sampled_from(KNOWN),
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True),
    st.builds("".join, st.tuples(st.sampled_from(["", "_", "__", "try_", "launch_", "pk_", "arg_", "pk_launch_"]),
                                 st.sampled_from(KNOWN), st.sampled_from(["", "_", "__", "_2", "_arguments"]))),
)  # fmt: skip
LIBRARIES = st.dictionaries(WORDS, st.lists(WORDS, unique=True, max_size=8), min_size=30, max_size=60)


@settings(max_examples=2, suppress_health_check=list(HealthCheck))
@given(kernels=LIBRARIES)
def test_any_names_compile(tmp_path_factory, kernels):
    rows = [row for row in languages() if row[1] in ("-std=c99", "-std=c++17") and row[0] in ("gcc", "g++")]
    compile_all(library_of(kernels), tmp_path_factory.mktemp("names"), rows)


@settings(max_examples=50)
@given(names=st.lists(WORDS, unique=True, max_size=12), taken=st.lists(WORDS, max_size=4))
def test_names_of_a_scope_are_different_whatever_they_are(names, taken):
    made = unique_names(names, taken, ("{}", "try_{}"), c_identifier)
    words = [word for name in made.values() for word in (name, f"try_{name}")]
    assert made.keys() == set(names) and len(set(words)) == len(words) and not set(words) & set(taken)
    assert made == unique_names(reversed(names), taken, ("{}", "try_{}"), c_identifier)


@settings(max_examples=30)
@given(
    names=st.lists(
        st.one_of(WORDS, st.sampled_from(["grid", "stream", "grid_", "stream_", "class", "class_"])), unique=True
    )
)
def test_python_shows_each_parameter_once(names):
    launch = launcher("k", launch_with(names), StubList(), lambda grid, arguments, stream: None)
    shown = list(inspect.signature(launch).parameters)
    assert len(set(shown)) == len(names) + 2 and all(name.isidentifier() for name in shown)


def test_other_letters_are_refused_where_a_manifest_has_them():
    with pytest.raises(ValueError, match="not unique identifiers"):
        launch_with(["größe"])
    with pytest.raises(InvalidInput, match="have the same C name a_b"):
        render_header(library_of({"a$b": ["x"], "a_b": ["x"]}))
