"""The table of stages: order, what an edge may read, and signatures that change with the code."""

import dataclasses

import pytest

from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.pipeline.stages import (
    LIBDEVICE,
    PACKAGE,
    STAGES,
    Stage,
    between,
    find,
    load,
    source_digest,
    source_files,
)


def test_stages_lead_from_bytecode_to_cubin():
    assert [stage.suffix for stage in STAGES] == [".tilebc", ".tileaa", ".tileas", ".ll", ".ptx", ".cubin"]


@pytest.mark.parametrize("name", ["ll", ".ll"])
def test_find_takes_name_or_suffix(name):
    assert find(name).suffix == ".ll"


def test_between_excludes_the_source_and_includes_the_goal():
    assert [stage.name for stage in between("tileas", "ptx")] == ["ll", "ptx"]


@pytest.mark.parametrize(("source", "goal"), [("ptx", "ll"), ("ll", "ll"), ("cubin", "tilebc")])
def test_between_refuses_the_wrong_order(source, goal):
    with pytest.raises(InvalidInput, match=f"cannot lower .{source} to .{goal}"):
        between(source, goal)


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_every_source_entry_names_files(stage):
    for entry in stage.sources:
        assert source_files(dataclasses.replace(stage, sources=(entry,))), entry


def test_digest_changes_with_the_code(tmp_path):
    stage = Stage(".x", "an example", "edge:lower", sources=("edge",))
    (tmp_path / "edge").mkdir()
    (tmp_path / "edge/a.py").write_text("A = 1\n")
    digests = {source_digest.__wrapped__(stage, tmp_path)}
    (tmp_path / "edge/a.py").write_text("A = 2\n")
    digests.add(source_digest.__wrapped__(stage, tmp_path))
    (tmp_path / "edge/b.jinja").write_text("a template")
    digests.add(source_digest.__wrapped__(stage, tmp_path))
    (tmp_path / "edge/a.py").rename(tmp_path / "edge/b.py")
    digests.add(source_digest.__wrapped__(stage, tmp_path))
    digests.add(source_digest.__wrapped__(dataclasses.replace(stage, libraries=("numpy",)), tmp_path))
    assert len(digests) == 5


def test_digest_ignores_where_the_package_is():
    assert source_digest(STAGES[-1]) == source_digest.__wrapped__(STAGES[-1], PACKAGE)


def test_row_with_an_unknown_option_is_refused():
    with pytest.raises(AssertionError):
        Stage(".x", "an example", "edge:lower", options=("speed",))


def test_missing_function_is_named():
    with pytest.raises(InternalError, match="tileiras_build.core.errors has no function absent"):
        load("tileiras_build.core.errors:absent")


BEHIND_BYTECODE = {"libdevice.bc", *(stage.name for stage in STAGES[1:])}
CODE = {
    "pipeline/tilebc_to_tileaa/__init__.py": {"tileaa"},
    "pipeline/tileas_to_ll/__init__.py": {"ll"},
    "pipeline/launch_manifest_json.py": {"cubin"},
    "libdevice/extract_subset.py": {"libdevice.bc", "ptx"},
    "driver.py": BEHIND_BYTECODE,
    "target/targets.py": BEHIND_BYTECODE,
}


@pytest.mark.parametrize("path", CODE)
def test_an_edit_of_a_file_changes_the_stages_that_it_can_affect(path):
    assert {stage.name for stage in (*STAGES, LIBDEVICE) if PACKAGE / path in source_files(stage)} == CODE[path]


def test_what_serializes_depends_on_the_version_of_llvm():
    assert {stage.name for stage in (*STAGES, LIBDEVICE) if "llvmlite" in stage.libraries} == {"libdevice.bc", "ptx"}
