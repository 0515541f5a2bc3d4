"""Import paths of earlier releases give the same objects as the present ones."""

from importlib import import_module

import pytest

import tileiras_build


@pytest.mark.parametrize("alias", tileiras_build.ALIASES)
def test_a_former_path_is_the_present_module(alias):
    present = import_module(f"tileiras_build.{tileiras_build.ALIASES[alias]}")
    assert import_module(f"tileiras_build.{alias}") is present


def test_a_module_below_a_former_path_is_the_present_one():
    from tileiras_build.emulator.launch import launch
    from tileiras_build.simulate.emulator.launch import launch as present

    assert launch is present
    from tileiras_build.emulator.memory import Memory
    from tileiras_build.simulate.emulator import Memory as same

    assert Memory is same


def test_a_former_path_leaves_what_its_package_calls_so():
    import_module("tileiras_build.emulator.launch")
    from tileiras_build.simulate import emulator

    assert callable(emulator.launch) and emulator.launch.__name__ == "launch"


def test_a_name_that_was_never_one_is_no_module():
    with pytest.raises(ModuleNotFoundError, match=r"tileiras_build\.nothing"):
        import_module("tileiras_build.nothing")
