"""What a missed optimization could gain, by the estimate of its kernel: the time that is left without the bounds that it relieves."""

from __future__ import annotations

from collections.abc import Mapping

from ..simulate.estimate.estimate_kernel import KernelEstimate

_INSTRUCTIONS = ("issue slots", "ALU pipe", "uniform pipe")
_SHARED = ("shared memory", *_INSTRUCTIONS)
_NOTABLE = 0.01  # of the time

# Of each remark, the bounds of the estimate that an optimized access or matmul would lower.
RELIEVED: Mapping[str, tuple[str, ...]] = {
    "RemarkMemoryBoundsCheck": _INSTRUCTIONS,
    "RemarkMemoryVectorWidth": (*_INSTRUCTIONS, "L1"),
    "RemarkMemoryTmaLoadFailed": (*_INSTRUCTIONS, "L1"),
    "RemarkMemoryTmaStoreFailed": (*_INSTRUCTIONS, "L1"),
    "RemarkMemoryLayoutConversion": _SHARED,
    "RemarkTensorCoreMMAFailed": ("FMA pipe", "ALU pipe", "issue slots"),
    "RemarkTensorCoreMMAGeneration": ("tensor pipe", *_SHARED),
}


def gain_text(name: str, estimate: KernelEstimate | None) -> str:
    """By how much the remark ``name`` could shorten the launch at most; "" without an estimate or for another remark."""
    if estimate is None or name not in RELIEVED:
        return ""
    longest = max(estimate.bounds.values())
    rest = max((clocks for bound, clocks in estimate.bounds.items() if bound not in RELIEVED[name]), default=0.0)
    share = 1 - rest / longest if longest else 0.0
    return f"at most {share:.0%}" if share >= _NOTABLE else f"none: limited by {estimate.limit}"
