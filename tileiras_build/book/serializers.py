"""How modules are serialized: optimization levels, libNVVM's options, triples."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InvalidInput

# The triple of modules that name none, and what LLVM lays data out by for each.
TRIPLE = "nvptx64-nvidia-cuda"
_COMMON = "p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
DATA_LAYOUTS = {
    TRIPLE: f"e-p3:32:32-p4:32:32-p5:32:32-{_COMMON}",
    "nvptx-nvidia-cuda": f"e-p:32:32-{_COMMON}",
}

# Levels ---------------------------------------------------------------------------------------------------------------

_CLEAN = (
    "always_inliner",  # libdevice bodies and helpers become part of the kernel
    "sroa",
    "instruction_combine",
    "simplify_cfg",
)
_FULL = (
    *_CLEAN,
    "new_gvn",  # index arithmetic that every chunk recomputes
    "instruction_combine",  # what value numbering exposed
    "simplify_cfg",
    "dead_code_elimination",
    "sinking",  # what one agent or the end of the kernel alone needs: no register holds it elsewhere
    "global_dead_code_eliminate",  # inlined helpers
)


@dataclass(frozen=True)
class Level:
    """One optimization level: LLVM's passes, the number of code generator, libNVVM and ``#nvvm.target``, ptxas' number,
    and what functions are told to be kept small."""

    passes: tuple[str, ...]
    number: int
    ptxas: int
    attributes: tuple[str, ...] = ()


LEVELS: dict[int | str, Level] = {
    # PTX has no call ABI worth using for inlinable math, even unoptimized.
    0: Level(("always_inliner", "global_dead_code_eliminate"), 0, 0),
    1: Level((*_CLEAN, "dead_code_elimination", "global_dead_code_eliminate"), 1, 1),
    2: Level(_FULL, 2, 2),
    3: Level(_FULL, 3, 3),
    # Numbers have no word for size, and ptxas no such level.
    "s": Level(_FULL, 2, 3, ("optsize",)),
    "z": Level(_FULL, 2, 3, ("minsize", "optsize")),
}
DEFAULT_LEVEL = 3


def find_level(opt_level: int | str) -> Level:
    """The row of a level (0..3, "s" or "z"); raises InvalidInput[opt-level]."""
    if isinstance(opt_level, bool) or opt_level not in LEVELS:
        raise InvalidInput(
            "opt-level",
            f"invalid LLVM optimization level {opt_level!r}",
            remedy=f"use one of {', '.join(map(str, LEVELS))}",
        )
    return LEVELS[opt_level]


# libNVVM's options ----------------------------------------------------------------------------------------------------

DEBUG, NVGPUCOMP = "debug", "nvgpucomp"


@dataclass(frozen=True)
class Flag:
    """One option of libNVVM: its value, None for a word by itself, and what asks for it, None = always given."""

    name: str
    value: bool | int | None = None
    asked_by: str | None = None
    public: bool = True  # whether the library that NVIDIA ships takes it

    @property
    def word(self) -> str:
        """The option on a command line."""
        return self.name if self.value is None else f"{self.name}={str(self.value).lower()}"


FLAGS = (
    Flag("-g", asked_by=DEBUG),
    Flag("-Xopt"),  # opens the channel of options to the optimizer
    Flag("-pragma-unroll-threshold", 9900000),  # loops are scheduled already
    Flag("-fma", 0),  # contraction would change explicit numeric choices
    Flag("libNVVMUseNVGpuComp", True, NVGPUCOMP, public=False),
)
DEBUG_WORD = FLAGS[0].word


def flags_for(debug: bool, nvgpucomp: bool = False) -> tuple[Flag, ...]:
    """The options of a module."""
    asked = {None: True, DEBUG: debug, NVGPUCOMP: nvgpucomp}
    return tuple(flag for flag in FLAGS if asked[flag.asked_by])
