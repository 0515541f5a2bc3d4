"""A pytest plugin: what the strict driver refuses during a case fails the case, and a context that a case has spoilt is healed.

pytest -p tests.strict_torch.plugin …        in an environment of ``build.environment``
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest

from tests.strict_torch.process import VARIABLE

_read = 0  # how much of the file of refusals has been looked at


def new_refusals() -> list[str]:
    """What the driver of this process has refused since this was called last."""
    global _read
    file = Path(os.environ.get("STRICT_DRIVER_FOLDER", "/nonexistent"), "refusals")
    if VARIABLE not in os.environ or not file.exists():
        return []
    data = file.read_bytes()
    _read, since = len(data), data[_read:]
    return since.decode(errors="replace").splitlines()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    """Fails the case at its end where all else was right."""
    new_refusals()
    try:
        result = yield
    except BaseException as error:
        if refused := new_refusals():
            error.add_note("the driver refused: " + "; ".join(refused))
        raise
    finally:
        if VARIABLE in os.environ:
            ctypes.CDLL("libcuda.so.1").strict_driver_heal()
    if refused := new_refusals():
        pytest.fail("the driver refused: " + "; ".join(refused), pytrace=False)
    return result
