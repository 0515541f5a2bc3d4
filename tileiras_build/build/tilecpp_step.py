"""The step that compiles a CUDA Tile C++ file for one SM with nvcc; its dependency record decides whether it runs again.

Its targets are ``<build_dir>/<sm>/<file>.tilebc`` and the record ``<file>.reads`` beside it. Headers, nvcc and the host
compiler are in the record: SCons itself knows only the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..core.errors import InvalidInput
from ..core.tracing.dependency_record import SUFFIX as RECORD
from ..core.tracing.dependency_record import Comparison, TracedResult
from ..core.tracing.dependency_state import Probe
from ..core.tracing.portable_paths import PortablePaths
from ..frontend.tilecpp.nvcc_flags import split_flags
from ..pipeline.stages import TILEBC, Stage, source_digest
from ..target.targets import Target
from ..workers.executor.run_traced import run_traced
from . import library_member
from .incremental.sconscript_trace import TRACE
from .stage_actions import WorkerAction, explain_suffix, step_timeout

if TYPE_CHECKING:
    from .settings import Settings

SUFFIX = library_member.TILECPP
STEP = "tileiras_build.frontend.tilecpp.compile_and_check:compile_checked"
TILECPP = Stage(
    TILEBC.suffix,
    "Tile IR bytecode of a CUDA Tile C++ file",
    "tileiras_build.frontend.tilecpp.run_nvcc:run_nvcc",
    sources=("pipeline/stages.py", "build/tilecpp_step.py", "core/code_digest.py"),
    libraries=("python",),
)


class CompileAction(WorkerAction):
    """Compiles all kernels of a ``.cu`` file to bytecode for one SM, and writes the record of its dependencies."""

    def __init__(self, target: Target, settings: Settings, root: str, executor):
        self.target, self.settings = target, settings
        self.nvcc = _find_nvcc(settings)
        options: dict[str, object] = {"flags": settings.nvcc_flags, "instantiate": settings.instantiate}
        options["nvcc"] = _name_of(self.nvcc, root) if self.nvcc else None
        signature = {"stage": TILECPP.name, "code": source_digest(TILECPP), "target": target.name, "options": options}
        super().__init__(TILECPP, executor, signature)
        # Results from the construction of the graph, by file: they need not be compiled twice.
        self.made: dict[str, TracedResult] = {}

    def strfunction(self, target, source, env, executor=None) -> str:
        """The displayed line: stage, target and file."""
        return f"{self.stage.name:7} {self.target.name:7} {source[0].name}{explain_suffix(target)}"

    def call(self, executor, target, source, env) -> dict[str, bytes]:
        """Compile in a worker, and print nvcc's remarks."""
        path = source[0].path
        made = self._made_before(path, env) or self.compile(executor, path, env)
        for remark in made.remarks:
            print(remark, flush=True)
        bytecode, record = (node.name for node in target)
        return {bytecode: made.files[TILECPP.suffix], record: made.record.to_bytes()}

    def compile(self, executor, path: str, env) -> TracedResult:
        """nvcc's output for the file at ``path``, and its dependencies."""
        from ..frontend.tilecpp.run_nvcc import Request

        root = env.Dir("#").get_abspath()
        request = Request(path, self.target.number, self.nvcc, self.settings.nvcc_flags, self.settings.instantiate)
        return run_traced(lambda: executor.run(STEP, request, root, timeout=step_timeout(env)), path, root)

    def _made_before(self, path: str, env) -> TracedResult | None:
        made = self.made.pop(path, None)
        if made is None:
            return None
        comparison = Comparison(Probe(PortablePaths(env.Dir("#").get_abspath())))
        return made if comparison.first_change(made.record) is None else None


def _find_nvcc(settings: Settings) -> str | None:
    """The path of nvcc; None if it is missing: the step reports it, and -k builds the others."""
    try:
        with TRACE.probing_installed():
            # The import of its finder also runs a program.
            from ..frontend.tilecpp.nvcc_toolchain import find_nvcc

            return str(find_nvcc(settings.nvcc))
    except InvalidInput:
        return settings.nvcc


def _name_of(nvcc: str, root: str) -> str:
    """Its name in the signature: the toolkit itself, if the path contains a link such as /usr/local/cuda."""
    with TRACE.probing_installed():
        return PortablePaths(os.path.realpath(root)).name(os.path.realpath(nvcc))


def output_names(stem: str) -> tuple[str, str]:
    """The outputs of ``<stem>.cu``: bytecode and record."""
    return stem + TILECPP.suffix, stem + RECORD


def available_sources(env, sources: Iterable) -> list:
    """``env.TileCpp(Glob("*.cu"))``: the files, or with a message none, if nvcc or a host compiler is missing.

    For a library that can be built without its CUDA Tile C++ kernels; a library that names its ``.cu`` files needs them.
    """
    nodes = env.arg2nodes(env.Flatten([sources]), env.fs.File)
    with TRACE.probing_installed():
        from ..frontend.tilecpp.nvcc_toolchain import toolchain_fault

        missing = toolchain_fault(str(env.get("nvcc") or "") or None, split_flags(env.get("nvcc_flags") or ""))
    if not nodes or missing is None:
        return nodes
    names = ", ".join(str(node) for node in nodes[:3]) + (", ..." if len(nodes) > 3 else "")
    print(f"scons: skipping {names}: {missing}")
    return []
