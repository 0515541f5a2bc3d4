"""Estimates, cached by the cubin, the launch and the version of the cost model: a large kernel takes seconds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import msgspec

from ..manifest.launch_manifest import Launch
from ..pipeline.stages import Stage, source_digest
from ..simulate.estimate.estimate_kernel import KernelEstimate, Problem, estimate_kernel
from .report_cache import ReportCache

_CODE = Stage(
    ".estimate", "the modelled time of a launch", "tileiras_build.simulate.estimate.performance_model:estimate",
    modules=("tileiras_build.simulate.estimate.estimate_report",), libraries=("nvidia-cuda-nvdisasm",),
)  # fmt: skip


def cached_estimate(
    cubin: bytes, name: str, manifest: Mapping[str, Launch], problem: Problem, cache: ReportCache | None
) -> KernelEstimate | None:
    """As ``estimate_kernel``. Raises InvalidInput[write-failed]."""
    if cache is None:
        return estimate_kernel(cubin, name, manifest, problem)
    entry = f"{_digest(cubin, name, manifest, problem)}.estimate"
    try:
        return msgspec.json.decode(cache.read(entry) or b"", type=KernelEstimate | None)
    except msgspec.MsgspecError:
        found = estimate_kernel(cubin, name, manifest, problem)
        cache.write(entry, msgspec.json.encode(found))
        return found


def _digest(cubin: bytes, name: str, manifest: Mapping[str, Launch], problem: Problem) -> str:
    found = hashlib.sha256(source_digest(_CODE).encode() + cubin)
    found.update(
        json.dumps([name, repr(manifest.get(name)), list(problem.grid), sorted(problem.settings.items())]).encode()
    )
    return found.hexdigest()[:32]
