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
