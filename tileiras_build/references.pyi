"""``tileiras_build.references`` is ``tileiras_build.verify`` (``ALIASES`` in ``__init__.py``); this file tells type checkers."""

from .verify import *
