"""Sentences of documents are short, on average and each."""

import pytest

from tests.documents.prose import mean_length, sentences
from tests.documents.test_document_words import DOCUMENTS

MEAN, LONGEST = 25, 60


def test_sentences_are_short():
    texts = {path.name: path.read_text() for path in DOCUMENTS}
    assert {name: mean for name, text in texts.items() if (mean := mean_length(text)) > MEAN} == {}
    assert [
        (name, sentence)
        for name, text in texts.items()
        for sentence in sentences(text)
        if len(sentence.split()) > LONGEST
    ] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One two. Three four.\n", ["One two.", "Three four."]),
        ("`a` b of\n[two words](x.md). `c` d.\n", ["Code b of two words.", "Code d."]),
        (
            "# A title\n\nA line\n\n| a | b |\n\n```\nx y z\n```\n\n    x y z\n\n- an item\n- one more\n",
            ["A line", "an item", "one more"],
        ),
    ],
)
def test_what_counts_as_a_sentence(text, found):
    assert sentences(text) == found
