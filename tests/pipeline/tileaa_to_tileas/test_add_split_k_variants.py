"""Which kernels get variants for grids of few tile programs, and what these promise."""

import pytest

from tests.compiled_once import compiled
from tests.pipeline.test_variants import exported as with_arrays
from tests.pipeline.tileaa_to_tileas.test_add_cluster_variants import exported
from tileiras_build.core.warning_classes import WARNINGS
from tileiras_build.reports.compiler_warnings import of_tileas

PARTS = ("__split4", "__split2")


def kernels(data, sm, **options):
    return compiled(data, sm, **options).manifest["kernels"]


@pytest.mark.parametrize(("sm", "most"), [("sm_90", (33, 66)), ("sm_100", (37, 74))])
def test_variants_for_as_many_tile_programs_as_leave_an_sm_to_each_part(sm, most):
    found = kernels(with_arrays()["matmul"], sm, variants=2)
    split = {name: row for name, row in found.items() if "__split" in name}
    assert [name.removeprefix("matmul__aligned") for name in split] == list(PARTS)
    assert [row["grid"]["most"] for row in split.values()] == list(most)
    assert all(row["variant_of"] == "matmul" and row["cluster"] == [int(name[-1]), 1, 1] for name, row in split.items())
    for row in split.values():
        [promised] = [param for param in row["params"] if (param.get("minimum") or 0) > 1]
        assert promised["name"] == "a_shape_1" and promised["minimum"] in (512, 1024)


@pytest.mark.parametrize(
    ("name", "sm", "options"),
    [
        ("leaving", "sm_90", {"variants": 2}),
        ("by_rows", "sm_80", {"variants": 2}),
        ("by_rows", "sm_90", {}),
    ],
)
def test_no_variant(name, sm, options):
    assert not any("__split" in one for one in kernels(exported()[name], sm, **options))


def test_only_the_kernel_has_warnings():
    text = compiled(with_arrays()["matmul"], "sm_90", variants=2).tileas.encode()
    assert not any("__split" in one.message for one in of_tileas(text, "sm_90", tuple(WARNINGS)))
