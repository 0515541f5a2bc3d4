"""A cubin of vector_add_f32 for sm_90 with its manifest, and a problem for it."""

from pathlib import Path

from tests.compiled_once import once
from tests.examples.example_library import bytecode_of
from tileiras_build.driver import lower
from tileiras_build.pipeline.job import Job
from tileiras_build.target.targets import find_target

GRID = "256"
SETTINGS = ("x=65536", "y=65536", "out=65536")
WORDS = ("--grid", GRID, *(word for setting in SETTINGS for word in ("--set", setting)))


def write_vector_add(build_dir: Path) -> Path:
    """Into the GPU's folder; the path of the cubin."""
    job = Job(find_target("sm_90"))
    made = once(("vector_add", "sm_90"), lambda: lower(bytecode_of("vector_add_f32"), "tilebc", "cubin", job))
    (build_dir / "sm_90").mkdir(parents=True, exist_ok=True)
    for suffix, data in made.items():
        (build_dir / f"sm_90/vector_add_f32{suffix}").write_bytes(data)
    return build_dir / "sm_90/vector_add_f32.cubin"
