"""Marks the quick tests, and reads no other files where they alone are asked for; the option --cpu-report; a session's folder."""

import pytest

from tests import compiled_once, cpu_report
from tests.quick import MARK, TESTS, has_quick_tests, is_quick


def pytest_addoption(parser):
    cpu_report.add_option(parser)


def pytest_configure(config):
    cpu_report.register(config)
    if not hasattr(config, "workerinput"):
        compiled_once.open_session()


def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        compiled_once.close_session()


def pytest_ignore_collect(collection_path, config):
    """Importing all test modules takes longer than some quick ones run."""
    asked = config.option.markexpr == MARK and collection_path.is_file()
    return True if asked and collection_path.name != "__init__.py" and not has_quick_tests(collection_path) else None


def pytest_collection_modifyitems(items):
    """Mark the tests that tests/quick.toml names."""
    for item in items:
        if item.path.is_relative_to(TESTS) and is_quick(item.path, item.name):
            item.add_marker(getattr(pytest.mark, MARK))
