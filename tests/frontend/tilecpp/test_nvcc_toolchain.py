"""The search for nvcc, and the errors where none is usable."""

import shutil

import pytest

from tests.frontend.tilecpp.toolkit import make_toolkit
from tileiras_build.core.errors import InvalidInput
from tileiras_build.frontend.tilecpp import nvcc_toolchain
from tileiras_build.frontend.tilecpp.nvcc_toolchain import find_nvcc, toolchain_fault, toolchain_files


@pytest.fixture
def nvcc(tmp_path):
    return make_toolkit(tmp_path / "toolkit")


def use(monkeypatch, wheel, on_path) -> None:
    monkeypatch.setattr(nvcc_toolchain.pathfinder, "find_nvidia_binary_utility", lambda name: wheel and str(wheel))
    found = {"nvcc": on_path and str(on_path), "g++": "/usr/bin/g++"}
    monkeypatch.setattr(shutil, "which", lambda name, path=None: found.get(name))


def test_the_wheel_wins_over_the_path(monkeypatch, tmp_path, nvcc):
    use(monkeypatch, nvcc, make_toolkit(tmp_path / "other"))
    assert find_nvcc() == nvcc and toolchain_fault() is None


@pytest.mark.parametrize("missing", ["include/crt/cuda_tile.h", "include/nv/target"])
def test_a_wheel_without_its_headers_does_not_count(monkeypatch, tmp_path, nvcc, missing):
    (tmp_path / "toolkit" / missing).unlink()
    shutil.rmtree(tmp_path / "toolkit/include/nv") if "nv/" in missing else None
    other = make_toolkit(tmp_path / "other")
    use(monkeypatch, nvcc, other)
    assert find_nvcc() == other


def test_without_any_it_says_what_to_install(monkeypatch):
    use(monkeypatch, None, None)
    with pytest.raises(
        InvalidInput, match=r"error\[nvcc-missing\].*none is installed; pip install 'tileiras-build\[tilecpp\]'"
    ):
        find_nvcc()
    assert "none is installed" in toolchain_fault()


def test_a_path_that_is_no_program_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="no is not an executable file"):
        find_nvcc(str(tmp_path / "no"))


def test_a_host_compiler_is_missed(monkeypatch, nvcc):
    use(monkeypatch, nvcc, None)
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    assert toolchain_fault() == "there is no host compiler (g++ or clang++)"
    assert toolchain_fault(flags=("-ccbin", "icx")) is None


def test_nvcc_without_cicc_is_refused(tmp_path, nvcc):
    (tmp_path / "toolkit/nvvm/bin/cicc").unlink()
    with pytest.raises(InvalidInput, match=r"error\[nvcc-missing\].*has no cicc.*nvidia-nvvm"):
        toolchain_files(str(nvcc))
