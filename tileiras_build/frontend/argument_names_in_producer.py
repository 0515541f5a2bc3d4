"""Names and ranks of a kernel's arguments, stored in the bytecode's producer string.

    tileiras-build {"saxpy": {"arguments": [["factor"], ["x", 2], ["out", 2, 1]], "grid": ["rows", "tiles of 256"]}}

Bytecode has no names of parameters, and its producer is any string. An argument with a rank is an array: 1 + 2n parameters,
its address, lengths and strides; the value after the rank is the axis whose stride is assumed to be 1. ``grid`` describes each
axis of the launch grid, where that is known. ``variant_of`` names the kernel with fewer assumptions in whose place this one
may be launched; ``variants`` allows the compiler to add such kernels. ``tuning`` is the point of the case's space that was
exported, and who chose it (``tuning_choices.py``). Kernels of nvcc, whose producer string is its version, have no names of
arguments, and may have variants.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

PRODUCER = "tileiras-build "
NVCC = "Cuda compilation tools, "  # as in the output of nvcc --version


@dataclass(frozen=True)
class Argument:
    """An argument of a launch; ``rank`` of an array, None of a scalar; ``unit_axis`` has stride 1."""

    name: str
    rank: int | None = None
    unit_axis: int | None = None

    @property
    def parameters(self) -> int:
        """The number of kernel parameters that it takes."""
        return 1 if self.rank is None else 1 + 2 * self.rank


class Programs(NamedTuple):
    """Grids of ``least`` to ``most`` tile programs, where the parameter of index ``parameter`` (None: any) is at least ``minimum``."""

    least: int
    most: int
    parameter: int | None = None
    minimum: int = 0


@dataclass(frozen=True)
class Signature:
    """The arguments of a launch in order (None: unknown), and a description of each axis of its grid; a variant names its kernel.

    ``tuning`` is present if the case has a space of constants and hints. ``variants``: the compiler may add variants. A variant may be
    for some grids, ``programs``, only. ``later``: the launcher has split-K variants compiled when a launch asks for them, by the CTAs of a tile
    program; 1: the kernel, for which the compiler states ``split_k``, these CTAs and the grids of each variant. 0: variants are compiled at once.
    """

    arguments: tuple[Argument, ...] | None
    grid: tuple[str, ...] = ()
    variant_of: str | None = None
    tuning: Mapping[str, Any] | None = None
    variants: bool = False
    programs: tuple[Programs, ...] = ()
    later: int = 0
    split_k: tuple[tuple[int, tuple[Programs, ...]], ...] = ()

    @property
    def parameters(self) -> int:
        """The number of kernel parameters of all arguments."""
        return sum(argument.parameters for argument in self.arguments or ())


def render(signatures: Mapping[str, Signature]) -> str:
    """The producer string of a file with these kernels."""
    return PRODUCER + json.dumps({entry: _row(signature) for entry, signature in signatures.items()})


def signature_note(producer: str, entry: str) -> str | None:
    """The note of one kernel as ``parse`` takes it; None where the producer has none."""
    if producer.startswith(NVCC):
        return note_of(Signature(None, variants=True))
    if not producer.startswith(PRODUCER):
        return None
    try:
        row = json.loads(producer.removeprefix(PRODUCER))[entry]
    except (ValueError, KeyError, TypeError):
        return None
    return json.dumps(row)


def note_of(signature: Signature) -> str:
    """The note of one kernel that ``parse`` takes."""
    return json.dumps(_row(signature))


def is_variant(producer: str, entry: str) -> bool:
    """Whether a kernel of a file with this producer string is a variant of another one."""
    note = signature_note(producer, entry)
    signature = None if note is None else parse(note)
    return signature is not None and signature.variant_of is not None


def parse(note: str) -> Signature | None:
    """The signature in a note; None for a producer of any other format."""
    try:
        row = json.loads(note)
        arguments = None if row["arguments"] is None else tuple(Argument(*fields) for fields in row["arguments"])
        grid, variants = tuple(row.get("grid", ())), row.get("variants", False)
        programs, later = _programs(row.get("programs", ())), row.get("later", 0)
        split_k = tuple((ctas, _programs(rows)) for ctas, rows in row.get("split_k", ()))
        signature = Signature(
            arguments, grid, row.get("variant_of"), row.get("tuning"), variants, programs, later, split_k
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return signature if _well_formed(signature) else None


def _row(signature: Signature) -> dict:
    rows = [(one.name, one.rank, one.unit_axis) for one in signature.arguments or ()]
    arguments = {"arguments": [[part for part in row if part is not None] for row in rows]}
    grid = {"grid": list(signature.grid)} if signature.grid else {}
    names = ("variant_of", "variants", "tuning", "programs", "later", "split_k")
    more = {name: getattr(signature, name) for name in names}
    return (
        (arguments if signature.arguments is not None else {"arguments": None})
        | grid
        | {name: value for name, value in more.items() if value}
    )


def _programs(rows: Any) -> tuple[Programs, ...]:
    return tuple(Programs(*fields) for fields in rows)


def _all_programs(signature: Signature) -> Iterator[Programs]:
    yield from signature.programs
    for _, programs in signature.split_k:
        yield from programs


def _well_formed(signature: Signature) -> bool:
    arguments = signature.arguments or ()
    names = [argument.name for argument in arguments]
    words = [*names, *signature.grid]
    ranks = [argument.rank for argument in arguments if argument.rank is not None]
    axes = [(argument.unit_axis, argument.rank) for argument in arguments if argument.unit_axis is not None]
    return (
        isinstance(signature.variant_of, str | None)
        and isinstance(signature.tuning, Mapping | None)
        and isinstance(signature.variants, bool)
        and isinstance(signature.later, int)
        and all(isinstance(ctas, int) for ctas, _ in signature.split_k)
        and all(isinstance(number, int | None) for one in _all_programs(signature) for number in one)
        and all(isinstance(word, str) for word in words)
        and all(name.isidentifier() and name.isascii() for name in names)
        and len(set(names)) == len(names)
        and all(isinstance(rank, int) and rank >= 0 for rank in ranks)
        and all(isinstance(axis, int) and 0 <= axis < (rank or 0) for axis, rank in axes)
    )
