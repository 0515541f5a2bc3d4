"""Correct the line directives of LLVM's PTX, so that lines have their inlined callers and labels do not change the
code.

Labels for absent debug sections are dropped: a label begins a new block for ptxas, which then schedules instructions
differently (matmul_f16_nt on sm_120: one instruction more).

Inlined lines get their callers: ``.loc 1 23 11, function_name $L__inlined_names+0, inlined_at 1 36 33``. LLVM 22 prints
the innermost position of an instruction and drops its callers. So each inlined position gets a unique column before
LLVM sees it, counted from MARK (no source line is that long); in the PTX the column identifies the position, and is
replaced by the true column (PTX ISA 9.0, section 11.5.3, .loc).
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from .regex_matches import require_match

MARK = 0x8000  # the first column that marks an inlined position
_LAST = 0xFFFF  # LLVM stores 16 bits of a column
_KIND = "emissionKind: DebugDirectivesOnly"

_NODE = re.compile(r"^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)$", re.MULTILINE)
_REFERENCE = {key: re.compile(rf"\b{key}: !(\d+)") for key in ("scope", "file", "inlinedAt")}
_NUMBER = {key: re.compile(rf"\b{key}: (\d+)") for key in ("line", "column")}
_STRING = {key: re.compile(rf'\b{key}: "([^"]*)"') for key in ("name", "filename", "directory")}
_COLUMN = re.compile(r"\bcolumn: \d+")
_LOC = re.compile(r"^(\s*\.loc\s+)(\d+) (\d+) (\d+)([^\n]*)\n", re.MULTILINE)
_LLVM_BYTE, _PTX_BYTE = re.compile(r"\\([0-9A-Fa-f]{2})"), re.compile(r"\\([0-7]{3}|.)")
_PTX_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_FILE = re.compile(r'^\s*\.file\s+(\d+) "([^"]*)"', re.MULTILINE)
_LABEL = re.compile(r"^(\$L__(?:tmp|func_begin|func_end)\d+):\n", re.MULTILINE)
_MENTION = re.compile(r"\$L__(?:tmp|func_begin|func_end)\d+\b(?!:)")
_UNKNOWN = object()
_ENTRY = re.compile(r"^\.(?:visible )?\.?(?:entry|func)\b", re.MULTILINE)


def drop_labels(ptx: str) -> str:
    """Drop the labels that LLVM adds around lines and functions and that nothing references."""
    if "$L__" not in ptx:
        return ptx
    mentioned = set(_MENTION.findall(ptx))
    return _LABEL.sub(lambda label: label[0] if label[1] in mentioned else "", ptx)


@dataclass(frozen=True)
class InlinedLocation:
    """A source position, its function, and the location where that function was inlined."""

    path: str
    line: int
    column: int
    function: str
    caller: InlinedLocation | None


class LineDirectives:
    """The inlined positions of one module; none if it has more debug info than directives.

    ``text`` is the module with marked columns.
    """

    def __init__(self, text: str):
        self.places: list[InlinedLocation] = []
        self.text = text
        if "inlinedAt: " in text and _KIND in text:
            self._nodes = {match[1]: match for match in _NODE.finditer(text)}
            self._places: dict[str, InlinedLocation] = {}
            self.text = _NODE.sub(self._marked, text)

    def _marked(self, node: re.Match) -> str:
        if node[2] != "DILocation" or _REFERENCE["inlinedAt"].search(node[3]) is None:
            return node[0]
        if MARK + len(self.places) > _LAST:
            return node[0]  # still a correct line, without its caller
        self.places.append(self._place(node[1]))
        return _COLUMN.sub(f"column: {MARK + len(self.places) - 1}", node[0], count=1)

    def _place(self, number: str) -> InlinedLocation:
        if number not in self._places:
            body = self._nodes[number][3]
            caller = _REFERENCE["inlinedAt"].search(body)
            scope = require_match(_REFERENCE["scope"].search(body))[1]
            line, column = (int(require_match(_NUMBER[key].search(body))[1]) for key in ("line", "column"))
            self._places[number] = InlinedLocation(
                self._path(scope), line, column, self._function(scope), self._place(caller[1]) if caller else None
            )
        return self._places[number]

    def _path(self, scope: str) -> str:
        file = self._nodes[require_match(_REFERENCE["file"].search(self._nodes[scope][3]))[1]][3]
        name, folder = (_of_llvm(require_match(_STRING[key].search(file))[1]) for key in ("filename", "directory"))
        return f"{folder}/{name}" if folder else name

    def _function(self, scope: str) -> str:
        while self._nodes[scope][2] != "DISubprogram":
            scope = require_match(_REFERENCE["scope"].search(self._nodes[scope][3]))[1]
        return _of_llvm(require_match(_STRING["name"].search(self._nodes[scope][3]))[1])

    def restore(self, ptx: str) -> str:
        """Restore the columns and callers of inlined lines, and drop unused labels."""
        ptx = drop_labels(ptx)
        return _Restorer(self.places, ptx).run() if self.places else ptx


class _Restorer:
    """Rewrites the ``.loc`` lines of one PTX module."""

    def __init__(self, places: list[InlinedLocation], ptx: str):
        self.places, self.ptx = places, ptx
        self.files = {_of_ptx(path): int(number) for number, path in _FILE.findall(ptx)}
        self.names: dict[str, int] = {}  # function -> offset in .debug_str
        # Position -> the caller that was last printed with it; ptxas looks callers up by position.
        self.known: dict[tuple[int, int, int], InlinedLocation | None] = {}
        self.added: list[str] = []

    def run(self) -> str:
        parts = []
        # A caller must have appeared before, in the same function.
        for part in _split(self.ptx):
            self.known = {}
            parts.append(_LOC.sub(self._loc, part))
        return "".join(parts) + "".join(self.added) + self._strings()

    def _loc(self, match: re.Match) -> str:
        file, line, column = (int(number) for number in match.group(2, 3, 4))
        if not MARK <= column < MARK + len(self.places):
            self.known[file, line, column] = None
            return match[0]
        place = self.places[column - MARK]
        return self._callers(place.caller, match[1]) + self._line(place, match[1])

    def _callers(self, place: InlinedLocation | None, head: str) -> str:
        """Lines that define the callers of a location that are not defined yet, outermost first."""
        if place is None or self.known.get(self._key(place), _UNKNOWN) == place.caller:
            return ""
        return self._callers(place.caller, head) + self._line(place, head)

    def _line(self, place: InlinedLocation, head: str) -> str:
        file, line, column = self._key(place)
        self.known[file, line, column] = place.caller
        text = f"{head}{file} {line} {column}"
        if place.caller is not None:
            offset = self.names.setdefault(place.function, sum(len(name.encode()) + 1 for name in self.names))
            at = " ".join(map(str, self._key(place.caller)))
            text += f", function_name $L__inlined_names+{offset}, inlined_at {at}"
        return text + "\n"

    def _key(self, place: InlinedLocation) -> tuple[int, int, int]:
        if place.path not in self.files:
            number = self.files[place.path] = max(self.files.values(), default=0) + 1
            self.added.append(f'\t.file\t{number} "{_encoded(place.path)}"\n')
        return self.files[place.path], place.line, place.column

    def _strings(self) -> str:
        if not self.names:
            return ""
        data = b"".join(name.encode() + b"\0" for name in self.names)
        return f"\t.section\t.debug_str\n\t{{\n$L__inlined_names:\n.b8 {','.join(map(str, data))}\n\t}}\n"


def _of_llvm(text: str) -> str:
    """Decode a string of LLVM IR, which escapes bytes that are not printable ASCII."""
    return _of_bytes(_LLVM_BYTE.sub(lambda code: chr(int(code[1], 16)), text))


def _of_ptx(text: str) -> str:
    """Encode a string as LLVM does in PTX."""
    return _of_bytes(_PTX_BYTE.sub(lambda code: _ptx_character(code[1]), text))


def _ptx_character(code: str) -> str:
    return chr(int(code, 8)) if len(code) == 3 else _PTX_LETTERS.get(code, code)


def _of_bytes(raw: str) -> str:
    return raw if raw.isascii() else raw.encode("latin-1", "replace").decode("utf-8", "replace")


def _encoded(path: str) -> str:
    """Encode a path as LLVM does in PTX."""
    return "".join("\\\\" if c == 92 else chr(c) if 32 <= c < 127 else f"\\{c:03o}" for c in path.encode())


def _split(ptx: str) -> list[str]:
    """Split the text before each function."""
    starts = [0, *(match.start() for match in _ENTRY.finditer(ptx)), len(ptx)]
    return [ptx[start:end] for start, end in itertools.pairwise(starts)]
