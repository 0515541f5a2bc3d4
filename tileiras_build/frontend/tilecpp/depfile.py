"""Reads the dependency files that compilers write, in the syntax of make."""

from __future__ import annotations

import os
import re

_WORD = re.compile(r"(?:\\.|\$\$|[^\s\\])+")
_ESCAPED = re.compile(r"\\(.)|\$\$")


def read_dependencies(text: str, root: str) -> list[str]:
    """The files that a dependency file names, as absolute paths; relative ones are below ``root``."""
    named = text.partition(" : ")[2] or text.partition(": ")[2]
    words = (_ESCAPED.sub(lambda found: found[1] or "$", word) for word in _WORD.findall(named.replace("\\\n", " ")))
    return list(dict.fromkeys(os.path.normpath(os.path.join(root, word)) for word in words))
