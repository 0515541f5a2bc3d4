"""Human-readable sizes, in powers of 1,024."""

from __future__ import annotations

import re

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(?:([KMGT])(?:i?B)?|B)?", re.IGNORECASE | re.ASCII)


def size_text(size: float) -> str:
    """``size`` bytes: "0", "512 B", "99 KiB", "4.1 MiB"; three digits, four where they make it exact."""
    if not size:
        return "0"
    unit = 0
    while size >= 1024 and unit < len(UNITS) - 1:
        size, unit = size / 1024, unit + 1
    short, long = f"{size:.3g}", f"{size:.4g}"
    return f"{long if size >= 1000 or float(long) == size else short} {UNITS[unit]}"


def parse_size(text: str) -> int | None:
    """The bytes of "500MiB", "500M" or "2.5 GiB"; None if it is not a size."""
    if (found := _SIZE.fullmatch(text.strip())) is None:
        return None
    power = "BKMGT".index((found[2] or "B").upper())
    return int(float(found[1]) * 1024**power)
