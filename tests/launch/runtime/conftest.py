import pytest

from tests.launch.packages import sample_library

pytest.importorskip("cuda.bindings", reason="cuda-python is not installed: pip install 'tileiras-build[runtime]'")


@pytest.fixture(scope="session")
def package(tmp_path_factory):
    """The folder of the sample library's package."""
    return sample_library.build(tmp_path_factory.mktemp("sample"))
