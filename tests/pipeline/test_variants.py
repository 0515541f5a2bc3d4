"""Aligned and cluster variants on their way through the compiler: their own code and memory, the results of both kernels, equal ones dropped."""

from functools import cache
from pathlib import Path

import pytest

from tests import compiled_once
from tileiras_build.frontend.export_cutile import export_with_variants
from tileiras_build.manifest.launch_manifest import read_launch_manifest
from tileiras_build.manifest.variant_assumptions import conditions
from tileiras_build.target.sm_limits import COMMON_SHARED_MEMORY
from tileiras_build.verify import check_kernels

KERNELS = Path(__file__).with_name("variant_kernels.py")


@cache
def exported():
    return compiled_once.once(("variants", KERNELS), lambda: export_with_variants(KERNELS))


def compiled(name, sm, **options):
    return compiled_once.compiled(exported()[name], sm, **options)


def launches(name, sm, **options):
    return read_launch_manifest(compiled(name, sm, **options).manifest).kernels


LAUNCHED = [("matmul", "sm_80"), ("matmul", "sm_100"), ("matmul_odd", "sm_90"), ("add", "sm_90"), ("add_odd", "sm_120")]


@pytest.mark.parametrize(("name", "sm"), LAUNCHED)
def test_both_kernels_match_the_reference_where_arrays_keep_the_promises(name, sm, monkeypatch):
    monkeypatch.setenv("TILEIRAS_EMULATOR_RACES", "1")
    outcomes = check_kernels(exported()[name], compiled(name, sm), sm, str(KERNELS))
    variants = [] if name.endswith("odd") else [f"{name}__aligned"]
    clustered = [f"{name}__aligned__cluster2"] if name == "matmul" and sm in ("sm_90", "sm_100") else []
    assert [outcome.entry for outcome in outcomes] == [name, *variants, *clustered]


@pytest.mark.parametrize(("sm", "split"), [("sm_90", ("split4", "split2")), ("sm_100", ("split4",))])
def test_split_k_variants_match_the_reference_for_grids_of_other_variants_too(sm, split, monkeypatch):
    monkeypatch.setenv("TILEIRAS_EMULATOR_RACES", "1")
    name = "matmul_deep"
    outcomes = check_kernels(exported()[name], compiled(name, sm, variants=2), sm, str(KERNELS))
    variants = ("", "__aligned", *(f"__aligned__{one}" for one in (*split, "cluster2")))
    assert [outcome.entry for outcome in outcomes] == [name + one for one in variants]


def test_a_cluster_variant_is_left_out_for_grids_that_it_does_not_divide():
    made = compiled("matmul_three_rows", "sm_90")
    assert "matmul_three_rows__aligned__cluster2" in made.manifest["kernels"]
    outcomes = check_kernels(exported()["matmul_three_rows"], made, "sm_90", str(KERNELS))
    assert [outcome.entry for outcome in outcomes] == ["matmul_three_rows", "matmul_three_rows__aligned"]


def test_the_variant_says_what_it_assumes():
    found = launches("matmul", "sm_90")
    variant = found["matmul__aligned"]
    assert variant.variant_of == "matmul" and found["matmul"].variant_of is None
    wanted = {param.name: param.divisible_by for _, param in conditions(found["matmul"], variant)}
    assert wanted == {
        "a_shape_1": 8, "a_stride_0": 8, "b_shape_1": 8, "b_stride_0": 8, "out_shape_1": 4, "out_stride_0": 4,
    }  # fmt: skip


def test_a_kernel_takes_its_own_shared_memory_only():
    found = launches("matmul", "sm_90")
    general, variant = found["matmul"].shared_memory, found["matmul__aligned"].shared_memory
    assert general.static == variant.static == 0  # a variable of the module would have the larger size in both
    assert 0 < general.dynamic <= COMMON_SHARED_MEMORY < variant.dynamic
    alone = launches("matmul", "sm_90", variants=0)["matmul"].shared_memory
    assert (alone.static, alone.dynamic) == (general.dynamic, 0)


def test_only_variants_have_tma():
    general, clustered, variant = compiled("matmul", "sm_90").ptx.split(".visible .entry ")[1:]
    assert "wgmma" in variant and "cp.async.bulk.tensor" in variant and "multicast::cluster" not in variant
    assert clustered.startswith("matmul__aligned__cluster2(") and "multicast::cluster" in clustered
    assert "cp.async.bulk" not in general


def test_without_variants_the_general_kernel_is_alone():
    made = compiled("matmul", "sm_90", variants=0)
    assert list(made.manifest["kernels"]) == ["matmul"] and made.ptx.count(".entry") == 1


def test_a_variant_with_equal_code_is_dropped():
    made = compiled("number", "sm_90")
    assert b"number__aligned" in exported()["number"]
    assert list(made.manifest["kernels"]) == ["number"] and made.ptx.count(".entry") == 1
    assert made.ptx == compiled("number", "sm_90", variants=0).ptx
    assert check_kernels(exported()["number"], made, "sm_90", str(KERNELS)) == []


def test_a_schedule_file_is_for_the_kernel_itself():
    made = compiled("matmul", "sm_90", schedule='{"schedule": {"num_warps": 4}}')
    assert list(made.manifest["kernels"]) == ["matmul"]
