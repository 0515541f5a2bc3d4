"""Import paths that documents show, or that projects of earlier versions have, lead to the modules themselves."""

import subprocess
import sys
from importlib import import_module

import pytest

import tileiras_build


@pytest.mark.parametrize(("alias", "module"), tileiras_build.ALIASES.items())
def test_an_alias_is_the_module_itself(alias, module):
    assert import_module(f"tileiras_build.{alias}") is import_module(f"tileiras_build.{module}")


@pytest.mark.parametrize(
    "statement",
    [
        "from tileiras_build.cases import Array, Case",
        "from tileiras_build import scons_tool, emulator; emulator.launch; scons_tool.variables",
        "from tileiras_build.runtime import Library",
        "from tileiras_build.errors import InvalidInput",
        "from tileiras_build.references import verify_file",
        "from tileiras_build.bytecode.export import load_cases",
        "import tileiras_build.runtime; tileiras_build.runtime.Library",
        "from tileiras_build import InvalidInput, compile",
    ],
)
def test_a_program_imports(statement):
    subprocess.run([sys.executable, "-c", statement], check=True)


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
