"""The scanner of Tile IR text: keywords, values, types and attributes, with errors at line and column."""

from __future__ import annotations

import re
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Attribute
from xdsl.parser import Parser

from tileiras_build.core.errors import InvalidInput, Location
from tileiras_build.ir.dialects.checked_mlir_parser import check_text, error_reason
from tileiras_build.ir.dialects.cuda_tile import CudaTile

BLANK = re.compile(r"(?:\s+|//[^\n]*)*")
BLANKS = " \n\t\r\f\v/"
KEYWORD = re.compile(r"[A-Za-z_][\w$.]*")
VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
INTEGER = re.compile(r"-?\d+")
NUMBER = re.compile(r"true|false|-?0x[0-9A-Fa-f]+|-?(?:\d+\.?\d*(?:[eE][-+]?\d+)?)")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
ESCAPE = re.compile(rb"\\(?:([0-9A-Fa-f]{2})|(.))", re.DOTALL)
SHOWN = 100  # characters
MAX_DIGITS = 128
DIALECT_TYPES = "tile|ptr|tensor_view|partition_view|strided_view|gather_scatter_view|token"
DIALECT = "cuda_tile."
# A name with a dot is one of a dialect; not inside strings.
ALIAS = re.compile(r"[#!][A-Za-z_][\w$-]*+(?!\.)")
NAMED = re.compile(rf'"(?:[^"\\]|\\.)*"|{ALIAS.pattern}')
DEFINITION = re.compile(rf"{ALIAS.pattern}\s*=(?!=)\s*")
TOKEN = re.compile(rf'//[^\n]*|"(?:[^"\\]|\\.)*"|[{{}}]|(?P<alias>{ALIAS.pattern})\s*=(?!=)')
MAX_EXPANDED = 1 << 16  # characters of a type or attribute after expansion of aliases
ELEMENT_TYPES = "fnv8E5M3FNU"
# An x may come before: 4xptr<f32>.
DIALECT_TYPE = re.compile(rf"(?<![A-Za-wyz_.!])((?:{DIALECT_TYPES})(?=\s*<|\W*$)|(?:{ELEMENT_TYPES})\b)")
SPACED_TOKENS = re.compile(rf"(?:!?{re.escape(DIALECT)})?(?:{DIALECT_TYPES})(\s+)(?=<)")  # tile <f32>
MAX_BRACKETS = 64  # of one type or attribute; views of tensor views of pointers are 4
OPENING, CLOSING = ("<", "(", "[", "{"), (">", ")", "]", "}")
BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|->|[<(\[{>)\]},]')


