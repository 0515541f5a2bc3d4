"""Symbols of a module."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation


def has_stem(operation: llvm.GlobalOp, stem: str) -> bool:
    """Whether a global's name was generated from a stem."""
    name = operation.sym_name.data
    return name == stem or name.startswith(f"{stem}_")


def symbol(table: Operation, name: str) -> Operation | None:
    """The operation of a symbol table with this name."""
    for operation in table.regions[0].blocks[0].ops:
        label = operation.properties.get("sym_name") or operation.attributes.get("sym_name")
        if isinstance(label, StringAttr) and label.data == name:
            return operation
    return None
