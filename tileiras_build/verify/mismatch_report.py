"""The words for a kernel that does not compute its reference: one sentence, then a line per element that is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..core.errors import InternalError, InvalidInput, Location, TileirasError
from .compare_arrays import ArrayMismatch, WrongElement
from .find_storing_block import Block, Element


@dataclass(frozen=True)
class Verdict:
    """Whose fault it is, in words, by what the interpreter has left."""

    message: str
    remedy: str
    is_compiler_fault: bool = False


KERNEL = "correct the kernel, or its reference (or its tolerance, where the numbers are near)"
REPORT = "report it: the compiler is wrong"
SAME_AS_INTERPRETER = Verdict(
    "the interpreter of Tile IR gives the same numbers: the kernel's algorithm is not the reference's", KERNEL
)
DIFFERENT = Verdict(
    "the interpreter of Tile IR differs from it too, and gives other numbers than the compiled code", KERNEL
)
MISCOMPILED = Verdict(
    "the interpreter of Tile IR agrees with the reference: the algorithm is right and its compiled code is wrong",
    REPORT,
    is_compiler_fault=True,
)
UNKNOWN = Verdict("the interpreter of Tile IR has not run it to its end, so it cannot tell whose fault that is", KERNEL)


def mismatch_error(
    name: str,
    target: str,
    place: Location,
    wrong: Sequence[ArrayMismatch],
    blocks: Mapping[Element, Block] | None,
    verdict: Verdict,
    grid: Block,
) -> TileirasError:
    """The error of a kernel whose compiled code leaves ``wrong`` arrays; ``blocks`` is None where nobody knows who stored what."""
    counts = ", ".join(f"{one.count} of {one.of} elements of {one.array}" for one in wrong)
    lines = [line for one in wrong for line in _lines(one, blocks)]
    message = f"{name} on {target}, grid {grid}, differs from its reference in {counts}; {verdict.message}"
    text = "\n".join((verdict.remedy, *lines))
    if verdict.is_compiler_fault:
        return InternalError("verify-mismatch", message, location=place, remedy=text)
    return InvalidInput("reference-mismatch", message, location=place, remedy=text)


def _lines(one: ArrayMismatch, blocks: Mapping[Element, Block] | None) -> list[str]:
    rows, named = [("", element) for element in one.first], [element.index for element in one.first]
    for word, element in (("worst: ", one.worst), ("worst, relatively: ", one.worst_relative)):
        if element.index not in named:  # not the elements: a NaN is not equal to itself
            rows.append((word, element))
            named.append(element.index)
    return [f"    {word}{_line(one.array, element, blocks)}" for word, element in rows]


def _line(array: str, element: WrongElement, blocks: Mapping[Element, Block] | None) -> str:
    who = "" if blocks is None else f", stored by {_who(blocks.get((array, element.index)))}"
    index = ", ".join(map(str, element.index))
    relative = f", relatively by {element.relative:.3g}" if element.relative < float("inf") else ""
    off = f"off by {element.absolute:.3g}{relative}, allowed {element.allowed:.3g}"
    return f"{array}[{index}] is {element.actual} instead of {element.expected} ({off}){who}"


def _who(block: Block | None) -> str:
    return f"tile block {block}" if block else "no tile block"
