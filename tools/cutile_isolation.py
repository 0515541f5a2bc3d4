"""A pytest plugin beside cutile_on_cpu: no test of cuTile's suite sees what a launch before it left behind.

A kernel that a test launches past ``ct.launch`` may fail after all: the plugin keeps that failure for the next launch.
"""

import cutile_on_cpu
import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item) -> None:
    """Forget failures that nobody has asked for."""
    cutile_on_cpu.failure.clear()
