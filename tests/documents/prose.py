"""The sentences of a document: what stands in paragraphs and lists, without tables, code blocks and headings."""

from __future__ import annotations

import re

_FENCED = re.compile(r"^ *```.*?^ *```\n", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^\n)(?:(?:^ {4}[^\n]*\n)+\n?)+", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_CODE = re.compile(r"`[^`]*`")
_ITEM = re.compile(r"^ *(?:[-*]|\d+\.) ", re.MULTILINE)
_END = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z\"(*])|\n\n+")


def sentences(document: str) -> list[str]:
    """The sentences; a quotation of code counts as one word, as does a link's text for its words."""
    text = _INDENTED.sub("\n", _FENCED.sub("\n", document))
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("|", "#", "<"))]
    text = _ITEM.sub("\n", "\n".join(lines) + "\n")
    text = _CODE.sub("Code", _LINK.sub(r"\1", text))
    found = (" ".join(part.split()) for part in _END.split(text))
    return [sentence for sentence in found if len(sentence.split()) > 1]


def mean_length(document: str) -> float:
    """Words in a sentence, on average; 0 for a document without sentences."""
    found = sentences(document)
    return sum(len(sentence.split()) for sentence in found) / len(found) if found else 0.0
