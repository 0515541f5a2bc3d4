"""What the documents say of the tree is true: paths exist, tables are the ones that the code makes."""

import ast
import re
from pathlib import Path

from tests.examples.example_library import bytecode_of
from tileiras_build import driver
from tileiras_build.core.knobs import markdown
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.stages import STAGES
from tileiras_build.target.targets import find_target

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PATH = re.compile(r"`((?:tileiras_build|tests|docs|examples|benchmarks|site_scons)/[\w./-]*)`")
SYMBOL = re.compile(r"`((?:tileiras_build|tests)/[\w./-]+\.py):(\w+)`")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


def test_named_paths_exist():
    texts = {document: document.read_text() for document in DOCUMENTS}
    paths = [(document, ROOT / name) for document, text in texts.items() for name in PATH.findall(text)]
    links = [(document, document.parent / name) for document, text in texts.items() for name in LINK.findall(text)]
    assert [(document.name, str(path)) for document, path in paths + links if not path.exists()] == []


def defined_names(path: Path) -> set[str]:
    """The functions, classes and variables at the top of a module."""
    found: set[str] = set()
    for node in ast.parse(path.read_bytes()).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
        found.update(getattr(target, "id", getattr(target, "name", "")) for target in targets)
    return found


def test_named_symbols_exist():
    named = [(document.name, *found) for document in DOCUMENTS for found in SYMBOL.findall(document.read_text())]
    assert [found for found in named if found[2] not in defined_names(ROOT / found[1])] == []


def test_the_architecture_names_the_passes_of_the_last_edge_in_order():
    text = (
        (ROOT / "docs" / "architecture.md")
        .read_text()
        .partition("\n## From tiles to threads\n")[2]
        .partition("\n## ")[0]
    )
    listed = re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE)
    assert listed == [entry.name for entry in STAGES[3].passes]


def test_the_architecture_names_a_package_for_each_lowering():
    text = (ROOT / "docs" / "architecture.md").read_text()
    packages = {stage.edge.split(":")[0].replace(".", "/") for stage in STAGES[1:]}
    assert all(f"`{package}/`" in text for package in packages)


def test_the_journey_of_an_operation_is_the_one_it_makes():
    """What docs/architecture.md says of exp, seen in the artifacts of a kernel that has it."""
    job = Job(find_target("sm_90"))
    data = bytecode_of("softmax_f32")
    tileaa, tileas, ll, ptx = (
        driver.lower(data, "tilebc", stage, job)[f".{stage}"] for stage in ("tileaa", "tileas", "ll", "ptx")
    )
    assert b"math.exp" in tileaa and b"math.exp" in tileas and b"@__nv_expf(" in ll and b"ex2.approx" in ptx
    thread = driver.lower_until(data, "tilebc", "convert-tile-as-to-llvm", job)[".mlir"]
    assert b"math.exp" in thread and b"__nv_expf" not in thread


COMMAND_LINE = (ROOT / "docs" / "command-line.md").read_text()


def test_the_page_of_the_command_line_shows_the_knobs():
    assert markdown() in COMMAND_LINE


def test_the_page_of_the_command_line_shows_the_stages():
    assert all(f"| `{stage.suffix}` | {stage.description} |" in COMMAND_LINE for stage in STAGES)
