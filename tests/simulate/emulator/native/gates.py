"""Makes this process use the kernels in C, or NumPy alone."""

import math
from functools import lru_cache

import pytest

from tests.compiled_once import once
from tileiras_build.simulate.emulator.native import native_code


@lru_cache
def library():
    """The kernels; skips the test where there is no C compiler."""
    image = once(("kernels in C",), native_code.compile_code)
    if image is None:
        pytest.skip("no C compiler")
    return native_code.load(image)


def use_kernels(monkeypatch) -> None:
    monkeypatch.setattr(native_code, "_library", library())


def use_numpy(monkeypatch) -> None:
    monkeypatch.setattr(native_code, "_library", None)
    monkeypatch.setattr(native_code, "_next_attempt", math.inf)


def use(monkeypatch, *, kernels: bool) -> None:
    (use_kernels if kernels else use_numpy)(monkeypatch)
