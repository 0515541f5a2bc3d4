"""The options of one compilation, which every stage may read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..core.errors import InvalidInput
from .tuning_parameters import EXP2_POLYNOMIAL, FP8_PROMOTION_INTERVAL, GRID_SWIZZLE, PERSISTENT, TUNING, VARIANTS

if TYPE_CHECKING:
    from ..target.targets import Target

# PTX generators: LLVM's back end, or NVIDIA's library.
SERIALIZERS = ("nvptx", "libnvvm")
# LLVM's passes: the lists of ``target/isa/serializer_options.py``, or PassBuilder's default pipelines.
LLVM_PIPELINES = ("short", "default")


@dataclass(frozen=True)
class Job:
    """Options of one kernel library file for one target.

    ``opt_level`` is 0..3, "s" or "z"; ``lineinfo`` keeps source lines in the cubin; ``debug`` is full device debugging
    (implies no optimization in ptxas). ``libdevice`` and ``ptxas`` are paths; None selects the files of the wheels.
    ``serializer`` generates the PTX: "nvptx" is LLVM's back end, "libnvvm" NVIDIA's library; ``llvm_pipeline``, one of
    LLVM_PIPELINES, selects the passes before LLVM's. ``strategy`` selects how copies overlap computation, one of
    ``pipelining_strategies.NAMES``. ``TUNING`` describes the tuning parameters.
    ``schedule`` is the text of a schedule file (``schedule/schedule_file.py``), "" without one.
    ``index_width`` is the bits of ``index``, for hand-written IR. Raises InvalidInput[option-value] for a value that
    ``TUNING`` does not allow.
    """

    target: Target
    opt_level: int | str = 3
    lineinfo: bool = False
    debug: bool = False
    libdevice: str | None = None
    ptxas: str | None = None
    serializer: str = SERIALIZERS[0]
    strategy: str = "auto"
    schedule: str = ""
    llvm_pipeline: str = LLVM_PIPELINES[0]
    fp8_promotion_interval: int = FP8_PROMOTION_INTERVAL.default
    grid_swizzle: int = GRID_SWIZZLE.default
    persistent: int = PERSISTENT.default
    exp2_polynomial: int = EXP2_POLYNOMIAL.default
    variants: int = VARIANTS.default
    index_width: int = 64

    def __post_init__(self) -> None:
        for row in TUNING:
            row.read(getattr(self, row.name))

    def with_tuning(self, values: Mapping[str, int]) -> Job:
        """The same job with other tuning parameters, by name."""
        changed: dict[str, Any] = dict(values)
        return replace(self, **changed)

    @property
    def tuning(self) -> dict[str, int]:
        """The value of each row of ``TUNING``."""
        return {row.name: getattr(self, row.name) for row in TUNING}


def check_debug(job: Job) -> Job:
    """Return ``job``; raises InvalidInput if it requests device debugging of optimized code."""
    if job.debug and job.opt_level:
        raise InvalidInput(
            "debug-level",
            "optimized debugging is not supported, change optimization level to 0 or disable full debug info",
            remedy="use optimization level 0",
        )
    return job
