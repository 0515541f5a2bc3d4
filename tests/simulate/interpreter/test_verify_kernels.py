"""Verification of compiled kernels: counts, errors relative to the tolerance, and failures."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import tileiras_build
from tileiras_build.core.errors import InternalError
from tileiras_build.simulate.interpreter.verify_kernels import verify_against_interpreter

PREBUILT = Path(__file__).parents[3] / "examples" / "prebuilt"


def compiled(name: str, target: str):
    data = (PREBUILT / f"{name}.tilebc").read_bytes()
    return data, tileiras_build.compile(data, target, stop_at="ptx")


def test_differences_are_a_share_of_what_is_allowed():
    data, artifacts = compiled("matmul_f16_nt", "sm_80")
    [check] = verify_against_interpreter(data, artifacts, "sm_80")
    assert (check.entry, check.arrays, check.reason) == ("matmul_f16_nt", 3, "")
    assert 0 < check.share < 1
    assert check.elements > 1000 and min(check.grid) >= 1


def test_exact_kernels_have_no_share():
    data, artifacts = compiled("vector_add_f32", "sm_80")
    [check] = verify_against_interpreter(data, artifacts, "sm_80")
    assert check.share == 0
    assert replace(check, entry="k").to_json()["entry"] == "k"


def test_what_the_emulator_cannot_run_is_an_error():
    data, artifacts = compiled("vector_add_f32", "sm_80")
    broken = SimpleNamespace(ptx=artifacts.ptx.replace("add.rn.f32", "addd.rn.f32"), manifest=artifacts.manifest)
    with pytest.raises(InternalError, match="verify-emulator.*vector_add_f32 on sm_80"):
        verify_against_interpreter(data, broken, "sm_80")
