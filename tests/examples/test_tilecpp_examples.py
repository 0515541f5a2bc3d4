"""The CUDA Tile C++ examples, compiled by NVIDIA's nvcc where there is one: numbers in the emulator, code for every GPU."""

from functools import cache
from itertools import cycle

import pytest

from tests.compiled_once import compiled, once
from tests.examples.example_library import FOLDER
from tests.pairwise import alternate
from tileiras_build.core.symbols.itanium_demangler import demangle
from tileiras_build.frontend.export_cutile import opened_module
from tileiras_build.frontend.tilecpp.compile_and_check import compile_checked
from tileiras_build.frontend.tilecpp.nvcc_toolchain import toolchain_fault
from tileiras_build.frontend.tilecpp.run_nvcc import BYTECODE, Request
from tileiras_build.target.targets import TARGETS
from tileiras_build.verify import check_kernels

MISSING = toolchain_fault()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
FILES = sorted(path.name for path in (FOLDER / "kernels").glob("*.cu"))
EMULATED = ("sm_80", "sm_90", "sm_100", "sm_120")
# nvcc makes bytecode of its own for each GPU, at more cost than all that follows: each GPU has every other file; matmuls run on
# both GPUs with instructions for whole warpgroups and CTAs.
RUN = [*alternate(FILES, EMULATED), ("matmul_relu.cu", "sm_100")]
# And for a few of the others: test_end_to_end.py assembles for each of them.
ASSEMBLED = [*RUN, *zip(cycle(FILES), ("sm_86", "sm_89", "sm_103", "sm_121"))]


@cache
def names_of(file: str) -> list[str]:
    with opened_module(FOLDER / "kernels" / file.replace(".cu", ".py")) as module:
        return [row.name for row in module.REFERENCES]


@cache
def bytecode_of(file: str, sm: int) -> bytes:
    request = Request(f"examples/kernels/{file}", sm)
    return once(("tilecpp", file, sm), lambda: compile_checked(request, str(FOLDER.parent)).files[BYTECODE])


def artifacts_of(file: str, target: str, **options):
    return compiled(bytecode_of(file, TARGETS[target].number), target, **options)


@pytest.mark.parametrize("file", FILES)
def test_every_kernel_has_a_reference(file):
    assert sorted(map(demangle, artifacts_of(file, "sm_100").manifest["kernels"])) == sorted(names_of(file))


@pytest.mark.parametrize(("file", "target"), RUN)
def test_results_are_those_of_numpy(file, target):
    data, source = bytecode_of(file, TARGETS[target].number), FOLDER / "kernels" / file
    outcomes = check_kernels(data, artifacts_of(file, target), target, str(source))
    assert sorted(one.entry for one in outcomes) == sorted(names_of(file))
    assert all(one.share <= 1 and one.interpreter is not None for one in outcomes)


@pytest.mark.parametrize(("file", "target"), ASSEMBLED)
def test_code_is_assembled_for_every_gpu(file, target):
    assert artifacts_of(file, target, stop_at="cubin").cubin[:4] == b"\x7fELF"


def test_bytecode_says_nothing_of_where_it_was_made():
    assert str(FOLDER).encode() not in bytecode_of(FILES[0], 80) and b"site-packages" not in bytecode_of(FILES[0], 80)
