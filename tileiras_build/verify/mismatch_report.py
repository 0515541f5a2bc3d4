"""The error for a kernel that does not match its reference: a sentence, then a line per listed element."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..core.errors import InternalError, InvalidInput, Location, TileirasError
from .compare_arrays import ArrayMismatch, WrongElement
from .find_storing_block import Block, Element


@dataclass(frozen=True)
class Verdict:
    """The cause as the interpreter's result shows it: the compiler, or the kernel or its reference."""

    message: str
    remedy: str
    is_compiler_fault: bool = False


LOOSEN_BELOW = 2.0  # errors below so many times the tolerance may be rounding
KERNEL = "fix the kernel or the reference"
REPORT = "miscompile: please report it"
SAME_AS_INTERPRETER = Verdict("not a miscompile (the Tile IR interpreter agrees with the compiled code)", KERNEL)
DIFFERENT = Verdict("interpreter and compiled code both differ from the reference, and from each other", KERNEL)
MISCOMPILED = Verdict(
    "miscompile: the Tile IR interpreter matches the reference, the compiled code does not",
    REPORT,
    is_compiler_fault=True,
)
UNKNOWN = Verdict("cause unknown: the interpreter did not finish this kernel", KERNEL)


def mismatch_error(
    name: str,
    target: str,
    place: Location,
    wrong: Sequence[ArrayMismatch],
    blocks: Mapping[Element, Block] | None,
    verdict: Verdict,
    grid: Block,
) -> TileirasError:
    """The error for a kernel with ``wrong`` arrays; ``blocks`` maps elements to the storing block, None if unknown."""
    counts = ", ".join(f"{one.count} of {one.of} elements of {one.array}" for one in wrong)
    lines = [line for one in wrong for line in _lines(one, blocks)]
    message = f"{name} ({target}, grid {grid}): {counts} differ from the reference; {verdict.message}"
    text = "\n".join((verdict.remedy if verdict.is_compiler_fault else _kernel_remedy(wrong), *lines))
    if verdict.is_compiler_fault:
        return InternalError("verify-mismatch", message, location=place, remedy=text)
    return InvalidInput("reference-mismatch", message, location=place, remedy=text)


def _kernel_remedy(wrong: Sequence[ArrayMismatch]) -> str:
    """What to fix: near the tolerance, the tolerance may be too tight."""
    worst = (element for one in wrong for element in (one.worst, one.worst_relative))
    ratios = [element.absolute / element.allowed if element.allowed else math.inf for element in worst]
    largest = max((ratio for ratio in ratios if not math.isnan(ratio)), default=math.inf)
    if math.isinf(largest):
        return KERNEL
    fix = f"loosen it, or {KERNEL}" if largest < LOOSEN_BELOW else KERNEL
    return f"largest error is {largest:.2g}x the tolerance: {fix}"


def _lines(one: ArrayMismatch, blocks: Mapping[Element, Block] | None) -> list[str]:
    rows, named = [("", element) for element in one.first], [element.index for element in one.first]
    for word, element in (("worst: ", one.worst), ("worst relative error: ", one.worst_relative)):
        if element.index not in named:  # compares indices: a NaN is not equal to itself
            rows.append((word, element))
            named.append(element.index)
    return [f"    {word}{_line(one.array, element, blocks)}" for word, element in rows]


def _line(array: str, element: WrongElement, blocks: Mapping[Element, Block] | None) -> str:
    writer = "" if blocks is None else f", written by {_block_name(blocks.get((array, element.index)))}"
    index = ", ".join(map(str, element.index))
    relative = f", rel error {element.relative:.3g}" if element.relative < float("inf") else ""
    errors = f"abs error {element.absolute:.3g}{relative}, tolerance {element.allowed:.3g}"
    return f"{array}[{index}]: got {element.actual}, expected {element.expected} ({errors}){writer}"


def _block_name(block: Block | None) -> str:
    return f"tile block {block}" if block else "no tile block"
