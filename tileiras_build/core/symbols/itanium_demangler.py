"""Demangle the C++ names of kernels: ``_Z5scaleIfLi256EEvPKT_PS0_i`` is ``scale<float, 256>``.

A kernel of CUDA Tile C++ has a mangled symbol (Itanium C++ ABI, section 5.1), by which the driver finds it. Its display
name is the function with its template arguments, without the parameter types, which are redundant. Only the grammar of
such names is supported; any other symbol is unchanged.
"""

from __future__ import annotations

import re
import struct
from functools import cache

_BUILTIN = {
    "v": "void", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short", "t": "unsigned short",
    "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long", "y": "unsigned long long",
    "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double", "e": "long double", "w": "wchar_t",
    "Dh": "_Float16", "DF16_": "_Float16", "DF16b": "__bf16", "Du": "char8_t", "Ds": "char16_t", "Di": "char32_t",
}  # fmt: skip
_SUFFIXES = {"j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}  # of a literal
_PLAIN_LITERALS = frozenset("istjlmxy")
_FLOATS = {"f": ("f", 8, ">f"), "d": ("", 16, ">d")}  # suffix, digits of its bits, format of struct
_QUALIFIERS = {"P": "*", "R": "&", "O": "&&", "K": " const", "V": " volatile"}
_STANDARD = {"St": "std", "Sa": "std::allocator", "Sb": "std::basic_string", "Ss": "std::string"}
_NUMBER = re.compile(r"[0-9]+")


class _NotMangled(Exception):
    """A construct that does not occur in names of kernels."""


def symbol_of(entry: str) -> str:
    """The driver's name of a kernel of a library, which may prefix it with a folder."""
    return entry.rpartition("/")[2]


@cache
def demangle(symbol: str) -> str:
    """The display name of the kernel with this symbol; the symbol itself if it is not mangled.

    A folder prefix of a library is preserved.
    """
    folder, slash, own = symbol.rpartition("/")
    if slash:
        return f"{folder}/{demangle(own)}"
    if not symbol.startswith("_Z"):
        return symbol
    try:
        return _Demangler(symbol[2:]).encoding()
    except (_NotMangled, IndexError):
        return symbol


class _Demangler:
    """Parses one symbol from the left; ``known`` are the components for substitutions (S_, S0_)."""

    def __init__(self, text: str):
        self.text, self.at, self.known = text, 0, list[str]()

    def encoding(self) -> str:
        """The name of a function and its template arguments; its type follows."""
        if self._takes("N"):
            return self._nested()
        self._takes("L")  # a function with internal linkage
        return self._unscoped()

    # ---- the text
    def _takes(self, word: str) -> bool:
        found = self.text.startswith(word, self.at)
        self.at += len(word) if found else 0
        return found

    def _next(self) -> str:
        return self.text[self.at]

    def _note(self, name: str) -> str:
        if name not in self.known:
            self.known.append(name)
        return name

    # ---- names
    def _unscoped(self) -> str:
        name = f"std::{self._source()}" if self._takes("St") else self._source()
        if self._next_is("I"):
            self._note(name)
            name += self._arguments()
        return name

    def _next_is(self, word: str) -> bool:
        return self.text.startswith(word, self.at)

    def _nested(self) -> str:
        """The rest of ``N…E``; the whole name is a substitution if it names a type, but not if it names a function."""
        while self._takes("K") or self._takes("V"):
            pass
        name = ""
        while not self._takes("E"):
            name = self._name_part(name)
            if not self._next_is("E"):
                self._note(name)
        return name

    def _name_part(self, prefix: str) -> str:
        if self._next_is("I"):
            return prefix + self._arguments()
        if self._next_is("S"):
            return self._substitution()
        name = self._source()
        return f"{prefix}::{name}" if prefix else name

    def _source(self) -> str:
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            raise _NotMangled
        length = int(found[0])
        self.at = found.end() + length
        if self.at > len(self.text):
            raise _NotMangled
        name = self.text[found.end() : self.at]
        return "(anonymous namespace)" if name.startswith("_GLOBAL__N") else name

    def _substitution(self) -> str:
        for word, name in _STANDARD.items():
            if self._takes(word):
                return name
        found = re.compile(r"S([0-9A-Z]*)_").match(self.text, self.at)
        if found is None:
            raise _NotMangled
        self.at = found.end()
        return self.known[int(found[1], 36) + 1 if found[1] else 0]

    # ---- template arguments
    def _arguments(self) -> str:
        assert self._takes("I")
        found: list[str] = []
        while not self._takes("E"):
            found += self._pack() if self._takes("J") else [self._argument()]
        return f"<{', '.join(found)}>"

    def _pack(self) -> list[str]:
        found = []
        while not self._takes("E"):
            found.append(self._argument())
        return found

    def _argument(self) -> str:
        return self._literal() if self._takes("L") else self._type()

    def _literal(self) -> str:
        kind = self._next()
        if kind.isdigit() or kind in "NS":
            name = self._type()
            return f"({name}){self._digits()}"
        self.at += 1
        if kind in _FLOATS:
            return self._float(*_FLOATS[kind])
        value = self._digits()
        if kind == "b":
            return "true" if value == "1" else "false"
        if kind in _PLAIN_LITERALS:
            return value + _SUFFIXES.get(kind, "")
        return f"({_BUILTIN[kind]}){value}" if kind in _BUILTIN else self._fail()

    def _digits(self) -> str:
        end = self.text.index("E", self.at) if "E" in self.text[self.at :] else self._fail()
        value, self.at = self.text[self.at : end], int(end) + 1
        return value.replace("n", "-")

    def _float(self, suffix: str, digits: int, form: str) -> str:
        bits = self.text[self.at : self.at + digits]
        self.at += digits
        if not self._takes("E") or not re.fullmatch("[0-9a-f]+", bits):
            raise _NotMangled
        (value,) = struct.unpack(form, bytes.fromhex(bits))
        text = f"{value:.9g}" if suffix else repr(value)
        return f"{text}{'' if set(text) & set('.en') else '.0'}{suffix}"

    def _fail(self):
        raise _NotMangled

    def _type(self) -> str:
        for word, mark in _QUALIFIERS.items():
            if self._takes(word):
                return self._note(self._type() + mark)
        for word in sorted(_BUILTIN, key=len, reverse=True):
            if self._takes(word):
                return _BUILTIN[word]
        if self._takes("N"):
            return self._note(self._nested())
        if self._next_is("S") and not self._next_is("St"):
            return self._type_again()
        name = self._unscoped()
        return self._note(name)

    def _type_again(self) -> str:
        name = self._substitution()
        return self._note(name + self._arguments()) if self._next_is("I") else name
