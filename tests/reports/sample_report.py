"""A build folder of forty kernels for four GPUs with an earlier report, generated from a seed."""

from __future__ import annotations

import random
from pathlib import Path

from tileiras_build.core.file_io import write_files
from tileiras_build.manifest.manifest_constants import VERSION
from tileiras_build.pipeline.launch_manifest_json import render_manifest
from tileiras_build.reports.build_timeline import Span, Timeline, write_timeline
from tileiras_build.reports.report_paths import timeline_path

FAMILIES = ("attention", "batch_matmul", "gelu", "layer_norm", "matmul", "softmax", "prefix_sum", "transpose")
DTYPES = ("f16", "bf16", "f32", "f8e4m3", "i8")
GPUS = ("sm_80", "sm_90", "sm_100", "sm_120")
STAGES = (("tileaa", 0.02), ("tileas", 0.03), ("ll", 0.06), ("ptx", 0.09), ("cubin", 0.2))
NAMES = [f"{family}_{dtype}" for family in FAMILIES for dtype in DTYPES]


def write_build(folder: Path, *, seed: int = 0, names=NAMES, gpus=GPUS) -> None:
    """Cubins (of zeros), launch manifests and a timeline."""
    rng, files = random.Random(f"measurements {seed}"), {}
    for index, name in enumerate(names):
        base = random.Random(name)
        registers, shared = base.randrange(24, 250), base.choice((0, 4096, 16384, 49152, 98304))
        for gpu in gpus:
            used = min(
                registers + base.randrange(0, 24) + (rng.randrange(-12, 13) if seed and index % 7 == 0 else 0), 255
            )
            spills = base.randrange(8, 200) * 4 if used == 255 else 0
            cubin = folder / gpu / f"{name}.cubin"
            files[cubin] = bytes(base.randrange(4000, 60000) + (rng.randrange(4000) if seed and index % 7 == 0 else 0))
            files[cubin.with_suffix(".json")] = render_manifest(_manifest(name, gpu, used, spills, shared, base))
    write_files(files)
    write_timeline(timeline(names, gpus), timeline_path(folder))


def _manifest(name: str, gpu: str, registers: int, spills: int, shared: int, base: random.Random) -> dict:
    resources = {
        "registers": registers,
        "spill_stores": spills,
        "spill_loads": 2 * spills,
        "stack": spills,
        "shared": 0,
    }
    kernel = {
        "params": [], "param_sizes": [], "threads_per_cta": base.choice((128, 256)), "cluster": [1, 1, 1],
        "shared_memory": {"static": 0, "dynamic": min(shared, 98304)}, "tensor_maps": [], "resources": resources,
    }  # fmt: skip
    return {"version": VERSION, "target": gpu, "kernels": {name: kernel}}


def timeline(names=NAMES, gpus=GPUS, jobs: int = 8) -> Timeline:
    """The steps in order on the lane that is free first; a tenth from a cache, one failed."""
    rng, made = random.Random("timeline"), Timeline(1.7e9, jobs)
    free = [0.4 + 0.01 * lane for lane in range(jobs)]
    for name in names:
        for gpu in gpus:
            lane = free.index(min(free))
            for stage, cost in STAGES:
                outcome = "cached" if rng.random() < 0.1 else "built"
                took = (0.004 if outcome == "cached" else cost) * rng.uniform(0.5, 2.2)
                made.spans.append(Span(stage, gpu, name, lane, free[lane], free[lane] + took, outcome))
                free[lane] += took + 0.001
    last = made.spans[-1]
    made.spans[-1] = Span(last.stage, last.target, last.kernel, last.lane, last.start, last.end, "failed")
    return made


__all__ = ["GPUS", "NAMES", "timeline", "write_build"]
