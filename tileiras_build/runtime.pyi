"""``tileiras_build.runtime`` is ``tileiras_build.launch.runtime`` (``ALIASES`` in ``__init__.py``); this file tells type checkers."""

from .launch.runtime import *
