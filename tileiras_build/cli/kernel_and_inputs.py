"""The kernel and the inputs that the options of ``run`` and ``verify`` describe."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..simulate.interpreter.derive_inputs import Inputs


def read_kernels(options: argparse.Namespace, bytecode: bytes, variants: bool = False) -> tuple[ModuleOp, list[str]]:
    """The module of the file's bytecode, and the entries that the options select: with ``variants`` also those of kernels."""
    from ..frontend.argument_names_in_producer import is_variant
    from ..ir.bytecode import read_module
    from ..simulate.interpreter import entry_names

    module = read_module(bytecode, options.file)
    if options.entry:
        return module, [options.entry]
    producer = getattr(next(iter(module.body.block.ops)).properties.get("producer"), "data", "")
    return module, [name for name in entry_names(module) if variants or not is_variant(producer, name)]


def make_inputs(
    options: argparse.Namespace, module: ModuleOp, entry: str, run: Callable[[Inputs], Any]
) -> tuple[Inputs, Any]:
    """Inputs of ``entry`` and the result of ``run`` for them.

    Without ``--arg`` they are derived: candidates are tried until ``run`` accepts one.
    """
    from ..simulate.interpreter.derive_inputs import usable_inputs
    from ..simulate.interpreter.parse_arguments import bind_arguments, parse_grid

    grid = parse_grid(options.grid) if options.grid else None
    if not options.arg:
        return usable_inputs(module, entry, run, options.seed, grid)
    inputs = bind_arguments(module, entry, options.arg, grid or (1, 1, 1))
    return inputs, run(inputs)