class Scanner:
    """Reads text from left to right; skips blanks and comments."""

    LABEL = re.compile(r"[\w$.-]+")

    def __init__(self, text: str, name: str | None = None):
        self.text, self.name, self.position = text, name, 0
        self.types: dict[str, Attribute] = {}
        self.aliases: dict[str, str] = {}  # alias -> definition, as text
        self.alias_places: dict[str, int] = {}  # alias -> position of the definition
        self.context = Context()
        self.context.load_dialect(Builtin)
        self.context.load_dialect(CudaTile)

    def location(self, position: int) -> Location:
        before = self.text[:position]
        return Location(self.name or "<text>", before.count("\n") + 1, len(before) - before.rfind("\n"))

    def fail(self, message: str, position: int | None = None, *, id: str = "asm-syntax") -> NoReturn:
        """Raise InvalidInput, by default at the current position."""
        raise InvalidInput(id, message, location=self.location(self.position if position is None else position))

    def skip(self) -> None:
        if self.text[self.position : self.position + 1] not in BLANKS:
            return  # the usual case
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
        """Consume ``text`` if it is next; a word must not be a prefix of a longer one."""
        if not self.at(text):
            return False
        end = self.position + len(text)
        if KEYWORD.fullmatch(text) and end < len(self.text) and re.match(r"[\w$.]", self.text[end]):
            return False
        self.position = end
        return True

    def at_keywords(self, *words: str) -> bool:
        """Whether all these are next."""
        start = self.position
        found = all(map(self.accept, words))
        self.position = start
        return found

    def skip_aliases(self) -> None:
        """Skip alias definitions, which ``find_aliases`` has recorded."""
        while (found := self._definition()) is not None:
            self.position = found.end()
            self.balanced()

    def _definition(self) -> re.Match | None:
        self.skip()
        return DEFINITION.match(self.text, self.position)

    def expect(self, text: str) -> None:
        """Consume each blank-separated part of ``text``."""
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

    def keyword(self, what: str = "a word") -> str:
        return self.match(KEYWORD, what)

    def integer(self, bits: int = 64) -> int:
        """A signed integer of ``bits`` bits."""
        self.skip()
        start = self.position
        number = self.float_literal(self.match(INTEGER, "an integer"), start)
        if not -(1 << bits - 1) <= number < 1 << bits - 1:
            self.fail(f"{shortened(str(number))} does not fit in {bits} bits", start)
        return number

    def float_literal(self, text: str, start: int) -> int:
        """The value of an integer literal; a literal with more digits than Python parses fits no type."""
        if len(text) > MAX_DIGITS:
            self.fail(f"{shortened(text)} is longer than any integer", start)
        return int(text, 16 if "0x" in text else 10)

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
        return self.string() if self.text.startswith('"', self.position) else self.keyword("a symbol name")

    def balanced(self) -> str:
        """A word, if there is one, and brackets after it with their contents."""
        self.skip()
        start, depth = self.position, 0
        word = SPACED_TOKENS.match(self.text, start) or KEYWORD.match(
            self.text, start + self.text.startswith(("!", "#"), start)
        )
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
            plain = DIALECT_TYPE.sub(r"!cuda_tile.\1", self.expanded(text, start))
            self.types[text] = self._parse(plain, Parser.parse_type, start)
        return self.types[text]

    def expanded(self, text: str, start: int, depth: int = 0) -> str:
        """A type or an attribute with its aliases expanded."""

        def definition(found: re.Match) -> str:
            name = found[0]
            if name.startswith('"'):
                return name
            if name not in self.aliases:
                self.fail(f"{name} is not defined", start)
            if depth >= MAX_BRACKETS:
                self.fail(f"{name} is an alias that nests more than {MAX_BRACKETS} deep, or contains itself", start)
            return self.expanded(self.aliases[name], start, depth + 1)

        result = NAMED.sub(definition, text)
        if len(result) > MAX_EXPANDED:
            self.fail(f"the aliases in {shortened(text)!r} expand to more than {MAX_EXPANDED} characters", start)
        return result

    def types_list(self) -> list[Attribute]:
        """Types between commas."""
        found = [self.type()]
        while self.accept(","):
            found.append(self.type())
        return found

    def attribute(self, prefix: str) -> Attribute:
        """An attribute whose dialect's prefix (and name, before a bare bracket) may be omitted."""
        self.skip()
        start = self.position
        text = self.expanded(self.balanced(), start)
        return self._parse(text if text.startswith("#") else f"#{DIALECT}{prefix}{text}", Parser.parse_attribute, start)

    def bare_attribute(self) -> Attribute:
        """An attribute in MLIR's syntax, with all prefixes."""
        self.skip()
        start = self.position
        return self._parse(self.expanded(self.balanced(), start), Parser.parse_attribute, start)

    def whole_attribute(self) -> Attribute:
        """An attribute in a list or a dictionary, with its type if it has one."""
        self.skip()
        start, depth, end = self.position, 0, len(self.text)
        for piece in BRACKET.finditer(self.text, start):
            depth += (piece[0] in OPENING) - (piece[0] in CLOSING)
            if depth < 0 or (depth == 0 and piece[0] == ","):
                end = piece.start()
                break
        self.position = end
        return self._parse(self.expanded(self.text[start:end], start), Parser.parse_attribute, start)

    def find_aliases(self) -> None:
        """Record every ``#name = ...`` and ``!name = ...`` outside of braces, before or after its uses."""
        depth = 0
        while (piece := TOKEN.search(self.text, self.position)) is not None:
            self.position = piece.end()
            depth += (piece[0] == "{") - (piece[0] == "}")
            if piece["alias"] and depth == 0:
                self._define_alias(piece["alias"], piece.start())
        self.position = 0

    def _define_alias(self, name: str, start: int) -> None:
        if name in self.aliases:
            self.fail(f"{name} is defined twice", start)
        self.skip()
        begin = self.position
        self.aliases[name] = self.balanced()
        self.alias_places[name] = begin

    def _parse(self, text: str, parse, start: int) -> Attribute:
        try:
            check_text(text)
            return parse(Parser(self.context, text))
        except InvalidInput as problem:
            self.fail(f"{shortened(text)!r} is not valid: {problem.message}", start)
        except Exception as problem:
            # A constructor may raise any exception for values that its verifier would reject.
            self.fail(f"{shortened(text)!r} is not valid: {error_reason(problem)}", start)


def shortened(text: str) -> str:
    """A text, shortened for a message."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
