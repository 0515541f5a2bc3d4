"""Debug metadata: ``debuginfo`` operations on source variables, and their form in the LLVM dialect.

``LLVM_OPERATIONS`` and ``DEBUG_ATTRS`` are the latter; ``llvm_ext.py`` adds them to the ``llvm`` dialect.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .attrs import DEBUG_ATTRS
from .ops import DEBUGINFO_OPERATIONS, LLVM_OPERATIONS, ValueType, VariableAttr

__all__ = ["DEBUG_ATTRS", "LLVM_OPERATIONS", "DebugInfo"]

DebugInfo = Dialect("debuginfo", list(DEBUGINFO_OPERATIONS), [VariableAttr, ValueType])
