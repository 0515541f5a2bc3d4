"""benchmarks/triton_peer.py, as far as it goes without Triton: programs for problems, and where a cubin has its parameters."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.emulated_kernels import assembled
from tileiras_build.frontend.export_cutile import load_cases
from tileiras_build.simulate.estimate.constant_bank_values import Argument, GlobalBuffer
from tileiras_build.target.targets import TARGETS

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
KERNELS = FOLDER / "key_kernels.py"
MODULES = ("triton_peer", "variants", "compile_speed")


@pytest.fixture
def peer(monkeypatch):
    """The program and what makes problems, as its folder's scripts see them."""
    for folder in (FOLDER / "gpu", FOLDER):
        monkeypatch.syspath_prepend(str(folder))
    import triton_peer
    import variants

    yield SimpleNamespace(program=triton_peer, variants=variants)
    for name in MODULES:
        sys.modules.pop(name, None)


def programs(peer, name: str, sm: str) -> list:
    case = next(case for case in load_cases(KERNELS) if case.name == name)
    family = next(row for prefix, row in peer.program.FAMILIES.items() if name.startswith(prefix))
    return list(family.programs(case, peer.variants.problem(case, small=False)["variants"]["full"], TARGETS[sm]))


@pytest.mark.parametrize(
    ("name", "sm", "kernels"),
    [
        ("matmul_f16_128x128x64", "sm_80", ["matmul"]),
        ("matmul_f16_128x128x64", "sm_90", ["matmul", "matmul_tma"]),
        ("matmul_f16_128x256x64_persistent", "sm_100", ["persistent_matmul", *["persistent_matmul_tma"] * 2]),
        ("scaled_mxfp4_128x128x256", "sm_100", ["scaled_matmul"]),
        ("attention_f16_256x128_causal", "sm_80", ["attention"] * 2),
        ("layer_norm_f16_4096", "sm_90", ["layer_norm"]),
        ("softmax_f16_4096", "sm_90", ["softmax"]),
        ("transpose_f32_64x64", "sm_90", ["transpose"]),
        ("vector_add_f16_4096", "sm_90", ["vector_add"]),
    ],
)
def test_problems_have_programs(peer, name, sm, kernels):
    assert [program.kernel for program in programs(peer, name, sm)] == kernels


def test_operand_that_lies_by_columns_is_given_as_it_is_stored(peer):
    [program, by_tma] = programs(peer, "matmul_f8e4m3_128x128x64", "sm_90")
    assert program.constants["TURNED"] and program.arguments["b"].shape == (4096, 4096)
    assert by_tma.boxes == {"a": (128, 64), "b": (128, 64), "c": (128, 128)}
    assert not programs(peer, "matmul_f8e4m3_128x128x64_by_rows", "sm_90")[0].constants["TURNED"]


def test_arrays_lie_as_the_problem_says(peer):
    program, *_ = programs(peer, "attention_f16_128x128", "sm_90")
    assert program.arguments["k"].shape == (32 * 4096, 128) and program.arguments["length"] == 4096
    assert (program.constants["D"], program.grid) == (128, (32, 32, 1))
    [row] = programs(peer, "softmax_f16_4096", "sm_90")
    assert row.arguments["x"].shape == (16384, 4096)


def test_parameters_lie_where_the_cubin_says(peer):
    """A tensor map of ours lies on 64 bytes, behind the arrays, as Triton's descriptors do."""
    artifacts = assembled(KERNELS, "matmul_f16_128x128x64", "sm_90")
    [(name, row)] = artifacts.manifest["kernels"].items()
    places = [(param["offset"], param["size"]) for param in row["params"]]
    assert peer.program._places(artifacts.cubin, name) == places
    assert any(size == 128 for _, size in places)


def test_descriptor_is_a_map_extents_and_strides(peer, monkeypatch):
    sizes = [128, 4, 4, 8, 8, 8, 4, 8]
    monkeypatch.setattr(peer.program, "_places", lambda cubin, kernel: [(at, size) for at, size in enumerate(sizes)])
    memory = peer.program.Memory("fp16", (64, 32))
    program = peer.program.Program("k", {"a": memory, "b": memory, "n": 5}, {}, (1, 1, 1), {"a": (8, 8)})
    values = [None, 64, 32, 32, 1, GlobalBuffer("b", 64 * 32 * 2), 5, 0]
    assert list(peer.program._arguments(program, b"", "k")) == [
        Argument(at, size, value) for at, (size, value) in enumerate(zip(sizes, values, strict=True))
    ]
