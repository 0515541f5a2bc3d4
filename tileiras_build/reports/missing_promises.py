"""What a build without aligned variants says after its table: the kernels whose arrays promise too little, and the remedy.

TMA and accesses of 16 bytes need addresses and strides that are multiples of 16 bytes. The launch manifest has what each array
promises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ..core.symbols.itanium_demangler import demangle
from ..manifest.launch_manifest import Argument, Launch, read_launch_manifest
from ..target.element_types import ELEMENT_TYPES
from .resource_usage import read_document

MAX_LISTED = 3  # kernels that are listed
WHOLE_BYTES = 16
_COST = "16-byte accesses and TMA need promises of"


def missing_promises(manifests: Iterable[Path]) -> list[str]:
    """A line for each kernel of these launch manifests; after MAX_LISTED a line with the number of the others."""
    found: dict[str, str] = {}
    for path in manifests:
        for name, launch in read_launch_manifest(read_document(path)).kernels.items():
            if wanted := ", ".join(_wanted(launch)):
                found.setdefault(name, f"{demangle(name)}: {_COST} {wanted}; or build with variants=1")
    lines = list(found.values())
    rest = len(lines) - MAX_LISTED
    return lines if rest <= 0 else [*lines[:MAX_LISTED], f"and {rest} more such kernel{'s' * (rest > 1)}"]


def _wanted(launch: Launch) -> Iterator[str]:
    """The missing promises as an ``Array`` has them, with the arrays that lack them."""
    lacking: dict[str, list[str]] = {}
    for argument in launch.arguments:
        if argument.kind == "array" and (promise := _lacks(argument, launch)):
            lacking.setdefault(promise, []).append(argument.name)
    return (f"{promise} ({', '.join(names)})" for promise, names in lacking.items())


def _lacks(argument: Argument, launch: Launch) -> str:
    first, *sizes = launch.params[argument.param : argument.param + argument.parameters]
    element = ELEMENT_TYPES.get(first.element or "")
    whole = WHOLE_BYTES * 8 // (element.bits if element is not None else 8)
    strides = [param for param in sizes if param.role == "stride" and param.value is None]
    parts = [f"alignment={WHOLE_BYTES}"] * (first.divisible_by % WHOLE_BYTES != 0)
    parts += [f"stride_divisible_by={whole}"] * any(param.divisible_by % whole for param in strides)
    return " ".join(parts)
