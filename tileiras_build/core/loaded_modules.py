"""What has come into ``sys.modules``, found without a look at each module: a fork copies the memory that it looks at."""

from __future__ import annotations

import sys
from itertools import islice

_SEEN = 8  # how many of the names of before are compared
_latest: LoadedModules | None = None


class LoadedModules:
    """The names of the modules that are loaded now."""

    def __init__(self) -> None:
        self._names = frozenset(sys.modules)
        self._last = _last(_SEEN)

    def is_current(self) -> bool:
        """Whether none has come since."""
        return len(sys.modules) == len(self._names) and _last(_SEEN) == self._last

    def added(self) -> list[str]:
        """The names that have come since. They are the last, in front of which the last ones of before still are; else
        modules were taken out meanwhile."""
        more = max(0, len(sys.modules) - len(self._names))
        new, before = (found := _last(more + _SEEN))[:more], found[more:]
        if before == self._last and self._names.isdisjoint(new):
            return new
        return [name for name in sys.modules if name not in self._names]


def _last(count: int) -> list[str]:
    return list(islice(reversed(sys.modules), count))


def loaded_modules() -> LoadedModules:
    """Those that are loaded now."""
    global _latest
    if _latest is None or not _latest.is_current():
        _latest = LoadedModules()
    return _latest
