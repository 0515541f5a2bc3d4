"""Warnings of a kernel whose operands have no promises, from its artifacts."""

import json

import pytest

from tests.compiled_once import compiled
from tests.examples.example_library import bytecode_of
from tests.pipeline.test_variants import exported
from tileiras_build.core.errors import CompilerWarning, ErrorGroup, InvalidInput
from tileiras_build.core.warning_classes import WARNINGS, WarningOptions
from tileiras_build.reports.compiler_warnings import of_manifest, of_tileas, report


@pytest.fixture(scope="module")
def tileas():
    data = bytecode_of("matmul_f16_nt_odd")
    return compiled(data, "sm_90", stop_at="tileas", strategy="unspecialize").tileas.encode()


def test_remarks_of_the_selected_classes_have_a_location_and_a_remedy(tileas):
    found = of_tileas(tileas, "sm_90", ("mma",))
    assert [(one.id, one.location.line > 0, one.remedy) for one in found] == [("mma", True, WARNINGS["mma"].remedy)]
    assert (
        "warning[mma]: MMA operation does not use wgmma, in kernel matmul_f16_nt_odd for sm_90: wgmma requires"
        in str(found[0])
    )
    assert {one.id for one in of_tileas(tileas, "sm_90", tuple(WARNINGS))} == {"tma", "mma", "vector", "bounds"}


def test_a_kernel_with_a_variant_is_not_warned_about():
    data = compiled(exported()["matmul"], "sm_90", stop_at="tileas").tileas.encode()
    assert {"matmul__aligned" in one.message for one in of_tileas(data, "sm_90", tuple(WARNINGS))} <= {True}
    alone = compiled(exported()["matmul"], "sm_90", stop_at="tileas", variants=0).tileas.encode()
    assert "tma" in {one.id for one in of_tileas(alone, "sm_90", tuple(WARNINGS))}


def test_spills_are_read_from_the_manifest():
    used = {"a": {"spill_stores": 8, "spill_loads": 16}, "b": {"spill_stores": 0, "spill_loads": 0}, "c": {}}
    manifest = json.dumps({"kernels": {name: {"resources": row} for name, row in used.items()}}).encode()
    [found] = of_manifest(manifest, "sm_90", ("spill",))
    assert str(found).startswith(
        "warning[spill]: kernel a for sm_90 spills registers: 8 bytes of stores and 16 of loads; use"
    )
    assert of_manifest(manifest, "sm_90", ()) == []


def test_warnings_are_shown_or_raised_together():
    found, shown = [CompilerWarning("tma", "one"), CompilerWarning("mma", "two")], []
    report(found, WarningOptions(("tma", "mma")), shown.append)
    assert shown == ["warning[tma]: one", "warning[mma]: two"]
    with pytest.raises(ErrorGroup) as caught:
        report(found, WarningOptions(("tma", "mma"), are_errors=True), shown.append)
    assert [(type(one), str(one)) for one in caught.value.errors] == [
        (InvalidInput, "error[tma]: one"), (InvalidInput, "error[mma]: two"),
    ]  # fmt: skip
