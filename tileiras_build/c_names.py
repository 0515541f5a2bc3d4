"""What kernels are called in C: their symbols where these are names of C, else made of what C++ calls them.

``scale<float, 256>`` is ``scale_float_256``. Only the driver is asked for the mangled symbol. Where two kernels of C++
would have one name, as those of one template whose parameters differ, each gets a few digits of its symbol's hash: no
name depends on the order of the kernels, nor on which other ones there are that have no part in it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from .cpp_names import readable

_DIGITS = 6  # of a hash; names that collide with them too are refused as others are
# What C++ writes between words, and what a name of C says instead.
_WORDS = {"&&": " rvalue ", "&": " reference ", "*": " pointer ", "-": " minus ", ".": "p", "+": ""}
_WORD = re.compile("|".join(map(re.escape, _WORDS)))


def c_names(symbols: Iterable[str]) -> dict[str, str]:
    """Symbol -> the kernel's name in C. Names that C++ has not mangled may still be alike (``a$b``, ``a_b``)."""
    names = {symbol: _identifier(symbol) for symbol in symbols}
    shared = list(names.values())
    return {
        symbol: f"{name}_{_hash(symbol)}" if shared.count(name) > 1 and is_mangled(symbol) else name
        for symbol, name in names.items()
    }


def is_mangled(symbol: str) -> bool:
    """Whether C++ calls the kernel otherwise than the driver does."""
    return readable(symbol) != symbol


def _identifier(symbol: str) -> str:
    if not is_mangled(symbol):
        return re.sub(r"\W", "_", symbol, flags=re.ASCII)
    text = _WORD.sub(lambda found: _WORDS[found[0]], readable(symbol))
    return "_".join(re.findall(r"\w+", text, flags=re.ASCII))


def _hash(symbol: str) -> str:
    return hashlib.sha256(symbol.encode()).hexdigest()[:_DIGITS]
