"""A strict version of Python's check of compiled modules: a ``.pyc`` counts only if it is surely newer than its source.

Python compares whole seconds and the size, so an edit of the same length whose time is reset, or one within the same
second, would run the old code. The time of change (ctime) cannot be reset. In doubt, for example in a copied
environment, the module is compiled again, as Python does after an edit.
"""

from __future__ import annotations

import os
import sys
from importlib import machinery
from importlib.util import cache_from_source

from .audit_hooks import tracer
from .dependency_state import stamp

_LOADER = machinery.SourceFileLoader
_original = _LOADER.get_code


def install_pyc_check() -> None:
    """Install the check in this process."""

    def get_code(loader, name):
        source = loader.get_filename(name)
        tracer().file(source)
        if is_pyc_fresh(source) or not sys.dont_write_bytecode and _drop(cache_from_source(source)):
            return _original(loader, name)
        return loader.source_to_code(loader.get_data(source), source)

    setattr(_LOADER, _original.__name__, get_code)


def is_pyc_fresh(source: str) -> bool:
    """Whether the compiled module next to ``source`` is newer than the last change of ``source``."""
    found, compiled = stamp(source), stamp(cache_from_source(source))
    return found is None or compiled is not None and compiled[1] > found[1]


def _drop(compiled: str) -> bool:
    """Remove a compiled module; False if that is not allowed."""
    try:
        os.unlink(compiled)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
