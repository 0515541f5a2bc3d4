"""Read the metadata of the .ll for the back end, and write the metadata of the .ptx.

``!tileiras.manifest`` is the launch manifest as JSON, ``!tileiras.libdevice`` names the math library to link, and
``!tileiras.target`` is the serialization target. In PTX the manifest is one comment line, so that assembly depends on
the .ptx alone.
"""

from __future__ import annotations

import re

from ...core.errors import InternalError
from ...manifest.ptx_manifest import parse_manifest
from ..job import Job
from ..serialization_target import NOTE, Serialization, check_same_target

_MACHINE = re.compile(r'"target-(cpu|features)"="([^"]*)"')
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2})")


def named_string(text: str, name: str) -> str | None:
    """The string of ``!name = !{!N}`` with ``!N = !{!"..."}``, unescaped; None if the module has no such node."""
    node = _search(text, f"!{name} = ", r"!\{!(\d+)\}")
    if node is None:
        return None
    string = _search(text, f"!{node[1]} = ", r'(?:distinct )?!\{!"([^"\n]*)"\}')
    if string is None:
        remedy = 'write it as !{!N} with !N = !{!"..."}'
        raise InternalError("ll-metadata", f"!{name} is not a string", remedy=remedy)
    raw = string[1].replace(r"\22", '"')  # nearly all escapes in JSON
    if "\\" in raw:
        raw = _ESCAPE.sub(lambda code: chr(int(code[1], 16)), raw)
    return raw.encode("latin-1", "surrogateescape").decode("utf-8") if not raw.isascii() else raw


def _search(text: str, head: str, rest: str) -> re.Match[str] | None:
    """The first line that begins with ``head`` and then matches ``rest``.

    ``head`` is found by substring search, as a regular expression would try every line of the module.
    """
    start = 0 if text.startswith(head) else text.find(f"\n{head}")
    return re.compile(f"^{re.escape(head)}{rest}", re.MULTILINE).search(text, start) if start >= 0 else None


def read_serialization(text: str, job: Job) -> Serialization:
    """The serialization target of an .ll module, or that of the job if it has none."""
    note = named_string(text, NOTE)
    if note is None:
        return Serialization.of_job(job)
    made_for = Serialization.parse(note).check(job)
    cpu, features = made_for.target.llvm_cpu, made_for.target.llvm_features
    for kind, value in set(_MACHINE.findall(text)):
        check_same_target((value,), (cpu if kind == "cpu" else features,))
    return made_for


def read_manifest(text: str) -> dict | None:
    """The launch manifest of an .ll module; None where it has none."""
    note = named_string(text, "tileiras.manifest")
    return None if note is None else parse_manifest(note)
