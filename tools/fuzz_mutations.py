"""Mutations of files: bytes, words, lines and integers changed, moved, repeated and removed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable


def damage_bytes(data: bytes, chance: random.Random) -> bytes:
    """The file with one to six pieces changed."""
    result = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        if not result:
            break
        chance.choice(BYTE_EDITS)(result, chance.randrange(len(result)), chance)
    return bytes(result)


def _set_number(data: bytearray, place: int, chance: random.Random) -> None:
    data[place : place + chance.choice((0, 1, 8))] = chance.choice(
        (b"\xff" * 9 + b"\x01", b"\x7f", b"\xff" * 8, bytes(8))
    )


def _copy_piece(data: bytearray, place: int, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    data[place:place] = data[start : start + chance.randint(1, 64)]


BYTE_EDITS: tuple[Callable[[bytearray, int, random.Random], None], ...] = (
    lambda data, place, chance: data.__setitem__(place, chance.randrange(256)),
    lambda data, place, chance: data.__setitem__(place, data[place] ^ 1 << chance.randrange(8)),
    lambda data, place, chance: data.insert(place, chance.randrange(256)),
    lambda data, place, chance: data.__delitem__(slice(place, place + chance.randint(1, 8))),
    lambda data, place, chance: data.__delitem__(slice(place, None)) if chance.random() < 0.2 else None,
    _set_number,
    _copy_piece,
)

WORD = re.compile(rb"\w+|\s+|[^\w\s]")
STRANGE = (
    *(b"0", b"-1", b"3", b"9223372036854775808", b"18446744073709551616", b"1" * 400, b"1e999", b"nan", b"0x"),
    *(
        b'"',
        b'"' + b"a" * 60,
        b"\\",
        b"{" * 300,
        b"(" * 300,
        b"<" * 300,
        b"[" * 300,
        b"}",
        b")",
        b">",
        b"\0",
        b"\xc3\xa9",
    ),
    *(
        b"",
        b" ",
        b"\n",
        b"%0",
        b"@k",
        b"!0",
        b"#",
        b"//",
        b"i1",
        b"f64",
        b"4x",
        b"null",
        b"[]",
        b"{}",
        b"true",
        b"\xff",
    ),
)


def damage_text(data: bytes, chance: random.Random) -> bytes:
    """The text with one to four words or lines changed, moved or repeated; a few times as bytes."""
    way = chance.random()
    if way < 0.1:
        return damage_bytes(data, chance)
    if way < 0.3:
        return b"\n".join(_damaged_lines(data.split(b"\n"), chance))
    if way < 0.6:
        return _other_number(data, chance)
    words = WORD.findall(data) or [b""]
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(words))
        words[place] = chance.choice(
            (*STRANGE, words[chance.randrange(len(words))], words[chance.randrange(len(words))])
        )
    return b"".join(words)


def _other_number(data: bytes, chance: random.Random) -> bytes:
    """What still parses is what reaches the passes behind the parser."""
    places = [found.span() for found in re.finditer(rb"(?<![\w%#!.])-?\d+(?![\w.])", data)]
    if not places:
        return data
    start, end = chance.choice(places)
    number = int(data[start:end])
    others = (0, 1, -1, number + 1, number - 1, number * 2, number // 2, -number, number << 20, 1 << 31, 1 << 63)
    return data[:start] + str(chance.choice(others)).encode() + data[end:]


def _damaged_lines(lines: list[bytes], chance: random.Random) -> list[bytes]:
    for _ in range(chance.randint(1, 3)):
        start = chance.randrange(len(lines))
        piece = lines[start : start + chance.randint(1, 4)]
        if chance.random() < 0.5:
            lines[start : start + len(piece)] = []
        to = chance.randrange(len(lines) + 1)
        lines[to:to] = piece * (chance.choice((0, 1, 1, 2)))
        lines = lines or [b""]
    return lines


def damage_one_byte(data: bytes, chance: random.Random) -> bytes:
    """A bit or a byte is another: what a file's lengths and offsets say still holds."""
    result = bytearray(data)
    place = chance.randrange(len(result)) if result else 0
    for edit in BYTE_EDITS[:2] if result else ():
        if chance.random() < 0.7:
            edit(result, place, chance)
    return bytes(result)


def damage_any(data: bytes, chance: random.Random) -> bytes:
    return chance.choice((damage_bytes, damage_text))(data, chance)
