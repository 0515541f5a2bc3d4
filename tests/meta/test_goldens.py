"""Every family of emitters has a golden file of its name: tile operations in, thread operations out."""

import re
from pathlib import Path

import pytest

from tests.golden import split_file
from tileiras_build.pipeline.stages import PACKAGE
from tileiras_build.pipeline.tileas_to_ll.emission.handler_table import FAMILIES

FOLDER = Path(__file__).parents[1] / "pipeline"
PIPELINE = PACKAGE / "pipeline"
# What emitters of several families share.
SHARED = tuple(
    f"tileas_to_ll/{name}"
    for name in ("memory/heap_storage", "memory/shared_memory", "arith/float_conversions", "memory/fp4_access")
)
TABLE = re.compile(r"^HANDLERS\b", re.MULTILINE)
CONVERSION = {"convert-tile-as-to-llvm", "ll"}


def families() -> list[str]:
    """The modules with a table of handlers, and those that families share: "tileas_to_ll/arith/elementwise"."""
    paths = (*PIPELINE.glob("tileas_to_ll/*/*.py"), *PIPELINE.glob("mma/*/*.py"))
    names = {path: path.relative_to(PIPELINE).with_suffix("").as_posix() for path in paths}
    tables = [name for path, name in names.items() if TABLE.search(path.read_text())]
    return sorted({*tables, *SHARED} - {"tileas_to_ll/emission/handler_table"})


@pytest.mark.parametrize("name", families())
def test_a_family_has_a_golden_of_its_name(name):
    path = FOLDER / f"{name}.mlir"
    assert path.exists(), f"no golden file shows what {name}.py makes"
    for case in split_file(path.read_text())[1]:
        assert CONVERSION & set(case.passes), f"{case.title} does not convert"
        assert not case.expected.startswith("//"), f"{case.title} shows a refusal"


def test_every_table_of_handlers_is_a_family():
    known = {"/".join(module.__name__.split(".")[-3:]) for group in FAMILIES for module in group()}
    assert set(families()) - set(SHARED) == known
