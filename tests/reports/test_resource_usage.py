"""The table of resources: read from manifests, sorted by kernel and SM."""

import json

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.manifest.manifest_constants import VERSION
from tileiras_build.reports.resource_usage import (
    ResourceRow,
    print_resources,
    read_folder,
    read_manifest,
    rows_of_manifest,
)


def manifest(kernel="k", target="sm_90a", **resources) -> dict:
    entry = {"shared_memory": {"static": 0, "dynamic": 512}, "resources": resources}
    return {"version": VERSION, "target": target, "kernels": {kernel: entry}}


def test_shared_memory_is_static_and_dynamic():
    (row,) = rows_of_manifest(manifest(registers=32, shared=1024, stack=8, spill_stores=4, spill_loads=12))
    assert row == ResourceRow("k", "sm_90", 32, 1536, 8, 4, 12)


def test_unknown_resources_are_dashes():
    (row,) = rows_of_manifest(manifest())
    assert row.cells == ("k", "sm_90", "-", "-", "-", "-", "-")


def test_table_is_sorted_by_kernel_and_number_and_aligned(capsys):
    rows = [ResourceRow(kernel, sm, 8, 0, 0, 0, 0) for kernel in ("b", "long_name") for sm in ("sm_100", "sm_90")]
    print_resources(rows)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[2:]] == [
        ["b", "sm_90"], ["b", "sm_100"], ["long_name", "sm_90"], ["long_name", "sm_100"],
    ]  # fmt: skip
    assert len({line.index("8") for line in lines[2:]}) == 1
    assert set(lines[1]) == {"-"} and len(lines[1]) == len(lines[0])


def test_folder_is_read_with_its_subfolders(tmp_path):
    for target in ("sm_80", "sm_90"):
        folder = tmp_path / target
        folder.mkdir()
        (folder / "k.cubin").touch()
        (folder / "k.json").write_text(json.dumps(manifest(target=target, registers=1)))
    (tmp_path / "other.json").write_text("not a manifest, and no cubin is beside it")
    assert [row.target for row in read_folder(tmp_path)] == ["sm_80", "sm_90"]


BAD = ["{", "[]", '{"version": 9, "kernels": {}}', '{"version": 2}', '{"version": 2, "kernels": 3}']


@pytest.mark.parametrize("text", BAD)
def test_file_that_is_no_manifest(tmp_path, text):
    path = tmp_path / "k.json"
    path.write_text(text)
    with pytest.raises(InvalidInput, match="k.json: error.report-manifest.: not a launch manifest"):
        read_manifest(path)


def test_a_cubin_without_a_manifest_is_named(tmp_path):
    (tmp_path / "k.cubin").write_bytes(b"")
    with pytest.raises(InvalidInput, match=r"k.cubin: error.report-manifest.: missing launch manifest k.json"):
        read_folder(tmp_path)


def test_sizes_are_in_kibibytes():
    row = ResourceRow("k", "sm_90", 32, 48 << 10, 0, 12, 1024)
    assert row.cells == ("k", "sm_90", 32, "48 KiB", "0", "12 B", "1 KiB")
