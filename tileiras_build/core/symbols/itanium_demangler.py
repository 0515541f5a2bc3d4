"""The names of kernels in C++, for people: ``_Z5scaleIfLi256EEvPKT_PS0_i`` is ``scale<float, 256>``.

A kernel of CUDA Tile C++ has a mangled symbol (Itanium C++ ABI, section 5.1), which the driver is asked for. What people
call it is the function with its template arguments; its parameters, which the symbol holds too, say nothing more. Only
what such names are made of is read; a symbol with anything else in it stays as it is.
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
_FLOATS = {"f": ("f", 8, ">f"), "d": ("", 16, ">d")}  # suffix, digits of its bits, how struct reads them
_QUALIFIERS = {"P": "*", "R": "&", "O": "&&", "K": " const", "V": " volatile"}
_STANDARD = {"St": "std", "Sa": "std::allocator", "Sb": "std::basic_string", "Ss": "std::string"}
_NUMBER = re.compile(r"[0-9]+")


class _NotMangled(Exception):
    """Something that names of kernels are not made of."""


def symbol_of(entry: str) -> str:
    """What the driver calls a kernel of a library, which may call it by its folder too."""
    return entry.rpartition("/")[2]


@cache
def demangle(symbol: str) -> str:
    """What people call the kernel with this symbol; the symbol itself where it is no mangled name.

    A library may say in front of a symbol which folder the kernel is of: it stays there.
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
    """Reads one symbol from the left; ``known`` are the parts that substitutions (S_, S0_) name again."""

    def __init__(self, text: str):
        self.text, self.at, self.known = text, 0, list[str]()

    def encoding(self) -> str:
        """The name of a function and its template arguments; what follows is its type."""
        if self._takes("N"):
            return self._nested()
        self._takes("L")  # the function is the file's own
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
        """The rest of ``N…E``; the whole name is not a substitution where it is a function's, and is noted as a type's."""
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
