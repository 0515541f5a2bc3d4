"""Nothing in the pipeline asks which family of matrix instructions it has: the families' folders answer."""

import ast
import re
from collections import Counter

from tileiras_build.pipeline.stages import PACKAGE

PIPELINE = PACKAGE / "pipeline"
# Names of families, of their rows' classes and tables, and of their operations, as identifiers or inside strings.
FAMILY_NAME = re.compile(r"(?i:wgmma|tcgen05|mma_?\.?sync|umma|AsyncDot|async\.dot|MmaAtom)|MMA_ATOMS|\bwarpgroup\b")
# Conversions of dialects in which instructions are operations: they convert what these dialects' documents name.
DIALECT_CONVERSIONS = (
    "tileas_to_ll/convert_cute_to_llvm/",
    "tileas_to_ll/convert_nvgpu_and_gpu_to_nvvm/",
    "tileas_to_ll/type_converter.py",  # the types of these dialects
    "ll_to_ptx/",  # LLVM's names of intrinsics
    "verifiers/cluster_peer_lifetime.py",  # reads NVVM's operations, after these conversions
)


def words_of(tree: ast.AST) -> list[str]:
    """The identifiers and strings of a module, without docstrings and comments."""
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            found.append(node.value)
        elif isinstance(node, ast.Name):
            found.append(node.id)
        elif isinstance(node, ast.Attribute):
            found.append(node.attr)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.alias):
            found.append(node.name)
        elif isinstance(node, ast.arg | ast.keyword):
            found.append(node.arg or "")
        elif isinstance(node, ast.ImportFrom):
            found += (node.module or "").split(".")
    return found


def names_by_file() -> Counter[str]:
    found: Counter[str] = Counter()
    for path in sorted(PIPELINE.rglob("*.py")):
        name = path.relative_to(PIPELINE).as_posix()
        if not name.startswith(("mma/", *DIALECT_CONVERSIONS)):
            found[name] = sum(bool(FAMILY_NAME.search(word)) for word in words_of(ast.parse(path.read_text())))
    return +found


def test_no_file_outside_names_a_family():
    assert names_by_file() == {}


def test_names_are_found_in_identifiers_strings_and_imports():
    """And not in docstrings and comments."""
    text = '"""Of wgmma."""\nfrom .mma.wgmma import family\nif op.warpgroup: x = "nv_tileas.async.umma"  # tcgen05\n'
    found = {word for word in words_of(ast.parse(text)) if FAMILY_NAME.search(word)}
    assert found == {"wgmma", "warpgroup", "nv_tileas.async.umma"}
