"""Exports kernels in a process that is to be forked for others: a fork has what the first exports take time for.

That is what Python and libraries set up at first use: caches of attributes and patterns, modules that a function imports.
Of what cuTile itself keeps, only answers stay that a kernel file cannot change before it asks.
"""

from __future__ import annotations

import sys
from pathlib import Path

from .export_cutile import export_kernels

_KERNELS = Path(__file__).with_name("warm_up_kernels.py")
# What a function of cuTile's or a type alone decides, and which modules the namespace ``cuda`` has.
_KEPT = frozenset(("get_function_hir", "get_dataclass_info", "_get_dtype_spec", "get_preview_foreign_call_type"))


def warm_up() -> None:
    """Do so."""
    export_kernels(_KERNELS)
    _forget(_KEPT)


def forget_namespace() -> None:
    """Forget which modules ``cuda`` has: a project has a part of it, which is found behind all that is installed."""
    _forget(_KEPT - {"get_preview_foreign_call_type"})


def _forget(kept: frozenset[str]) -> None:
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("cuda.tile")]
    for name, function in [item for module in modules for item in vars(module).items()]:
        if name not in kept and callable(clear := getattr(function, "cache_clear", None)):
            clear()
