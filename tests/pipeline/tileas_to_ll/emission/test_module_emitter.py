"""Memory that a launch gives a kernel: shared memory, static up to what every kernel may take, dynamic beyond, what ptxas
makes of that, and parameters."""

import pytest

from tests import compiled_once
from tests.examples.example_library import bytecode_of
from tests.pairwise import alternate
from tileiras_build import compile
from tileiras_build.core.errors import InvalidInput
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.pipeline.ptx_to_cubin import read_cubin
from tileiras_build.target.sm_limits import COMMON_SHARED_MEMORY
from tileiras_build.target.targets import PARAMETER_MEMORY, find_target

SMS = ("sm_80", "sm_90", "sm_100", "sm_120")
LARGE, SMALL, REGISTERS = "matmul_f16_nt_wide", "transpose_f32", "attention_f16"


def compiled(name, sm):
    """Artifacts, the kernel's manifest, and what the cubin says that it takes."""
    made = compiled_once.compiled(bytecode_of(name), sm, stop_at="cubin")
    return made, made.manifest["kernels"][name], read_cubin(made.cubin).kernels[name]


@pytest.mark.parametrize("sm", SMS)
def test_what_exceeds_the_common_limit_is_dynamic_and_lies_on_a_swizzle_pattern(sm):
    made, kernel, cubin = compiled(LARGE, sm)
    assert COMMON_SHARED_MEMORY < kernel["shared_memory"]["dynamic"] <= find_target(sm).max_shared_memory
    assert kernel["shared_memory"]["static"] == cubin.shared == 0
    assert ".extern .shared .align 1024 .b8 global_smem[];" in made.ptx


@pytest.mark.parametrize("sm", SMS)
def test_what_every_kernel_may_take_is_static(sm):
    made, kernel, cubin = compiled(SMALL, sm)
    assert 0 < kernel["shared_memory"]["static"] == cubin.shared <= COMMON_SHARED_MEMORY
    assert kernel["shared_memory"]["dynamic"] == 0 and ".extern .shared" not in made.ptx


@pytest.mark.parametrize(("name", "sm"), alternate([LARGE, REGISTERS], ["sm_80", "sm_90", "sm_120", "sm_100"]))
def test_ptxas_knows_the_registers_at_entry(name, sm):
    """Else it would ignore ``setmaxnreg``, and say so."""
    assert "notes" not in compiled(name, sm)[0].manifest


@pytest.mark.parametrize(("sm", "said"), [("sm_80", False), ("sm_90", True)])
def test_one_cta_is_declared_where_a_second_does_not_fit(sm, said):
    made, kernel, _ = compiled(LARGE, sm)
    fills = 2 * kernel["shared_memory"]["dynamic"] > find_target(sm).sm_limits.shared_memory
    assert (".minnctapersm 1" in made.ptx) == said == fills


def kernel_of(bytes_of_parameters: int) -> bytes:
    """The bytecode of a kernel whose parameters take so many bytes, of which the last four are an f32."""
    types = ["f64"] * (bytes_of_parameters // 8) + ["f32"] * (bytes_of_parameters % 8 // 4)
    parameters = ", ".join(f"%a{number}: tile<{type}>" for number, type in enumerate(types))
    return write_module(parse_text(f"cuda_tile.module @m {{\nentry @k({parameters}) {{\nreturn\n}}\n}}\n"))


def test_parameters_take_what_a_launch_passes_at_most():
    kernel = compile(kernel_of(PARAMETER_MEMORY), "sm_90", stop_at="cubin").manifest["kernels"]["k"]
    assert kernel["params"][-1]["offset"] + 4 == PARAMETER_MEMORY
    with pytest.raises(
        InvalidInput, match=r"kernel-parameters.*4096 parameters of kernel 'k' take 32768 bytes.*32764 at most; pass"
    ):
        compile(kernel_of(PARAMETER_MEMORY + 4), "sm_90", stop_at="ll")
