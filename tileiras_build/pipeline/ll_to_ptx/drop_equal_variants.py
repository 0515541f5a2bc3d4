"""Drop variants (``frontend/aligned_variant.py``) whose code equals that of their kernel: their assumptions changed nothing.

LLVM prints a kernel from ``.visible .entry`` to a brace at the start of a line. It contains its name, in its parameters,
and its number among the functions, in its labels.
"""

from __future__ import annotations

import re

VARIANT_OF = "variant_of"
_ENTRY = re.compile(r"(?:^\t// \.globl[^\n]*\n+)?^(?P<text>\.visible \.entry (?P<name>[\w$]+)\(.*?^}\n)", re.M | re.S)
_LABEL = re.compile(r"\$L__BB\d+_")


def drop_equal_variants(ptx: str, manifest: dict | None) -> tuple[str, dict | None]:
    """The PTX and the manifest without them."""
    kernels = (manifest or {}).get("kernels", {})
    if not any(VARIANT_OF in kernel for kernel in kernels.values()):
        return ptx, manifest
    entries = {entry["name"]: entry for entry in _ENTRY.finditer(ptx)}
    code = {name: _without_names(name, entry["text"]) for name, entry in entries.items()}
    equal = [name for name, row in kernels.items() if name in code and code[name] == code.get(row.get(VARIANT_OF))]
    for name in equal:
        ptx = ptx.replace(entries[name][0], "")
    kept = {name: row for name, row in kernels.items() if name not in equal}
    return ptx, (manifest or {}) | {"kernels": kept}


def _without_names(name: str, text: str) -> str:
    """The text of a kernel without its name and number."""
    return _LABEL.sub("$L__BB_", re.sub(rf"(?<![\w$]){re.escape(name)}(?![a-zA-Z\d$])", "", text))
