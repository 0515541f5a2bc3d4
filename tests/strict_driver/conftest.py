import pytest

from tests.strict_driver.server import build


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    """The folder of the built driver."""
    folder = tmp_path_factory.mktemp("driver")
    build(folder)
    return folder
