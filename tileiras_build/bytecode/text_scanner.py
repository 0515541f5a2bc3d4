"""A position in Tile IR text: words, values, types and attributes, with errors that point at line and column."""

from __future__ import annotations

import re
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Attribute
from xdsl.parser import Parser

from tileiras_build.dialects.cuda_tile import CudaTile
from tileiras_build.dialects.mlir_text import check_text, reason
from tileiras_build.errors import InvalidInput, Location

BLANK = re.compile(r"(?:\s+|//[^\n]*)*")
WORD = re.compile(r"[A-Za-z_][\w$.]*")
VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
INTEGER = re.compile(r"-?\d+")
NUMBER = re.compile(r"true|false|-?0x[0-9A-Fa-f]+|-?(?:\d+\.?\d*(?:[eE][-+]?\d+)?)")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
ESCAPE = re.compile(rb"\\(?:([0-9A-Fa-f]{2})|(.))", re.DOTALL)
SHOWN = 100  # characters
DIALECT_TYPES = "tile|ptr|tensor_view|partition_view|strided_view|gather_scatter_view|token"
ELEMENT_TYPES = "fnv8E5M3FNU"
# An x may come before: 4xptr<f32>.
DIALECT_TYPE = re.compile(rf"(?<![A-Za-wyz_.!])((?:{DIALECT_TYPES})(?=<|\W*$)|(?:{ELEMENT_TYPES})\b)")
MAX_BRACKETS = 64  # of one type or attribute; views of tensor views of pointers are 4
OPENING, CLOSING = "<([{", ">)]}"


class Scanner:
    """Reads text from left to right; blanks and comments in between do not count."""

    def __init__(self, text: str, name: str | None = None):
        self.text, self.name, self.position = text, name, 0
        self.types: dict[str, Attribute] = {}
        self.context = Context()
        self.context.load_dialect(Builtin)
        self.context.load_dialect(CudaTile)

    def fail(self, message: str, position: int | None = None, *, id: str = "asm-syntax") -> NoReturn:
        """Refuse the text, at the current position unless told."""
        before = self.text[: self.position if position is None else position]
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        raise InvalidInput(id, message, location=Location(self.name or "<text>", line, column))

    def skip(self) -> None:
        if (blank := BLANK.match(self.text, self.position)) is not None:
            self.position = blank.end()

    def at(self, text: str) -> bool:
        """Whether ``text`` is next."""
        self.skip()
        return self.text.startswith(text, self.position)

    def at_end(self) -> bool:
        self.skip()
        return self.position == len(self.text)

    def accept(self, text: str) -> bool:
        """Take ``text`` if it is next; a word is not taken out of a longer one."""
        if not self.at(text):
            return False
        end = self.position + len(text)
        if WORD.fullmatch(text) and end < len(self.text) and re.match(r"[\w$.]", self.text[end]):
            return False
        self.position = end
        return True

    def expect(self, text: str) -> None:
        """Take each blank-separated part of ``text``."""
        for part in text.split():
            if not self.accept(part):
                self.fail(f"expected '{part}'")

    def match(self, pattern: re.Pattern, what: str) -> str:
        self.skip()
        found = pattern.match(self.text, self.position)
        if found is None:
            self.fail(f"expected {what}")
        self.position = found.end()
        return found[0]

    def word(self, what: str = "a word") -> str:
        return self.match(WORD, what)

    def integer(self) -> int:
        return int(self.match(INTEGER, "an integer"))

    def string(self) -> str:
        self.skip()
        start = self.position
        raw = self.match(STRING, "a string")[1:-1].encode()
        data = ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()) if found[1] else found[2], raw)
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.fail("the escapes of this string are not UTF-8", start)

    def symbol(self) -> str:
        """``@name`` or ``@"any name"``."""
        self.expect("@")
        return self.string() if self.text.startswith('"', self.position) else self.word("a symbol name")

    def balanced(self) -> str:
        """A word, if there is one, and brackets after it with all that is inside them."""
        self.skip()
        start, depth = self.position, 0
        word = WORD.match(self.text, start)
        end = word.end() if word else start
        while end < len(self.text) and (depth or self.text[end] in OPENING):
            if self.text[end] == '"':
                if (string := STRING.match(self.text, end)) is None:
                    self.fail("a string has no end", end)
                end = string.end()
                continue
            depth += (self.text[end] in OPENING) - (self.text[end] in CLOSING)
            end += 1
            if not depth:
                break
            if depth > MAX_BRACKETS:
                self.fail(f"brackets are nested more than {MAX_BRACKETS} deep", end - 1)
        if depth or end == start:
            self.fail("expected a type or an attribute with balanced brackets")
        self.position = end
        return self.text[start:end]

    def type(self) -> Attribute:
        """``tile<4xf32>``, ``f32``, ...: a type without the dialect's prefix."""
        self.skip()
        start = self.position
        text = self.balanced()
        if text not in self.types:
            self.types[text] = self._parse(DIALECT_TYPE.sub(r"!cuda_tile.\1", text), Parser.parse_type, start)
        return self.types[text]

    def types_list(self) -> list[Attribute]:
        """Types between commas."""
        found = [self.type()]
        while self.accept(","):
            found.append(self.type())
        return found

    def attribute(self, prefix: str) -> Attribute:
        """An attribute whose dialect's prefix (and name, before a bare bracket) is left out."""
        self.skip()
        start = self.position
        return self._parse(f"#cuda_tile.{prefix}{self.balanced()}", Parser.parse_attribute, start)

    def bare_attribute(self) -> Attribute:
        """An attribute as MLIR spells it, with all prefixes."""
        self.skip()
        start = self.position
        return self._parse(self.balanced(), Parser.parse_attribute, start)

    def _parse(self, text: str, parse, start: int) -> Attribute:
        try:
            check_text(text)
            return parse(Parser(self.context, text))
        except InvalidInput as problem:
            self.fail(f"{shortened(text)!r} is not valid: {problem.message}", start)
        except Exception as problem:
            # A constructor that is given what its verifier would refuse may fail in any way.
            self.fail(f"{shortened(text)!r} is not valid: {reason(problem)}", start)


def shortened(text: str) -> str:
    """As much of a text as a message quotes."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
