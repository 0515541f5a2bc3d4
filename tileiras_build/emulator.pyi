"""``tileiras_build.emulator`` is ``tileiras_build.simulate.emulator`` (``ALIASES`` in ``__init__.py``); this file tells type checkers."""

from .simulate.emulator import *
