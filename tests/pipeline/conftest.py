"""Collects the ``.mlir`` files of this folder as golden tests (tests/golden.py)."""

from tests.golden import GoldenFile


def pytest_collect_file(file_path, parent):
    """Every golden file is a test module."""
    if file_path.suffix == ".mlir":
        return GoldenFile.from_parent(parent, path=file_path)
