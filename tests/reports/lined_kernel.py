"""A build folder with every stage of vector_add_f32 for sm_90, compiled with line info, next to its source."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

from tests.compiled_once import once
from tests.examples.example_library import bytecode_of
from tileiras_build.driver import lower
from tileiras_build.pipeline.job import Job
from tileiras_build.target.targets import find_target

KERNEL = "vector_add_f32"
SOURCE = "examples/kernels/vector_add.py"
STAGES = ("tilebc", "tileaa", "tileas", "ll", "ptx", "cubin")
ROOT = Path(__file__).parents[2]
LINE = 1 + next(i for i, text in enumerate((ROOT / SOURCE).read_text().splitlines()) if "ct.store(" in text)


def write_lined(project: Path) -> Path:
    """The build folder, in a project with the source where the bytecode says that it is."""
    build = project / "build"
    for folder in (build / "sm_90", build / "tilebc", (project / SOURCE).parent):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / SOURCE, project / SOURCE)
    (build / f"tilebc/{KERNEL}.tilebc").write_bytes(bytecode_of(KERNEL))
    for suffix, data in once(("vector_add", "sm_90", "lines"), _compile).items():
        (build / f"sm_90/{KERNEL}{suffix}").write_bytes(data)
    return build


def _compile() -> dict[str, bytes]:
    job, data, found = Job(find_target("sm_90"), lineinfo=True), bytecode_of(KERNEL), {}
    for before, after in pairwise(STAGES):
        made = lower(data, before, after, job)
        found |= made
        data = made[f".{after}"]
    return found
