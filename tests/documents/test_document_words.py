"""Documents use the field's words, as the package does (tests/meta/test_words.py): none of this project's own is left."""

import re
from pathlib import Path

import pytest

from tests.meta.test_words import found_in

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (".", "docs", "examples", "examples/project", "runtime_wheel")
DOCUMENTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.md"))
# What a document quotes: code, and tests by their names. The package's own test checks names of the code.
_QUOTED = re.compile(r"``.+?``|`[^`]+`|\[\w+\]\(\.\./tests/[^)]+\)")


def prose(document: str) -> str:
    """A document without what it quotes."""
    return _QUOTED.sub(" ", document)


def test_words_are_the_fields():
    lines = [
        (path.name, number, line)
        for path in DOCUMENTS
        for number, line in enumerate(prose(path.read_text()).splitlines(), 1)
    ]
    assert [(name, number, dict(found)) for name, number, line in lines if (found := found_in(line))] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("both products", ["products"]),
        ("`tileas-keep-sums` and [a_product](../tests/test_x.py)", []),
        ("[a product](page.md)", ["product"]),
    ],
)
def test_a_quotation_is_no_word(text, found):
    assert list(found_in(prose(text))) == found
