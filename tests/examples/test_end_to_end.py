"""Every example, compiled by this project, run in the emulator and compared with NumPy; and assembled for every GPU."""

import struct

import pytest
from example_library import CASES, FILES, bytecode_of, inputs_of, launch

import tileiras_build
from tileiras_build.bytecode.export import list_cases, pack_arguments
from tileiras_build.errors import Unsupported
from tileiras_build.targets import TARGETS

# One target of each way to multiply matrices and to copy (targets.py: tiers); the others share theirs.
EMULATED = ("sm_80", "sm_90", "sm_100", "sm_120")
# The targets whose code nothing above runs are assembled from one kernel of each file.
ASSEMBLED = tuple(name for name in TARGETS if name not in EMULATED)
FIRST_CASES = tuple(list_cases(path)[0] for path in FILES)
EM_CUDA = 190


def is_able(name: str, sm: str) -> bool:
    return CASES[name].requires <= TARGETS[sm].capabilities


def pairs(names, targets, *, able: bool):
    return [pytest.param(name, sm, id=f"{name}-{sm}") for name in names for sm in targets if is_able(name, sm) == able]


def sm_of(cubin: bytes) -> int:
    """The SM number in an ELF cubin's flags (bits 8 to 15 of e_flags, ELF ABI version 8)."""
    machine, flags = struct.unpack_from("<H", cubin, 18)[0], struct.unpack_from("<I", cubin, 48)[0]
    assert cubin[:4] == b"\x7fELF" and machine == EM_CUDA
    return flags >> 8 & 0xFF


@pytest.mark.parametrize(("name", "sm"), pairs(CASES, EMULATED, able=True))
def test_kernel_computes_its_reference(name, sm):
    artifacts = tileiras_build.compile(bytecode_of(name), sm)
    assert sm_of(artifacts.cubin) == TARGETS[sm].number
    assert CASES[name].find_faults(inputs_of(name), launch(name, artifacts)) == []


@pytest.mark.parametrize(("name", "sm"), pairs(FIRST_CASES, ASSEMBLED, able=True))
def test_kernel_assembles(name, sm):
    artifacts = tileiras_build.compile(bytecode_of(name), sm)
    assert sm_of(artifacts.cubin) == TARGETS[sm].number
    [(entry, kernel)] = artifacts.manifest["kernels"].items()
    parameters = pack_arguments(CASES[name], list(inputs_of(name).values()))
    descriptors = len(kernel["tensor_maps"])
    assert (entry, len(kernel["param_sizes"]) - descriptors) == (name, len(parameters))
    assert kernel["param_sizes"][: len(parameters)] == [len(parameter) for parameter in parameters]


@pytest.mark.parametrize(("name", "sm"), pairs(CASES, TARGETS, able=False))
def test_a_target_without_the_type_refuses_the_kernel(name, sm):
    with pytest.raises(Unsupported) as caught:
        tileiras_build.compile(bytecode_of(name), sm)
    assert "f8E4M3FN" in str(caught.value) and sm in str(caught.value)
    assert caught.value.remedy
