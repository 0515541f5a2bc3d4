"""``tileiras_build.scons_tool`` is ``tileiras_build.build`` (``ALIASES`` in ``__init__.py``); this file tells type checkers."""

from .build import *
