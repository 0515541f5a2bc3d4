"""The versions of cuda-bindings that are tried: what pip is asked for, what is imported, what is reported."""

import os
import sys
import tomllib
from pathlib import Path

import pytest

from tools import cuda_bindings_matrix as matrix

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("version", "asked"),
    [("12.9.0", "cuda-bindings==12.9.0"), ("13.0.*", "cuda-bindings==13.0.*"), ("<14", "cuda-bindings<14")],
)
def test_pip_is_asked_for_a_version(version, asked):
    assert matrix.requirement(version) == asked


def test_the_oldest_and_the_newest_that_the_project_allows_are_tried():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert f"cuda-bindings>=12.9,{matrix.VERSIONS[-1]}" in project["dev"]
    # cuda-python brings the bindings of its own version, for users.
    assert f"cuda-python>=12.9,{matrix.VERSIONS[-1]}" in project["runtime"]
    assert matrix.VERSIONS[0] == "12.9.0"


def _package(folder: Path, version: str) -> Path:
    (folder / "cuda" / "bindings").mkdir(parents=True)
    (folder / "cuda" / "bindings" / "__init__.py").write_text(f"__version__ = {version!r}\n")
    return folder


def test_a_version_is_imported_before_the_installed_one(tmp_path):
    environment = matrix.path_with(_package(tmp_path / "1", "0.1"), {**os.environ, "PYTHONPATH": str(tmp_path)})
    assert environment["PYTHONPATH"] == os.pathsep.join([str(tmp_path / "1"), str(tmp_path)])
    assert matrix.installed_version(environment) == "0.1"


def test_what_is_there_is_not_installed_again(tmp_path, monkeypatch):
    folder = _package(tmp_path / "13.0.x", "13.0.9")
    monkeypatch.setattr(sys, "executable", "/absent")
    assert matrix.install("13.0.*", tmp_path) == folder


def test_a_version_that_fails_is_named(tmp_path, capsys, monkeypatch):
    for version in ("1.0", "2.0"):
        _package(tmp_path / version, version)
    monkeypatch.setattr(matrix, "run_tests", lambda tests, environment: "1.0" in environment["PYTHONPATH"])
    assert matrix.main(["--folder", str(tmp_path), "--versions", "1.0", "2.0", "--", "tests/runtime"]) == 1
    assert capsys.readouterr().out.split() == ["cuda-bindings", "1.0", "passes", "cuda-bindings", "2.0", "FAILS"]
