"""Parse untrusted MLIR text: check it before xDSL parses it, and report any fault as one diagnostic.

xDSL's pattern of a string, ``"(a+|b)*"``, backtracks exponentially if the closing quote is missing, and its parser
recurses for each bracket, up to the interpreter's recursion limit. So one pass over the text rejects unterminated
strings, and brackets nested deeper than in any kernel. An attribute's constructor may raise any exception for values
that its parser accepts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from tileiras_build.core.errors import InvalidInput, Location, TileirasError, exception_text

MAX_BRACKETS = 160  # 64 regions of bytecode are two brackets each in generic form; attributes are inside them

T = TypeVar("T")
_PIECE = re.compile(r'//[^\n]*|->|["<({\[\])}>]')
_STRING = re.compile(r'"[^"\\\n\v\f]*(?:\\(?:["nt\\]|[0-9A-Fa-f]{2})[^"\\\n\v\f]*)*"')
_OPENING, _CLOSING = frozenset("<({["), frozenset(">)}]")
MAX_REASON = 400  # characters of a reason: some contain the whole text


def check_text(text: str, name: str | None = None) -> None:
    """Raise InvalidInput with line and column for an unterminated string, or brackets nested too deep."""
    position = depth = 0
    while (piece := _PIECE.search(text, position)) is not None:
        position, word = piece.end(), piece[0]
        if word == '"':
            if (string := _STRING.match(text, piece.start())) is None:
                raise parse_error(
                    "a string does not end on its line, or has an unknown escape", text, piece.start(), name
                )
            position = string.end()
        elif word in _OPENING:
            depth += 1
            if depth > MAX_BRACKETS:
                raise parse_error(f"brackets are nested more than {MAX_BRACKETS} deep", text, piece.start(), name)
        elif word in _CLOSING:
            depth = max(depth - 1, 0)


def parse_or_raise(make: Callable[[], Parser], read: Callable[[Parser], T], text: str, name: str | None = None) -> T:
    """The result of ``read`` with the parser that ``make`` creates for ``text``; any exception becomes InvalidInput."""
    check_text(text, name)
    parser = None
    try:
        # The parser reads the first token when it is created.
        parser = make()
        return read(parser)
    except TileirasError:
        raise
    except ParseError as error:
        raise parse_error(f"cannot parse: {error_reason(error.msg)}", text, error.span.start, name) from error
    except VerifyException as error:
        message = f"the module does not verify: {error_reason(error)}"
        raise parse_error(message, text, _position(parser), name, "ir-invalid") from error
    except Exception as error:
        message = f"cannot parse: {type(error).__name__}: {error_reason(error)}"
        raise parse_error(message, text, _position(parser), name) from error


def _position(parser: Parser | None) -> int:
    return 0 if parser is None else parser.pos


def parse_error(message: str, text: str, position: int, name: str | None, id: str = "parse-failed") -> InvalidInput:
    """``message`` with the line and column of a position in the text."""
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return InvalidInput(id, message, location=Location(name, line, column))


def error_reason(error: object) -> str:
    """The last line of a message with xDSL's source excerpts, which is the reason."""
    text = exception_text(error) if isinstance(error, BaseException) else str(error)
    lines = [line.strip() for line in text.splitlines() if re.search(r"\w", line)]
    return lines[-1][:MAX_REASON] if lines else "unknown reason"


def escape(text: str) -> str:
    """A string literal as MLIR prints it: bytes that are not printable ASCII as two hexadecimal digits."""

    def one(byte: int) -> str:
        if byte == 0x5C:
            return "\\\\"
        return chr(byte) if 0x20 <= byte < 0x7F and byte != 0x22 else f"\\{byte:02X}"

    return '"' + "".join(map(one, text.encode())) + '"'


def identifier(name: str) -> str:
    """A name, quoted unless it is an identifier."""
    return name if re.fullmatch(r"[A-Za-z_][\w$.]*", name, re.ASCII) else escape(name)
