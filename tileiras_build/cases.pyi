"""``tileiras_build.cases`` is ``tileiras_build.frontend.kernel_case_api`` (``ALIASES`` in ``__init__.py``); this file tells type checkers."""

from .frontend.kernel_case_api import *
