"""The file of choices beside a kernel file, and what an export takes from it."""

import json
from types import SimpleNamespace

import pytest

from tests.tuning.tuned_kernels import source
from tileiras_build.cases import keep_result
from tileiras_build.core.errors import InvalidInput
from tileiras_build.frontend.argument_names_in_producer import parse, signature_note
from tileiras_build.frontend.export_cutile import export_kernels, load_cases
from tileiras_build.frontend.tuning_choices import Choice, choice_file, chosen_case, read_choices, write_choices
from tileiras_build.frontend.tuning_space import digest, points
from tileiras_build.ir.bytecode.reader import read_module


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "double.py"
    file.write_text(source(64, 128, 256))
    return file


def test_entries_are_replaced_one_by_one(path):
    write_choices(path, {"double": {"sm_90": Choice({"TILE": 128}, "model", 2.5, 5.0, "abc")}})
    write_choices(path, {"double": {"sm_80": Choice({"TILE": 256}, "hand")}})
    assert json.loads(choice_file(path).read_text()) == {
        "double": {
            "sm_80": {"point": {"TILE": 256}, "by": "hand"},
            "sm_90": {"point": {"TILE": 128}, "by": "model", "microseconds": 2.5, "default_microseconds": 5.0, "space": "abc"},
        }
    }  # fmt: skip
    assert read_choices(path)["double"]["sm_80"] == Choice({"TILE": 256}, "hand")


def test_without_a_file_nothing_is_chosen(path):
    assert read_choices(path) == {}
    tuned, plain = load_cases(path)
    assert chosen_case(tuned, path, "sm_90") == (tuned, {"point": {"TILE": 64}, "by": "default"})
    assert chosen_case(plain, path, "sm_90") == (plain, None)


@pytest.mark.parametrize("text", ["[]", "{", '{"double": {"sm_90": {}}}', '{"double": {"sm_90": {"point": 4}}}'])
def test_an_invalid_file_is_one_error(path, text):
    choice_file(path).write_text(text)
    with pytest.raises(InvalidInput) as found:
        read_choices(path)
    assert found.value.id == "tune-file"


def test_a_chosen_point_is_exported_for_its_target(path):
    write_choices(
        path, {"double": {"sm_90": Choice({"TILE": 128}, "model", space=digest(points(load_cases(path)[0])))}}
    )
    exported = {sm: export_kernels(path, ["double"], tuned_for=sm)["double"] for sm in ("sm_80", "sm_90")}
    assert _tuning(exported["sm_80"]) == {"point": {"TILE": 64}, "by": "default"}
    assert _tuning(exported["sm_90"]) == {"point": {"TILE": 128}, "by": "model"}
    assert "128xf32" in str(read_module(exported["sm_90"]))


def _tuning(bytecode: bytes):
    [module] = read_module(bytecode).body.block.ops
    return parse(signature_note(module.properties["producer"].data, "double")).tuning


def test_a_choice_from_another_space_is_marked(path):
    write_choices(path, {"double": {"sm_90": Choice({"TILE": 128}, "model", space="another")}})
    assert chosen_case(load_cases(path)[0], path, "sm_90")[1] == {"point": {"TILE": 128}, "by": "model", "stale": True}


def test_a_choice_that_is_no_point_is_an_error(path):
    write_choices(path, {"double": {"sm_90": Choice({"TILE": 32}, "model")}})
    with pytest.raises(InvalidInput) as found:
        export_kernels(path, ["double"], tuned_for="sm_90")
    assert found.value.id == "tune-stale"
    assert "double: TILE=32 for sm_90 is no point of its space; run scons tune" in str(found.value)


def test_results_of_cutile_are_taken_over(path):
    best = SimpleNamespace(config={"TILE": 256}, mean_us=3.25)
    keep_result(path, "double", "sm_90", SimpleNamespace(best=best))
    keep_result(path, "double", "sm_80", {"TILE": 128})
    assert read_choices(path)["double"] == {
        "sm_80": Choice({"TILE": 128}, "hand"),
        "sm_90": Choice({"TILE": 256}, "ct.tune", 3.25),
    }
    with pytest.raises(ValueError, match="a configuration is a dict"):
        keep_result(path, "double", "sm_90", (64, 128))
