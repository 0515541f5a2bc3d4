import pytest


@pytest.fixture(autouse=True)
def nothing_is_kept_for_other_processes(monkeypatch):
    """So that what runs by native code does not hang on the tests before; those of what is kept have a folder of their own."""
    monkeypatch.setenv("TILEIRAS_CUTILE_CACHE", "off")
