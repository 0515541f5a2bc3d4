"""``tileiras_build.cases`` is ``tileiras_build.frontend.cases_api`` (``ALIASES`` in ``__init__.py``); this file tells type checkers."""

from .frontend.cases_api import *
