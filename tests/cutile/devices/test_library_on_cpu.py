"""``Library(path, device="cpu")``: the kernels of a package in the emulator."""

import numpy as np
import pytest

from tests.launch.packages import sample_library
from tests.launch.packages.sample_library import PLAIN, TENSOR
from tileiras_build.core.errors import InvalidInput, Unsupported
from tileiras_build.launch.runtime import Library, kernel_library


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return Library(sample_library.build(tmp_path_factory.mktemp("sample")), device="cpu")


def vectors(size=1000):
    x, y = np.arange(size, dtype=np.float32), np.ones(size, np.float32)
    return x, y, np.zeros(size, np.float32)


def test_a_launch_writes_arrays_of_this_process(library):
    x, y, out = vectors()
    library[PLAIN].launch((-(-1000 // 256),), x, y, out)
    np.testing.assert_array_equal(out, x + y)


def test_views_and_names_are_as_on_a_gpu(library):
    x, y, out = vectors(2048)
    library[PLAIN].launch(8, x[16:1016], y[16:1016], out[16:1016])
    assert not out[:16].any() and not out[1016:].any()
    np.testing.assert_array_equal(out[16:1016], x[16:1016] + 1)


def test_arguments_are_checked_as_on_a_gpu(library):
    x, y, out = vectors()
    with pytest.raises(InvalidInput, match=r"launch-element"):
        library[PLAIN].launch(4, x, y, out.astype(np.float64))
    out.flags.writeable = False
    with pytest.raises(InvalidInput, match=r"launch-read-only"):
        library[PLAIN].launch(4, x, y, out)


def test_what_has_no_ptx_is_refused(library, tmp_path, monkeypatch):
    with pytest.raises(Unsupported, match=rf"no-ptx\]: kernel {TENSOR} has no PTX, which the emulator runs"):
        library[TENSOR].launch(4, *vectors())
    library.load_all()  # what can be loaded is
    package = sample_library.build(tmp_path)
    read = Library(package).manifest
    cubins = {TENSOR: read.kernels[TENSOR]}
    monkeypatch.setattr(kernel_library.Library, "_check_image", lambda self: None)
    with pytest.raises(Unsupported, match=r"library sample has no PTX"):
        kernel_library.cpu_driver(type(read)(read.name, read.image, read.size, read.sha256, cubins))


def test_an_unknown_device_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="use 'gpu' or 'cpu'"):
        Library(sample_library.build(tmp_path), device="cuda:0")


def test_without_the_compiler_the_error_names_its_package(library, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError("No module named 'tileiras_build'")

    monkeypatch.setattr(kernel_library, "import_module", missing)
    with pytest.raises(InvalidInput, match=r"emulator-missing.*pip install tileiras-build"):
        kernel_library.cpu_driver(library.manifest)


def test_the_text_of_a_fat_binary_ends_at_its_padding(library):
    text = ".version 9.0\n.target sm_80\n"
    assert library.driver.load(b"\x50\xed\0\0" + text.encode() + b"\0\0\0") == text
    with pytest.raises(InvalidInput, match="no PTX in an image"):
        library.driver.load(b"\x7fELF")
