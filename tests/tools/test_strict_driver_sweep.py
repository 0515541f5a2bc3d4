"""tools/strict_driver.py: every caller of one kernel, the example project's package, and wrong numbers that are named."""

import os
from dataclasses import replace

import pytest

from tests.strict_driver import gpu_run, kernels
from tests.tools.test_bindings_matrix import _package
from tools import cuda_bindings_matrix
from tools import strict_driver as sweep

pytest.importorskip("cuda.bindings", reason="cuda-python is not installed: pip install 'tileiras-build[runtime]'")
KERNEL, SM = "vector_add_f32", "90"


def said(capsys):
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_every_caller_launches_one_kernel(capsys):
    assert sweep.main(["--sm", SM, "--only", KERNEL, "--by", "library,c,ptx", "--jobs", "1"]) == 0
    assert said(capsys) == [[f"sm_{SM}", KERNEL, by, "right"] for by in ("library", "c", "ptx")] + [["0", "wrong"]]


def test_fp4_is_passed_as_elements_by_library_and_c(capsys):
    name = "scaled_fp4_128x128x256"
    assert sweep.main(["--sm", "100", "--only", name, "--by", "library,c", "--jobs", "1"]) == 0
    assert said(capsys) == [["sm_100", name, by, "right"] for by in ("library", "c")] + [["0", "wrong"]]


def test_a_wrong_number_is_named(capsys, monkeypatch):
    example = kernels.CASES[KERNEL]

    def reference(values):
        return {name: array + 1 for name, array in example.reference(values).items()}

    monkeypatch.setitem(kernels.CASES, KERNEL, replace(example, reference=reference))
    assert sweep.main(["--sm", SM, "--only", KERNEL, "--by", "library", "--jobs", "1"]) == 1
    (line, _) = said(capsys)
    assert line[:3] == [f"sm_{SM}", KERNEL, "library"] and "differ" in " ".join(line)


def test_the_example_project_is_launched(capsys):
    assert sweep.main(["--sm", SM, "--by", "project"]) == 0
    assert said(capsys)[0] == [f"sm_{SM}", "*", "project", "right"]


def test_each_version_of_the_bindings_is_imported(tmp_path, monkeypatch):
    for version in ("1.0", "2.0"):
        _package(tmp_path / version, version)
    options = sweep._options(["--bindings", "1.0", "2.0", "--folder", str(tmp_path)])
    found = sweep._bindings(options, tmp_path)
    assert found == {version: str(tmp_path / version) for version in ("1.0", "2.0")}
    launches = list(sweep.launches(["k"], ["sm_80"], ["library", "c", "ptx"], list(found)))
    assert [(one.by, one.version) for one in launches] == [
        ("library", "1.0"),
        ("library", "2.0"),
        ("c", ""),
        ("ptx", "1.0"),
    ]
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    environment = cuda_bindings_matrix.path_with(tmp_path / "1.0", os.environ)
    assert cuda_bindings_matrix.installed_version(environment) == "1.0"


def test_an_unknown_caller_is_refused(capsys):
    with pytest.raises(SystemExit):
        sweep.main(["--by", "fortran"])
    assert "fortran launches nothing here; known: library, c" in capsys.readouterr().err


def test_what_should_have_gone_wrong_and_did_not_is_unexpected():
    def row(case, **more):
        return {"phase": "check", "case": case, "variant": "small", **more}

    rows = [
        row(gpu_run.HANGS, failed="no end"),
        row(gpu_run.FAULTS, wrong=[]),
        row("k", wrong=["error 1"]),
        row("right"),
    ]
    assert gpu_run.unexpected(rows) == sorted([gpu_run.FAULTS, "k"])
