"""Serialization of modules: optimization levels, libNVVM's options, triples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...core.errors import InvalidInput

# The default triple, and LLVM's data layout of each triple.
TRIPLE = "nvptx64-nvidia-cuda"
_COMMON = "p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
DATA_LAYOUTS = {
    TRIPLE: f"e-p3:32:32-p4:32:32-p5:32:32-{_COMMON}",
    "nvptx-nvidia-cuda": f"e-p:32:32-{_COMMON}",
}

# Levels ---------------------------------------------------------------------------------------------------------------

_MINIMAL = (
    "always_inliner",  # libdevice bodies and helpers become part of the kernel
    "sroa",
    "instruction_combine",
    "simplify_cfg",
)
_UNROLLING = (
    "loop_rotate",  # LLVM unrolls a loop of unknown length if it exits at its end
    "loop_unroll",
    "reassociate",  # sums of several iterations: trees in place of chains
)


def _full(*more: str) -> tuple[str, ...]:
    """The passes of a level that optimizes, with ``more`` of them after value numbering."""
    return (
        *_MINIMAL,
        "new_gvn",  # index arithmetic that is repeated in every chunk
        *more,
        "instruction_combine",  # cleans up after value numbering
        "simplify_cfg",
        "dead_code_elimination",
        "sinking",  # values that only one warp partition or the epilogue uses: live in no other registers
        "global_dead_code_eliminate",  # inlined helpers
    )


@dataclass(frozen=True)
class Level:
    """One optimization level: LLVM's passes, the level of the code generator, libNVVM and ``#nvvm.target``, ptxas' level, the
    size attributes of functions, and the flag of ``#nvvm.target`` for levels that are not a number.
    """

    passes: tuple[str, ...]
    number: int
    ptxas: int
    attributes: tuple[str, ...] = ()
    size_flag: str | None = None


LEVELS: dict[int | str, Level] = {
    # PTX has no call ABI worth using for inlinable math, even unoptimized.
    0: Level(("always_inliner", "global_dead_code_eliminate"), 0, 0),
    1: Level((*_MINIMAL, "dead_code_elimination", "global_dead_code_eliminate"), 1, 1),
    2: Level(_full(*_UNROLLING), 2, 2),
    3: Level(_full(*_UNROLLING), 3, 3),
    # Size levels have letters, and ptxas has none.
    "s": Level(_full(), 2, 3, ("optsize",), "-Os"),
    "z": Level(_full(), 2, 3, ("minsize", "optsize"), "-Oz"),
}
DEFAULT_LEVEL = 3


LEVEL_NAMES = tuple(map(str, LEVELS))


def find_level(opt_level: int | str) -> Level:
    """The row of a level (0..3, "s" or "z"); raises InvalidInput[opt-level]."""
    if type(opt_level) not in (int, str) or opt_level not in LEVELS:
        message = f"invalid LLVM optimization level {opt_level!r}"
        raise InvalidInput("opt-level", message, remedy=f"use one of {', '.join(LEVEL_NAMES)}")
    return LEVELS[opt_level]


def read_level(text: int | str) -> int | str:
    """The level of an option's value: "0".."3", or a level; raises InvalidInput[opt-level]."""
    level = next((level for level, name in zip(LEVELS, LEVEL_NAMES, strict=True) if text == name), text)
    find_level(level)
    return level


def level_of(number: int, flags: Iterable[str]) -> int | str:
    """The level of ``#nvvm.target``'s number and flags; raises InvalidInput[opt-level]."""
    sizes = {row.size_flag: level for level, row in LEVELS.items() if row.size_flag}
    return next((sizes[flag] for flag in flags if flag in sizes), read_level(number))


# libNVVM's options ----------------------------------------------------------------------------------------------------

DEBUG, NVGPUCOMP = "debug", "nvgpucomp"


@dataclass(frozen=True)
class Flag:
    """One option of libNVVM: its value, None for a flag, and the request that enables it (which may be a level), None =
    always.
    """

    name: str
    value: bool | int | None = None
    requested_by: int | str | None = None
    public: bool = True  # whether the public library accepts it

    @property
    def spelling(self) -> str:
        """The option on a command line."""
        return self.name if self.value is None else f"{self.name}={str(self.value).lower()}"


FLAGS = (
    Flag("-g", requested_by=DEBUG),
    Flag("-Xopt"),  # passes options to the optimizer
    Flag("-pragma-unroll-threshold", 9900000),  # loops are scheduled already
    Flag("-fma", 0),  # contraction would change the explicit rounding of the program
    Flag("libNVVMUseNVGpuComp", True, NVGPUCOMP, public=False),
    *(Flag(row.size_flag, requested_by=level, public=False) for level, row in LEVELS.items() if row.size_flag),
)
DEBUG_FLAG, NVGPUCOMP_FLAG = (
    next(flag.spelling for flag in FLAGS if flag.requested_by == request) for request in (DEBUG, NVGPUCOMP)
)


def flags_for(debug: bool, nvgpucomp: bool = False, opt_level: int | str = DEFAULT_LEVEL) -> tuple[Flag, ...]:
    """The options of a module."""
    is_requested = {None: True, DEBUG: debug, NVGPUCOMP: nvgpucomp, opt_level: True}
    return tuple(flag for flag in FLAGS if is_requested.get(flag.requested_by))
