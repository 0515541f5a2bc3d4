"""``tileiras_build.errors`` is ``tileiras_build.core.errors`` (``ALIASES`` in ``__init__.py``); this file tells type checkers."""

from .core.errors import *
