import pytest

from tests.launch.packages import sample_library


@pytest.fixture(scope="session")
def package(tmp_path_factory):
    """The folder of the sample library's package, with the image as C too."""
    return sample_library.build(tmp_path_factory.mktemp("sample"), embed=True)
