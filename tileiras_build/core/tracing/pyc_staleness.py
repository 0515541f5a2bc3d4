"""Python's own check of compiled modules, made certain: a ``.pyc`` counts only if it is surely newer than its source.

Python compares whole seconds and the size, so that an edit of the same length whose time is set back, or one within
the second, runs the old code. The time of change (ctime) cannot be set back. Where it leaves a doubt, as at first in
an environment that was copied, the module is compiled again, as Python does where it sees an edit.
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
    """From now on this process loads modules so."""

    def get_code(loader, name):
        source = loader.get_filename(name)
        tracer().file(source)
        if is_pyc_fresh(source) or not sys.dont_write_bytecode and _drop(cache_from_source(source)):
            return _original(loader, name)
        return loader.source_to_code(loader.get_data(source), source)

    setattr(_LOADER, _original.__name__, get_code)


def is_pyc_fresh(source: str) -> bool:
    """Whether the compiled module beside ``source`` was made after the last change of ``source``."""
    found, compiled = stamp(source), stamp(cache_from_source(source))
    return found is None or compiled is not None and compiled[1] > found[1]


def _drop(compiled: str) -> bool:
    """Remove a compiled module; False where that is not allowed."""
    try:
        os.unlink(compiled)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
