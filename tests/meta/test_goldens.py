"""Every family of emitters has a golden file of its name: tile operations in, thread operations out."""

import importlib
import pkgutil
from pathlib import Path

import pytest

from tests.golden import split_file
from tileiras_build.pipeline import tileas_to_ll

FOLDER = Path(__file__).parents[1] / "pipeline" / "tileas_to_ll"
# What emitters of several families share.
SHARED = ("float_conversions", "heap_storage", "packed_elements", "shared_memory")
CONVERSION = {"convert-tile-as-to-llvm", "ll"}


def families() -> list[str]:
    """The modules of the edge that have a table of handlers, and those that families share."""
    names = [entry.name for entry in pkgutil.iter_modules(tileas_to_ll.__path__)]
    modules = [importlib.import_module(f"{tileas_to_ll.__name__}.{name}") for name in names if name != "handlers"]
    tables = [module.__name__.rpartition(".")[2] for module in modules if hasattr(module, "HANDLERS")]
    return sorted({*tables, *SHARED})


@pytest.mark.parametrize("name", families())
def test_a_family_has_a_golden_of_its_name(name):
    path = FOLDER / f"{name}.mlir"
    assert path.exists(), f"no golden file shows what {name}.py makes"
    for case in split_file(path.read_text())[1]:
        assert CONVERSION & set(case.passes), f"{case.title} does not convert"
        assert not case.expected.startswith("//"), f"{case.title} shows a refusal"


def test_only_families_have_handlers():
    assert {name for name in families() if name not in SHARED} == {
        module.__name__.rpartition(".")[2] for module in importlib.import_module(f"{tileas_to_ll.__name__}.handlers").FAMILIES
    }
