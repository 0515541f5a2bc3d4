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


# ---- launches by Python ------------------------------------------------------------------------------------------
def pytest_addoption(parser: pytest.Parser) -> None:
    """--strict-by-python: what cuTile's launcher in C would launch is launched by the functions of ``generate_launch_stub``."""
    what = "launch by the functions that are written for each kind of arguments, the first time already"
    parser.addoption("--strict-by-python", action="store_true", help=what)


def pytest_configure(config: pytest.Config) -> None:
    """Take the place of the launches of the session."""
    if config.getoption("strict_by_python") and VARIABLE in os.environ:
        from tileiras_build.cutile.session import Session

        Session.launch = _by_python(Session.launch)
        Session.enqueue = lambda self, stream, grid, kernel, arguments, programmatic: self.launch(
            stream, grid, kernel, arguments, programmatic
        )


def _by_python(own):
    """A launch by a function that is made for its arguments, as a second one of a kind would be; it must know its own example."""
    from tileiras_build.cutile.validate_launch import checked

    def launch(self, stream, grid, kernel, arguments, programmatic):
        checked(stream, grid, kernel, arguments, self.cutile.kernel_class)
        signature = self._signature(kernel, arguments)
        compiled = self._compiled(self.kernel_state(kernel), kernel, signature)
        way = self.device.make_launch_stub(compiled, signature, arguments)
        if way is None or 0 in grid:
            own(self, stream, grid, kernel, arguments, programmatic)
        elif not way(grid, arguments, stream, programmatic):
            raise AssertionError(f"kernel {compiled.entry}: the function for arguments does not know its own example")

    return launch
