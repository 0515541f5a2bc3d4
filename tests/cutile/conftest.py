import pytest


@pytest.fixture(autouse=True)
def compiled_kernels_are_kept_here(monkeypatch, tmp_path_factory):
    """Not in the user's cache; in one folder for all tests of a process, which share what they compile."""
    monkeypatch.setenv("TILEIRAS_CUTILE_CACHE", str(tmp_path_factory.getbasetemp() / "cutile-cache"))
