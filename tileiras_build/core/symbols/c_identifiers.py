"""Names of kernels in C: their symbols if those are C identifiers, else derived from their C++ names.

``scale<float, 256>`` is ``scale_float_256``. Only the driver needs the mangled symbol. If two C++ kernels would have
one name, such as those of one template with different parameter types, each gets a few digits of its symbol's hash: no
name depends on the order of the kernels, or on unrelated kernels. A kernel that a library names with its folder has the
folder as a prefix: ``part/add`` is ``part_add``, ``./add`` is ``add``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from .itanium_demangler import demangle

_DIGITS = 6  # of a hash; names that still collide are rejected like any others
# Separators in C++ names, and their replacements in C names.
_REPLACEMENTS = {"&&": " rvalue ", "&": " reference ", "*": " pointer ", "-": " minus ", ".": "p", "+": ""}
_REPLACED = re.compile("|".join(map(re.escape, _REPLACEMENTS)))
# Keywords of C (to C23) and C++ (to C++26), `asm` and `typeof` of GNU C, and words of the preprocessor.
KEYWORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await co_return "
    "co_yield compl concept const const_cast consteval constexpr constinit continue contract_assert decltype default defined delete "
    "do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace new "
    "noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict return short "
    "signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename "
    "typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq".split()
)
# Macros of nearly every program: these names are usable with an underscore. Headers suspend other macros.
_MACROS = frozenset("unix linux errno stdin stdout stderr assert NULL INT_MAX grid stream".split())
_RESERVED = re.compile("_[A-Z_].*")  # reserved for compilers and their libraries, which warn about uses


def c_identifiers(symbols: Iterable[str]) -> dict[str, str]:
    """Symbol -> the kernel's name in C. Names that are not mangled may still be equal (``a$b``, ``a_b``)."""
    names = {symbol: _identifier(symbol) for symbol in symbols}
    shared = list(names.values())
    return {
        symbol: f"{name}_{_hash(symbol)}" if shared.count(name) > 1 and (is_mangled(symbol) or "/" in symbol) else name
        for symbol, name in names.items()
    }


def c_identifier(name: str) -> str:
    """A name as a valid identifier of C and C++, even if it is a keyword or a macro: ``int_``, ``arg_FILE``."""
    if is_reserved(name):
        return "_".join(["arg", *filter(None, name.split("_"))])
    return f"{name}_" if name in KEYWORDS or name in _MACROS else name


def is_reserved(name: str) -> bool:
    """Whether C and C++ reserve a name for compilers and their libraries."""
    return _RESERVED.fullmatch(name) is not None


def is_mangled(symbol: str) -> bool:
    """Whether the symbol is a mangled C++ name."""
    return demangle(symbol) != symbol


def _identifier(symbol: str) -> str:
    folder, slash, own = symbol.rpartition("/")
    if slash:
        parts = [re.sub(r"\W", "_", part, flags=re.ASCII) for part in folder.split("/") if part != "."]
        name = "_".join([*parts, _identifier(own)])
        return f"in_{name}" if name[0].isdigit() else name
    if not is_mangled(symbol):
        return re.sub(r"\W", "_", symbol, flags=re.ASCII)
    text = _REPLACED.sub(lambda found: _REPLACEMENTS[found[0]], demangle(symbol))
    return "_".join(re.findall(r"\w+", text, flags=re.ASCII))


def _hash(symbol: str) -> str:
    return hashlib.sha256(symbol.encode()).hexdigest()[:_DIGITS]
