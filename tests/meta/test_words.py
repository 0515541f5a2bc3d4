"""Identifiers, comments, docstrings and messages of the package, its tests and tools use the field's words, not words of this project alone."""

import ast
import io
import re
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tileiras_build.pipeline.stages import PACKAGE

# A word of this project, and what CUDA, PTX, MLIR, CUTLASS, Triton, Ninja or Bazel call it.
WORDS = {
    r"products?": "matmul, MMA, dot",
    r"sums?": "accumulator, reduction, partial sum",
    r"agents?": "warp partition; producer, consumer, epilogue warps",
    r"park(ed|s|ing)?": "spill to shared memory",
    r"meetings?": "barrier, synchronization point",
    r"turns": "iterations over sub-tiles",
    r"house|rooms?": "architecture, package, capacity",
    r"books?": "instruction table",
    r"savings?": "fallback",
    r"under way": "in flight",
    r"multiprocessors?": "SM",
    r"numbers": "values, elements, results",
    r"(is|are|was|were) (told|said)": "is reported, is documented",
    r"carried out": "executed",
    r"dear": "slow, expensive",
}
# Where the field has the same word.
ALLOWED = {
    "Python's functions, also under names of their own": r"\b(math )?f?sum\(|\bsum (of|over|up)\b|\bsums of\b|\breduce sum\b|\bproducts? of\b|(itertools|functools)\S* product|\bproduct\(",
    "operations of NVIDIA's dialects, and their attributes": r"\bagent switch\b|\bagent id\b|nv tileas agent",
    "arithmetic": r"\b(prefix|suffix|partial|running|weighted|check|inner|outer|cartesian|dot|cross|scalar|exact|logical) (sums?|products?)\b",
    "numbers of something": r"\b(call|line|version|block|phase|page|port|process|subnormal|random|prime|floating point|floating|natural|whole|odd|even|hexadecimal|decimal|binary|register|row|section) numbers\b|\bnumbers (of|that|in|from|with)\b",
    "titles of publications": r"\bmultiprocessor level\b|\bcorrectly rounded sums\b",
    "former names of tuning parameters": r"\bfp8 sum k\b",
    "names of Python and CUDA": r"\b(math numbers ntpath|set sorted sum)\b|\bmulti ?processor count\b|\bper multi ?processor\b",
    "verbs": r"\b(it|that|which|this|and|what|pass|loop|compiler) turns\b",
}
# Modules about sums and products of numbers: rounding, error bounds, exact dot products, CuTe's product of extents. Rows are paths in
# the package, and stand for the modules' tests as well.
ARITHMETIC = (
    "ir/layouts/cute_algebra.py",
    "pipeline/tileas_to_ll/convert_cute_to_llvm/",
    "simulate/emulator/matmul/",
    "simulate/emulator/numerics/",
    "simulate/emulator/native/",
    "simulate/emulator/isa/mma_accumulation_chains.py",
    "simulate/interpreter/ieee_rounding.py",
    "simulate/interpreter/mma_ops.py",
    "simulate/interpreter/randomize_unspecified_values.py",
    "simulate/interpreter/reduce_and_scan.py",
    "simulate/interpreter/summation_error_bounds.py",
    "simulate/estimate/sass_integer_semantics.py",
    "simulate/estimate/sass_semantics.py",  # the modifier of REDUX.SUM
)
OF_ARITHMETIC = {"sum", "sums", "product", "products", "numbers"}
FUNCTION = "sum"  # of Python, NumPy and cuTile, as an identifier or a string of its own
# Tests of the words themselves, and of a parameter's former name.
QUOTING = ("meta/words.py", "documents/document_words.py", "core/renamed_parameters.py")

_WORD = re.compile(rf"\b({'|'.join(WORDS)})\b")
_ALLOWED = re.compile("|".join(ALLOWED.values()))
_NAME = re.compile(r"[^\W\d]\w*")
_ESCAPE = re.compile(r"\\[a-z0]")
_JOINT = re.compile(r"""["']\s*[bfru]*["']""")
_CALL = re.compile(rf"\b{FUNCTION}\(")
_PARTS = [[re.compile(part) for part in row.split()] for row in WORDS]
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")
ROOT = PACKAGE.parent


def folders_of(path: Path) -> list[str]:
    """The folders in a folder, and that folder for its own modules."""
    inner = sorted(one for one in path.iterdir() if one.is_dir() and any(one.rglob("*.py")))
    return [one.relative_to(ROOT).as_posix() for one in (path, *inner)]


FOLDERS = [folder for name in (PACKAGE.name, "tests", "tools", "benchmarks") for folder in folders_of(ROOT / name)]


def words_of(text: str) -> str:
    """A text or an identifier in lower case, with its parts as words: ``MmaSum_rows`` is "mma sum rows"."""
    return " ".join(_CAMEL.sub(" ", text).lower().split())


