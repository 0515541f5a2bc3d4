"""libdevice/locate_libdevice.py: an explicit path wins, and a missing one is named."""

import subprocess
import sys

import pytest
from cuda import pathfinder

from tileiras_build.core.errors import InvalidInput
from tileiras_build.libdevice import locate_libdevice


def test_the_installed_library_is_found():
    path = locate_libdevice.find_libdevice()
    assert path.name == locate_libdevice.DEFAULT_NAME and path.read_bytes()[:4] == b"BC\xc0\xde"


def test_a_path_is_never_taken_for_the_installed_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="libdevice-missing"):
        locate_libdevice.find_libdevice(locate_libdevice.DEFAULT_NAME)


def test_an_explicit_path_wins(tmp_path):
    own = tmp_path / "own.bc"
    own.write_bytes(b"anything")
    assert locate_libdevice.find_libdevice(own) == own


@pytest.mark.parametrize("name", ["missing.bc", "."])
def test_a_missing_file_is_named(tmp_path, name):
    with pytest.raises(InvalidInput) as caught:
        locate_libdevice.find_libdevice(tmp_path / name)
    assert caught.value.id == "libdevice-missing"
    assert "blobLinkedLib: bitcode path does not exist or is not a file" in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


def test_no_installation_names_the_remedy(monkeypatch):
    def nothing(name):
        raise pathfinder.BitcodeLibNotFoundError(name)

    monkeypatch.setattr(locate_libdevice, "find_in_wheels", lambda path: None)
    monkeypatch.setattr(pathfinder, "find_bitcode_lib", nothing)
    locate_libdevice._installed.cache_clear()
    try:
        with pytest.raises(InvalidInput, match="pip install nvidia-nvvm"):
            locate_libdevice.find_libdevice()
    finally:
        locate_libdevice._installed.cache_clear()


def test_searching_does_not_load_llvm():
    code = "import sys, tileiras_build.libdevice; sys.exit('llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
