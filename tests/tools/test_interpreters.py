"""Which Pythons the quick tests run under, and what is reported where one is missing or fails."""

import sys
import tomllib
from pathlib import Path

import pytest

from tools import python_versions

ROOT = Path(__file__).resolve().parents[2]
OWN = f"{sys.version_info.major}.{sys.version_info.minor}"


def test_versions_are_the_declared_ones():
    versions = python_versions.declared()
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert required == f">={versions[0]}" and {"3.11", "3.12", "3.13", "3.14"} <= set(versions)


def write(folder: Path, version: str, number: str) -> Path:
    program = folder / version / "bin" / f"python{'.'.join(version.split('.')[:2])}"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho {number}\n")
    program.chmod(0o755)
    return program


def test_the_newest_that_is_what_it_says_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    write(tmp_path, "3.77.2", "3.77")
    newest = write(tmp_path, "3.77.10", "3.77")
    write(tmp_path, "3.77.11", "3.12")
    assert python_versions.find("3.77", [tmp_path]) == newest
    assert python_versions.find("3.78", [tmp_path]) is None


def test_a_missing_one_is_reported_and_fails_nothing(tmp_path):
    assert python_versions.outcome("3.78", None, tmp_path, ()) == ("not on this machine", True)


@pytest.mark.parametrize("status, said", [(0, "passes"), (3, "fails (exit status 3)")])
def test_the_status_of_the_tests_is_reported(tmp_path, monkeypatch, status, said):
    program = write(tmp_path, "3.77.1", "3.77")
    program.write_text(f"#!/bin/sh\nexit {status}\n")
    monkeypatch.setattr(python_versions, "environment", lambda interpreter, folder: interpreter)
    assert python_versions.outcome("3.77", program, tmp_path, ()) == (said, status == 0)


def test_one_that_has_no_project_is_reported(tmp_path):
    program = write(tmp_path, "3.77.1", "3.77")
    program.write_text("#!/bin/sh\nexit 4\n")
    assert python_versions.outcome("3.77", program, tmp_path, ()) == ("cannot be installed (exit status 4)", False)
