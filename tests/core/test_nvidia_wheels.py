"""What the wheels of NVIDIA install is found where its own search finds it, and in any folder of packages."""

import sys
from pathlib import Path

import pytest
from cuda import pathfinder

from tileiras_build.core.nvidia_wheels import find_in_wheels
from tileiras_build.libdevice import find_libdevice
from tileiras_build.pipeline.ptx_to_cubin import find_ptxas


@pytest.mark.parametrize(
    ("ours", "search"),
    [
        (find_libdevice, lambda: pathfinder.find_bitcode_lib("device")),
        (find_ptxas, lambda: pathfinder.find_nvidia_binary_utility("ptxas")),
    ],
)
def test_the_search_finds_the_same(ours, search):
    assert ours() == Path(search())


def test_folders_are_looked_at_in_the_order_of_the_path(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, names in ((first, ["a"]), (second, ["a", "b"])):
        (folder / "nvidia" / "bin").mkdir(parents=True)
        for name in names:
            (folder / "nvidia" / "bin" / name).touch()
    monkeypatch.setattr(sys, "path", [str(first), str(second)])
    assert find_in_wheels("bin/a") == first / "nvidia" / "bin" / "a"
    assert find_in_wheels("bin/b") == second / "nvidia" / "bin" / "b"
    assert find_in_wheels("bin") is None
    assert find_in_wheels("bin/c") is None


def test_without_wheels_nothing_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert find_in_wheels("cu13/bin/ptxas") is None