def found_in(text: str) -> Counter[str]:
    """The project's own words in a text, but for those that the field has too."""
    words = words_of(text)
    # What is allowed has one of the words in it, as few texts have.
    return Counter(match[0] for match in _WORD.finditer(_ALLOWED.sub(" ", words))) if _WORD.search(words) else Counter()


def texts(source: str) -> list[str]:
    """The identifiers, comments and strings of a module, without repetitions of an identifier; none where no text can have one
    of the words."""
    if not _may_have(source):
        return []
    names, prose = _tokens(source)
    nodes = list(ast.walk(ast.parse(source)))
    constants = (node.value for node in nodes if isinstance(node, ast.Constant))
    prose += [text for text in constants if isinstance(text, str) and text != FUNCTION]
    return [*sorted(names - _imported(nodes) - _former(nodes)), *prose]


def _may_have(source: str) -> bool:
    """Whether a module has all words of a row: to find out where they stand takes ten times as long.

    Escapes end words, as the characters that they stand for do; parts of a string may be one word.
    """
    text = _JOINT.sub("", _ESCAPE.sub(" ", _CALL.sub(" ", source)))
    words = {word for name in set(_NAME.findall(text)) for word in words_of(name).split()}
    return any(all(any(map(part.fullmatch, words)) for part in row) for row in _PARTS)


def _tokens(source: str) -> tuple[set[str], list[str]]:
    """The identifiers, and the comments."""
    names: set[str] = set()
    comments: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME and token.string != FUNCTION:
            names.add(token.string)
        elif token.type == tokenize.COMMENT:
            comments.append(token.string)
    return names, comments


def _imported(nodes: list[ast.AST]) -> set[str]:
    """What the module imports of other modules, and attributes of those: they name it."""
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    modules = {alias.asname or alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    return {name for node in imports for name in (node.module, *(alias.name for alias in node.names)) if name} | {
        node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id in modules
    }


def _former(nodes: list[ast.AST]) -> set[str]:
    """The former parameters that functions of the module refuse."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    refused = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "renamed_parameters"]
    return {str(keyword.arg) for call in refused for keyword in call.keywords}


def place_of(path: Path) -> str:
    """A module's path in the package; for a test that of the module that it tests; for others from the root."""
    first, *rest = path.relative_to(ROOT).parts
    if first not in (PACKAGE.name, "tests"):
        return "/".join((first, *rest))
    return "/".join((*rest[:-1], rest[-1].removeprefix("test_")))


@cache
def left_in(folder: str) -> dict[str, Counter[str]]:
    """The project's own words that the modules of a folder still have, by module."""
    modules: dict[str, Counter[str]] = {}
    pattern = "*.py" if "/" not in folder else "**/*.py"
    for path in sorted((ROOT / folder).glob(pattern)):
        found: Counter[str] = Counter()
        for text in (path.stem, *texts(path.read_text())):
            if more := found_in(text):
                found += more
        place = place_of(path)
        if place.startswith(ARITHMETIC):
            found = Counter({word: count for word, count in found.items() if word not in OF_ARITHMETIC})
        if found and place not in QUOTING:
            modules[path.relative_to(ROOT).as_posix()] = found
    return modules


@pytest.mark.parametrize("folder", FOLDERS)
def test_words_are_the_fields(folder):
    assert left_in(folder) == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ProductReader", {"product": 1}),
        ("row_sums", {"sums": 1}),
        ("sum(counts) is the sum of all", {}),
        ("nv_tileas.agent_switch", {}),
        ("AgentSwitchOp", {}),
        ("the agents wait", {"agents": 1}),
        ("line numbers, and numbers", {"numbers": 1}),
    ],
)
def test_a_word_is_found(text, found):
    assert found_in(text) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("row_sums = 1", {"sums": 1}),
        ("a = 1  # the agents wait", {"agents": 1}),
        ("a = 'line\\nbooks'", {"books": 1}),
        ("a = ('the pro'\n     'ducts')", {"products": 1}),
        ("a = 'carried ' f'out'", {"carried out": 1}),
        ("sum = 'rows'", {}),
    ],
)
def test_identifiers_comments_and_strings_are_read(source, found):
    assert sum(map(found_in, texts(source)), Counter()) == found


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("tileiras_build/ir/layouts/cute_algebra.py", "ir/layouts/cute_algebra.py"),
        ("tests/ir/layouts/test_cute_algebra.py", "ir/layouts/cute_algebra.py"),
        ("tools/coverage.py", "tools/coverage.py"),
    ],
)
def test_a_test_stands_where_its_module_does(path, place):
    assert place_of(ROOT / path) == place


def test_every_row_is_of_a_module():
    assert all((PACKAGE / row).exists() for row in ARITHMETIC)
    assert set(QUOTING) <= {place_of(path) for path in (ROOT / "tests").rglob("test_*.py")}


if __name__ == "__main__":
    for name in FOLDERS:
        for module, words in left_in(name).items():
            print(module, dict(words))
