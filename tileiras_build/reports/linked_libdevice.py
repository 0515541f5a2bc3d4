"""The libdevice functions that a kernel links: those it calls, and the helpers of each."""

from __future__ import annotations

import re

from ..core.terminal import table_text
from ..libdevice.resolve_linked_library import resolve
from ..libdevice.split_library import Library
from ..pipeline.ll_to_ptx.embedded_metadata import named_string

_DECLARED = re.compile(r"^declare [^@\n]*@([\w.$]+)\(", re.MULTILINE)
_PROVIDED = ("llvm.", "vprintf", "__assertfail")


def linked_functions(text: str, library: Library) -> list[str]:
    """The functions of ``library`` that an .ll declares, sorted."""
    return sorted(set(_DECLARED.findall(text)) & library.symbols)


def linked_table(text: str, path: str | None, number: int) -> str:
    """A table with a line for each library function that an .ll calls, on sm_<number>.

    ``path`` is the library's file, None for the installed one. Raises InvalidInput[libdevice-missing, ...].
    """
    note = named_string(text, "tileiras.libdevice")
    if note is None:
        return "no libdevice functions used"
    library = Library.from_blob(resolve(note, path))
    rows = [_row(library, name, number) for name in linked_functions(text, library)]
    return table_text(("function", "IR lines", "GPU-dependent", "helpers"), rows)


def _row(library: Library, name: str, number: int) -> tuple[str, int, str, str]:
    closure = library.closure(name, number)
    helpers = [other for other in library.transitive_callees(name) if other != name]
    return name, closure.text.count("\n"), "yes" if closure.reads_arch else "no", ", ".join(helpers) or "-"
