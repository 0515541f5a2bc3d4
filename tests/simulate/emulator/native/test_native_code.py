"""The kernels are compiled once, after enough work, and kept."""

import math

import pytest

from tests.simulate.emulator.native.gates import library
from tileiras_build.simulate.emulator.native import native_code
from tileiras_build.simulate.emulator.native.native_code import COMPILE_COST, LOAD_COST


@pytest.fixture
def new_process(monkeypatch, tmp_path):
    """A process that has done nothing, of a user without kept code; returns what is compiled."""
    compiled = []
    monkeypatch.setenv("TILEIRAS_CUTILE_CACHE", str(tmp_path / "kept"))
    for name, value in (("_library", None), ("_work", 0), ("_next_attempt", LOAD_COST)):
        monkeypatch.setattr(native_code, name, value)
    monkeypatch.setattr(native_code, "compile_code", lambda: compiled.append(b"code") or compiled[-1])
    monkeypatch.setattr(native_code, "load", lambda image: image)
    return compiled


def test_kernels_are_compiled_after_as_much_work(new_process):
    assert not native_code.is_ready(COMPILE_COST) and not new_process
    assert native_code.is_ready(1) and new_process == [b"code"]


def test_kept_kernels_are_used_earlier(new_process, monkeypatch):
    monkeypatch.setattr(native_code, "kept_code", lambda: b"kept")
    assert not native_code.is_ready(LOAD_COST)
    assert native_code.is_ready(1) and not new_process


def test_a_failed_compilation_is_not_repeated(new_process, monkeypatch):
    monkeypatch.setattr(native_code, "compile_code", lambda: new_process.append(b""))
    assert [native_code.is_ready(2 * COMPILE_COST) for _ in range(3)] == [False] * 3
    assert len(new_process) == 1 and native_code._next_attempt == math.inf


def test_without_a_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "")
    native_code._key.cache_clear()
    try:
        assert native_code.compile_code() is None and native_code.kept_code() is None
    finally:
        native_code._key.cache_clear()


def test_compiled_kernels_are_kept(monkeypatch, tmp_path):
    library()  # skips the test without a compiler
    monkeypatch.setenv("TILEIRAS_CUTILE_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(native_code, "FLAGS", ("-O0", "-shared", "-fPIC"))
    native_code._key.cache_clear()
    assert native_code.kept_code() is None
    image = native_code.compile_code()
    assert image is not None and native_code.kept_code() == image
    native_code._key.cache_clear()
    assert native_code.load(image) is not None
