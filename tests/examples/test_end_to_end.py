"""Every example, compiled by this project, run in the emulator and compared with NumPy; and assembled for every GPU."""

import re
import struct

import pytest

from tests.compiled_once import compiled
from tests.examples.example_library import CASES, LIKE_OTHERS, bytecode_of, inputs_of, launch
from tileiras_build.frontend.export_cutile import pack_arguments
from tileiras_build.target.targets import TARGETS
from tileiras_build.verify import find_faults

# One target of each way to multiply matrices and to copy; the others share theirs.
EMULATED = ("sm_80", "sm_90", "sm_100", "sm_120")
# Cases that run on every other GPU: their instructions are those of others, in another layout, order or type.
ON_SOME = (*LIKE_OTHERS, "attention_bf16_causal", "matmul_bf16_nn", "gelu_erf_bf16")
# The targets whose code nothing above runs are only assembled: it is that of the target above with their instructions, but where
# dots use other limits of shared memory. Every kernel with instructions of its own is assembled for one of them, dots for one
# whose limits change most of them as well, and dots that fill shared memory for the two others.
ASSEMBLED = tuple(name for name in TARGETS if name not in EMULATED)
LIMITS = ("sm_107", "sm_110")
WITH_DOTS = ("matmul", "attention")
FULL_LIMITS, FULL = (
    ("sm_86", "sm_103"),
    ("attention_f16_causal", "matmul_f16_nt_wide", "matmul_tf32_nn"),
)
EM_CUDA = 190


def has_dots(name: str) -> bool:
    return any(dot in name for dot in WITH_DOTS)


def assembled():
    return [
        pytest.param(name, sm, id=f"{name}-{sm}")
        for row, name in enumerate(CASES)
        for column, sm in enumerate(ASSEMBLED)
        if name not in ON_SOME
        and (
            (column - row) % len(ASSEMBLED) == 0
            or (sm == LIMITS[row % 2] and has_dots(name))
            or (sm in FULL_LIMITS and name in FULL)
        )
    ]


def sm_of(cubin: bytes) -> int:
    """The SM number in an ELF cubin's flags (bits 8 to 15 of e_flags, ELF ABI version 8)."""
    machine, flags = struct.unpack_from("<H", cubin, 18)[0], struct.unpack_from("<I", cubin, 48)[0]
    assert cubin[:4] == b"\x7fELF" and machine == EM_CUDA
    return flags >> 8 & 0xFF


def code_of(artifacts) -> str:
    """PTX without comments, and without what names the GPU."""
    return re.sub(r"//.*|^\.(version|target) .*", "", artifacts.ptx, flags=re.MULTILINE)


@pytest.mark.parametrize("name", CASES)
def test_kernel_computes_its_reference(name):
    """For each GPU; where several have the same code, the first of them runs it. Dots are assembled for each, others for one."""
    gpus = EMULATED[ON_SOME.index(name) % 2 :: 2] if name in ON_SOME else EMULATED
    first = {code_of(compiled(bytecode_of(name), sm)): sm for sm in reversed(gpus)}
    for place, sm in enumerate(first.values()):
        is_assembled = has_dots(name) or place == [*CASES].index(name) % len(first)
        artifacts = compiled(bytecode_of(name), sm, stop_at="cubin" if is_assembled else "ptx")
        assert not is_assembled or sm_of(artifacts.cubin) == TARGETS[sm].number
        assert (sm, find_faults(CASES[name], inputs_of(name), launch(name, artifacts))) == (sm, [])


@pytest.mark.parametrize(("name", "family"), [("matmul_f16_nt", "sm_100f"), ("batch_matmul_f16", "sm_120f")])
def test_code_for_a_family_is_that_of_its_first_gpu(name, family):
    made, own = (compiled(bytecode_of(name), sm, stop_at="cubin") for sm in (family, family.removesuffix("f")))
    assert made.manifest["target"] == family and f".target {family}\n" in made.ptx
    assert sm_of(made.cubin) == TARGETS[family.removesuffix("f")].number
    ours, theirs = (
        [line for line in one.ptx.splitlines() if family.removesuffix("f") not in line] for one in (made, own)
    )
    assert ours == theirs


@pytest.mark.parametrize(("name", "sm"), assembled())
def test_kernel_assembles(name, sm):
    artifacts = compiled(bytecode_of(name), sm, stop_at="cubin")
    assert sm_of(artifacts.cubin) == TARGETS[sm].number
    [(entry, kernel)] = artifacts.manifest["kernels"].items()
    parameters = pack_arguments(CASES[name], list(inputs_of(name).values()))
    assert (entry, kernel["param_sizes"]) == (name, [len(parameter) for parameter in parameters])
    assert len(kernel["params"]) == len(parameters) + len(kernel["tensor_maps"])
