"""cuTile's functions are taken over wherever modules hold them, and given back."""

import sys
import types
from importlib import import_module

import numpy as np
import pytest

import tileiras_build.cutile as hook
from tileiras_build.cutile import monkeypatch_cutile
from tileiras_build.cutile.monkeypatch_cutile import FUNCTION_PATCHES

ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")


@pytest.fixture
def module(monkeypatch):
    """A module that did ``from cuda.tile import launch as go`` before."""
    made = types.ModuleType("made_for_patching")
    made.go = ct.launch
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def own_functions():
    """Of the installed release, which may lack some."""
    found = {
        (patch.module, patch.name): getattr(import_module(patch.module), patch.name, None) for patch in FUNCTION_PATCHES
    }
    return {place: function for place, function in found.items() if function is not None}


@ct.kernel
def doubled(x, tile: ct.Constant[int]):
    ct.store(x, (ct.bid(0),), ct.load(x, (ct.bid(0),), (tile,)) * 2.0)


def test_every_function_is_taken_over_and_given_back():
    before = own_functions()
    hook.enable("sm_90", device="cpu")
    try:
        assert all(own is not before[place] for place, own in own_functions().items())
        assert ct.launch is sys.modules["cuda.tile._cext"].launch is not before["cuda.tile._cext", "launch"]
    finally:
        hook.disable()
    assert own_functions() == before and ct.launch is before["cuda.tile._cext", "launch"]


def test_names_of_other_modules_follow(module):
    own = module.go
    with hook.enabled("sm_90", device="cpu"):
        assert module.go is ct.launch is not own
    assert module.go is own


def test_sessions_nest():
    with hook.enabled("sm_90", device="cpu") as outer:
        with hook.enabled("sm_80", device="cpu") as inner:
            assert (hook.monkeypatch_cutile.current(), inner.device.target) == (inner, "sm_80")
        assert hook.monkeypatch_cutile.current() is outer and hook.is_enabled()
        hook.enable("sm_100", device="cpu")
    assert not hook.is_enabled()


def test_a_kernel_is_compiled_for_the_session_that_launches_it():
    values = np.arange(128, dtype=np.float32)
    for target in ("sm_80", "sm_90"):
        with hook.enabled(target, device="cpu") as session:
            x = values.copy()
            ct.launch(0, (1,), doubled, (x, 128))
            np.testing.assert_array_equal(x, 2 * values)
            compiled = session.compile(doubled, (x, 128))
            assert compiled is session.compile(doubled, (values.copy(), 128)) and f".target {target}" in compiled.ptx


def test_what_was_taken_from_here_goes_back_to_cutile(module):
    """A reference that nobody can find, taken while enabled."""
    with hook.enabled("sm_90", device="cpu"):
        held = ct.launch
    with pytest.raises((OSError, RuntimeError, TypeError)) as caught:
        held(None, (1,), doubled, (np.zeros(128, np.float32), 128))
    assert "tileiras" not in str(caught.value)


def test_a_module_that_is_imported_later_is_taken_over_then(monkeypatch, tmp_path):
    """As cuTile's front end is, which a launch of a known kernel does not import."""
    (tmp_path / "late_module.py").write_text("def function(): return 'own'\n")
    monkeypatch.syspath_prepend(tmp_path)
    late = monkeypatch_cutile.Patch("late_module", "function", lambda own: lambda: f"instead of {own()}")
    monkeypatch.setattr(monkeypatch_cutile, "FUNCTION_PATCHES", (*FUNCTION_PATCHES, late))
    monkeypatch.setattr(monkeypatch_cutile, "_MODULES", (*monkeypatch_cutile._MODULES, late.module))
    try:
        with hook.enabled("sm_90", device="cpu"):
            module = import_module("late_module")
            assert module.function() == "instead of own"
        assert module.function() == "own"
        with hook.enabled("sm_90", device="cpu"):
            assert module.function() == "instead of own"
        del sys.modules["late_module"]
        assert import_module("late_module").function() == "own"
    finally:
        sys.modules.pop("late_module", None)
