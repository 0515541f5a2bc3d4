"""Enables the parent's device: Python runs this file at its start, as its folder is in PYTHONPATH."""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _next() -> None:
    """Run the environment's own ``sitecustomize``, which this file hides."""
    import importlib

    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _HERE]
    own = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError:
        if own is not None:
            sys.modules["sitecustomize"] = own


_next()
if os.environ.get("TILEIRAS_CUTILE_INHERITED"):
    from tileiras_build.cutile.child_processes import enable_from_environment

    enable_from_environment()
