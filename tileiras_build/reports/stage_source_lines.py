"""Listings of a kernel's stages, from bytecode to SASS, with the source lines of each line.

Each format has its own debug information, parsed by a row of ``READERS``. Without ``lineinfo=yes``, ``.ll``, PTX and SASS have
none. PTX: ISA manual, ".loc" and ".file"; SASS: nvdisasm's ``-gi`` and ``-gp``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ..target.sass_listing import read_section

Place = tuple[str, int]  # a source file and a line
Places = tuple[Place, ...]  # innermost first, then the call sites of inlined code


@dataclass(frozen=True)
class Line:
    """One line with its source lines and, for SASS, its PTX line (0: unknown)."""

    text: str
    places: Places = ()
    ptx: int = 0


def read_lines(stage: str, text: str, kernel: str) -> list[Line]:
    """The lines of a stage's text; for "sass", only those of ``kernel``."""
    if stage == "sass":
        return list(_read_sass(text, kernel))
    return list(READERS[stage](text))


def _place(file: str, line: str | int) -> Place:
    return posixpath.normpath(file), int(line)


# ---- bytecode as text, as `tileiras-build dis -g` prints it --------------------------------------
_LOC = re.compile(r' loc\((?:unknown|callsite\(.*|".*)\)$')
_QUOTED_PLACE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):\d+')


def _read_bytecode(text: str) -> Iterator[Line]:
    for line in text.rstrip("\n").split("\n"):
        found = _LOC.search(line)
        shown, said = (line[: found.start()], found[0]) if found else (line, "")
        yield Line(shown, tuple(_place(*place) for place in _QUOTED_PLACE.findall(said)))


# ---- .tileaa and .tileas: attribute aliases come first -------------------------------------------
_ALIAS = re.compile(r"^#(loc\d*) = (.*)$", re.MULTILINE)
_DI_LOC = re.compile(r'di_loc<"((?:[^"\\]|\\.)*)", (\d+),')
_REFERENCE = re.compile(r"#(loc\d*)\b")
_OF_OPERATION = re.compile(r"\bloc = (#[\w.]+(?:<.*?>(?=[,}]))?)")


def _read_mlir(text: str) -> Iterator[Line]:
    aliases: dict[str, Places] = {}

    def places(attribute: str) -> Places:
        direct = tuple(_place(*place) for place in _DI_LOC.findall(attribute))
        named = [aliases[name] for name in _REFERENCE.findall(attribute) if name in aliases]
        return direct + tuple(place for one in named for place in one)

    # An alias uses only earlier aliases; a damaged file may have cycles.
    for name, attribute in _ALIAS.findall(text):
        aliases[name] = places(attribute)
    for line in text.rstrip("\n").split("\n"):
        found = None if line.startswith("#") else _OF_OPERATION.search(line)
        yield Line(line, places(found[1]) if found else ())


# ---- .ll: metadata comes last --------------------------------------------------------------------
_NODE = re.compile(r"^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)$", re.MULTILINE)
_FIELD = re.compile(r'(\w+): (?:!(\d+)|"((?:[^"\\]|\\.)*)"|(\d+))')
_DEBUG = re.compile(r"!dbg !(\d+)")


def _read_llvm(text: str) -> Iterator[Line]:
    nodes = {number: dict(_fields(body)) for number, _, body in _NODE.findall(text)}
    known: dict[str, Places] = {}

    def file_of(scope: str) -> str:
        while scope in nodes and "file" not in nodes[scope]:
            scope = nodes[scope].get("scope", "")
        file = nodes.get(nodes.get(scope, {}).get("file", ""), {})
        return posixpath.join(file.get("directory", ""), file.get("filename", ""))

    def places(number: str) -> Places:
        if number not in known:
            node = nodes.get(number, {})
            here = (_place(file_of(number), node["line"]),) if "line" in node else ()
            known[number] = here + (places(node["inlinedAt"]) if "inlinedAt" in node else ())
        return known[number]

    for line in text.rstrip("\n").split("\n"):
        found = None if line.startswith("!") else _DEBUG.search(line)
        yield Line(line, places(found[1]) if found else ())


def _fields(body: str) -> Iterator[tuple[str, str]]:
    for name, node, text, number in _FIELD.findall(body):
        yield name, node or number or text


# ---- PTX: a .loc applies up to the next one ------------------------------------------------------
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_PTX_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+\d+(?:.*inlined_at\s+(\d+)\s+(\d+))?")
_NO_CODE = re.compile(r"^\s*(?:$|[.{}]|//)")


def _read_ptx(text: str) -> Iterator[Line]:
    files = dict(_FILE.findall(text))
    now: Places = ()
    for line in text.rstrip("\n").split("\n"):
        if found := _PTX_LOC.match(line):
            said = [found.group(1, 2)] + ([found.group(3, 4)] if found[3] else [])
            now = tuple(_place(files.get(file, "?"), number) for file, number in said)
        elif line.startswith("}"):
            now = ()
        yield Line(line, () if _NO_CODE.match(line) and not found else now)


# ---- SASS ----------------------------------------------------------------------------------------
_LINE_INFO = re.compile(r'^\s*//## File "(.*?)", line (\d+)')
_CODE = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s*(.*?)\s*;?\s*$")
_PTX_TEXT = ".nv_debug_ptx_txt"


def _read_sass(text: str, kernel: str) -> Iterator[Line]:
    now: Places = ()
    ptx, said = 0, []
    for row in read_section(text, kernel):
        if found := _LINE_INFO.match(row):
            if found[1].startswith(_PTX_TEXT):
                ptx = int(found[2])
            else:
                said.append(_place(found[1], found[2]))
            continue
        if said:
            now, said = tuple(said), []
        if code := _CODE.match(row):
            yield Line(f"{code[1]}  {code[2]}", now, ptx)
        else:
            yield Line(row)


READERS: Mapping[str, Callable[[str], Iterator[Line]]] = {
    "tilebc": _read_bytecode,
    "tileaa": _read_mlir,
    "tileas": _read_mlir,
    "ll": _read_llvm,
    "ptx": _read_ptx,
}
