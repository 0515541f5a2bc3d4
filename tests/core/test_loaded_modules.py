"""What has come into ``sys.modules`` since some time."""

import sys
from types import ModuleType

import pytest

from tileiras_build.core.loaded_modules import LoadedModules, loaded_modules


@pytest.fixture
def load(monkeypatch):
    """Puts a module into ``sys.modules`` for the test."""
    monkeypatch.setattr(sys, "modules", dict(sys.modules))

    def load(*names: str) -> None:
        for name in names:
            sys.modules[name] = ModuleType(name)

    load("first", "last")
    return load


def test_new_modules_are_found(load):
    before = LoadedModules()
    assert before.added() == []
    load("one", "two")
    assert sorted(before.added()) == ["one", "two"]


def test_new_modules_are_found_where_others_were_taken_out(load):
    before = LoadedModules()
    last = sys.modules.pop("last")
    load("one")
    assert sorted(before.added()) == ["one"]
    sys.modules["last"] = last
    del sys.modules["first"]
    load("two")
    assert sorted(before.added()) == ["one", "two"]


def test_modules_that_went_are_not_new(load):
    before = LoadedModules()
    del sys.modules["first"], sys.modules["last"]
    assert before.added() == []


def test_they_are_counted_once_while_none_comes(load):
    first = loaded_modules()
    assert loaded_modules() is first
    load("one")
    assert loaded_modules() is not first and loaded_modules().added() == []
