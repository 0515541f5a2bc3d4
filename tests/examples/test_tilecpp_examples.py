"""The CUDA Tile C++ examples, compiled by NVIDIA's nvcc where there is one: numbers in the emulator, code for every GPU."""

import importlib
import sys
from functools import cache

import numpy as np
import pytest

from tests.compiled_once import once
from tests.examples.example_library import FOLDER
from tileiras_build import driver, emulator
from tileiras_build.cpp_names import readable
from tileiras_build.targets import TARGETS
from tileiras_build.tilecpp.check_kernels import compile_checked
from tileiras_build.tilecpp.compile_file import BYTECODE, Request
from tileiras_build.tilecpp.toolchain import what_is_missing

MISSING = what_is_missing()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
FILES = sorted(path.name for path in (FOLDER / "kernels").glob("*.cu"))


@cache
def examples() -> dict:
    sys.path.insert(0, str(FOLDER / "kernels"))
    try:
        return {example.name: example for example in importlib.import_module("_tilecpp").EXAMPLES}
    finally:
        sys.path.remove(str(FOLDER / "kernels"))


NAMES = sorted(examples())


@cache
def bytecode_of(file: str, sm: int) -> bytes:
    request = Request(f"examples/kernels/{file}", sm)
    return once(("tilecpp", file, sm), lambda: compile_checked(request, str(FOLDER.parent)).files[BYTECODE])


@cache
def artifacts_of(file: str, target: str):
    return driver.compile(bytecode_of(file, TARGETS[target].number), target, stop_at="ptx")


def test_every_kernel_has_a_reference():
    made = {readable(entry) for file in FILES for entry in artifacts_of(file, "sm_80").manifest["kernels"]}
    assert made == set(NAMES)


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_those_of_numpy(name, target):
    example = examples()[name]
    artifacts = artifacts_of(example.file, target)
    (entry,) = [entry for entry in artifacts.manifest["kernels"] if readable(entry) == name]
    before, after = (example.make_inputs(np.random.default_rng(7)) for _ in range(2))
    memory = emulator.Memory()
    for array in (value for value in after.values() if isinstance(value, np.ndarray)):
        start, end = np.lib.array_utils.byte_bounds(array)
        memory.map(start, end - start)
    emulator.launch(artifacts, entry, example.grid(after), example.pack(after), memory=memory)
    assert example.find_faults(before, after) == []


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("file", FILES)
def test_code_is_assembled_for_every_gpu(file, target):
    assert driver.compile(bytecode_of(file, TARGETS[target].number), target).cubin[:4] == b"\x7fELF"


def test_bytecode_says_nothing_of_where_it_was_made():
    assert str(FOLDER).encode() not in bytecode_of(FILES[0], 80) and b"site-packages" not in bytecode_of(FILES[0], 80)
