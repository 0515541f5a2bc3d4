"""ptx_to_cubin/locate_ptxas.py: an explicit path wins, then the wheel's; versions are asked once per file."""

import re

import pytest
from cuda import pathfinder

from tileiras_build.core.errors import InvalidInput
from tileiras_build.pipeline.ptx_to_cubin import locate_ptxas as module


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_the_wheel_has_one():
    assert module.find_ptxas().name == "ptxas"
    assert re.fullmatch(r"\d+\.\d+\.\d+", module.ptxas_version())


def test_an_explicit_path_wins(tmp_path):
    own = script(tmp_path / "ptxas", 'echo "Cuda compilation tools, release 14.2, V14.2.7"')
    assert module.find_ptxas(own) == own
    assert module.ptxas_version(own) == "14.2.7"


def test_a_replaced_file_is_asked_again(tmp_path):
    own = script(tmp_path / "ptxas", "echo V1.2.3")
    assert module.ptxas_version(own) == "1.2.3"
    script(own, "echo V1.2.34")
    assert module.ptxas_version(own) == "1.2.34"


@pytest.mark.parametrize("make", [lambda p: None, lambda p: p.mkdir(), lambda p: p.write_text("not executable")])
def test_what_cannot_run_is_named(tmp_path, make):
    path = tmp_path / "ptxas"
    make(path)
    with pytest.raises(InvalidInput) as caught:
        module.find_ptxas(path)
    assert caught.value.id == "ptxas-missing" and str(path) in str(caught.value)
    assert "nvidia-cuda-nvcc" in caught.value.remedy


def test_something_else_is_not_ptxas(tmp_path):
    for name, text in (("chatty", "echo hello"), ("broken", "exit 1")):
        with pytest.raises(InvalidInput, match="ptxas-missing"):
            module.ptxas_version(script(tmp_path / name, text))
    binary = tmp_path / "binary"
    binary.write_bytes(b"\x7fELF nonsense")
    binary.chmod(0o755)
    with pytest.raises(InvalidInput, match="does not run"):
        module.ptxas_version(binary)


@pytest.fixture
def no_wheel(monkeypatch):
    monkeypatch.setattr(module, "find_in_wheels", lambda path: None)
    monkeypatch.setattr(pathfinder, "find_nvidia_binary_utility", lambda name: None)
    module._installed.cache_clear()
    yield
    module._installed.cache_clear()


def test_path_is_the_last_resort(no_wheel, monkeypatch, tmp_path):
    own = script(tmp_path / "ptxas", "echo V9.9.9")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert module.find_ptxas() == own


def test_no_ptxas_names_the_remedy(no_wheel, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidInput, match=r"ptxas-missing.*pip install nvidia-cuda-nvcc"):
        module.find_ptxas()
