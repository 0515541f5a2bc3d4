"""WARNINGS: classes of optimization remarks and of resource usage that builds and ``lower`` report as warnings.

A selection is a comma-separated list, read from left to right: names, ``no-NAME``, ``all`` and ``none``.
"""

from __future__ import annotations

from dataclasses import dataclass

from .errors import InvalidInput, suggest

REMARKED = "tileas"  # the stage whose artifact has the remarks
ALL, NONE, _NO = "all", "none", "no-"


@dataclass(frozen=True)
class WarningClass:
    """One class: ``remarks`` are the names of its optimization remarks; a class without any is read from the launch manifest."""

    name: str
    help: str
    remedy: str
    remarks: frozenset[str] = frozenset()


_ROWS = (
    WarningClass("spill", "registers spilled to local memory", "use smaller tiles, or a lower occupancy hint"),
    WarningClass(
        "tma", "loads and stores of tiles without TMA", 'promise 16-byte strides, as in Array("float16", 2, stride_divisible_by=8)',
        frozenset({"RemarkMemoryTmaLoadFailed", "RemarkMemoryTmaStoreFailed"}),
    ),
    WarningClass(
        "mma", "matmuls without the GPU's fastest matrix instruction", "load operands in a for loop, with 16-byte strides, of a type that the GPU multiplies",
        frozenset({"RemarkTensorCoreMMAFailed", "RemarkTensorCoreMMAGeneration"}),
    ),
    WarningClass(
        "vector", "accesses of fewer than 16 bytes at once", "promise stride_divisible_by and shape_divisible_by in the case",
        frozenset({"RemarkMemoryVectorWidth"}),
    ),
    WarningClass(
        "bounds", "bounds checks that remain", "promise shape_divisible_by in the case, if all arrays keep it",
        frozenset({"RemarkMemoryBoundsCheck"}),
    ),
    WarningClass(
        "request", "hints and options that were not applied", "drop the hint or the option, or remove what the reason names",
        frozenset({"RemarkHint", "RemarkMemoryOccupancy", "RemarkMemoryCluster", "RemarkMemoryTileOrder", "RemarkMemoryPersistent"}),
    ),
    WarningClass(
        "shared", "tiles that exceed shared memory", "use smaller tiles along k", frozenset({"RemarkMemoryShared"})
    ),
)  # fmt: skip
WARNINGS: dict[str, WarningClass] = {row.name: row for row in _ROWS}
CLASS_OF_REMARK: dict[str, WarningClass] = {remark: row for row in _ROWS for remark in row.remarks}


def parse_warnings(text: str, option: str = "warnings=") -> tuple[str, ...]:
    """The selected classes, in the order of WARNINGS; raises InvalidInput[option-value] for an unknown one."""
    selected: set[str] = set()
    for word in filter(None, text.replace(" ", "").split(",")):
        name = word.removeprefix(_NO)
        if name not in (*WARNINGS, ALL, NONE):
            message = f"{option}{word} names no class of warnings"
            raise InvalidInput("option-value", message, remedy=suggest(name, (*WARNINGS, ALL, NONE)))
        named = set(WARNINGS) if name in (ALL, NONE) else {name}
        selected = selected - named if word.startswith(_NO) or name == NONE else selected | named
    return tuple(name for name in WARNINGS if name in selected)


@dataclass(frozen=True)
class WarningOptions:
    """The selected classes, and whether warnings are errors."""

    classes: tuple[str, ...] = ()
    are_errors: bool = False

    @property
    def of_remarks(self) -> tuple[str, ...]:
        """The classes that are read from a ``.tileas`` artifact."""
        return tuple(name for name in self.classes if WARNINGS[name].remarks)

    @property
    def of_manifest(self) -> tuple[str, ...]:
        """The classes that are read from a launch manifest."""
        return tuple(name for name in self.classes if not WARNINGS[name].remarks)


NO_WARNINGS = WarningOptions()
