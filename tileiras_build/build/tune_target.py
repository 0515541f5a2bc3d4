"""``scons tune``: a step for each kernel of a file with a ``Tune`` and each target; at the exit the choices are written.

``<build_dir>/<sm>/<kernel>.tuned`` has the time of each point (``tuning/``). The step runs user code, so a dependency record
is beside it, as beside exports. The choices go into ``<file>.tune.json`` beside the kernel file, which the next build reads.
With ``tune_by=gpu`` the points are timed on this machine's GPU.
"""

from __future__ import annotations

import atexit
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import SCons.Node
import SCons.Script
from SCons.Builder import Builder

from ..config.build_options import CHOICES, choice
from ..core.errors import TileirasError
from ..core.file_io import read_file
from ..core.terminal import print_table
from ..frontend.cases_table_from_ast import find_imports, has_table
from ..pipeline.stages import Stage, source_digest
from ..target.targets import Target
from ..workers.executor import Executor
from ..workers.executor.run_traced import run_traced
from .always_build import TUNE
from .progress import BuildStep
from .python_to_bytecode_step import CALL
from .settings import Settings
from .stage_actions import WorkerAction, explain_suffix, kernel_name, step_timeout

TUNED = Stage(
    ".tuned",
    "times of the points of a kernel's space (JSON)",
    "tileiras_build.tuning.tune_kernels:tuned_file",
    modules=("tileiras_build.frontend.cases_api",),
    libraries=("numpy", "ml_dtypes", "xdsl", "llvmlite", "msgspec", "cuda-tile", "python"),
)
MODEL, GPU = CHOICES["tune_by"]
STEPS = {MODEL: TUNED, GPU: replace(TUNED, edge="tileiras_build.tuning.time_on_gpu:tuned_file")}
RECORD = ".tuned-reads"
PYTHON = ".py"
TABLE = "Tune"
_CURRENT = (SCons.Node.executed, SCons.Node.up_to_date)


class TuneAction(WorkerAction):
    """Ranks the points of one kernel for one target; the source is its file."""

    def __init__(self, step: Stage, target: Target, settings: Settings, executor):
        self.target, self.options = target.name, compile_options(settings)
        signature = {"stage": step.edge, "code": source_digest(step), "target": target.name, "options": self.options}
        super().__init__(step, executor, signature)

    def strfunction(self, target, source, env, executor=None) -> str:
        """The displayed line: action, target and kernel."""
        return f"{TUNE:7} {self.target:7} {kernel_name(target[0])}{explain_suffix(target)}"

    def call(self, executor: Executor, target, source, env) -> dict[str, bytes]:
        """Rank in a worker that traces the file accesses of user code."""
        root, (result, record), path = env.Dir("#").get_abspath(), (node.name for node in target), source[0].path
        arguments = (self.stage.edge, root, path, self.target, kernel_name(target[0]), self.options, root, result)
        made = run_traced(lambda: executor.run(CALL, *arguments, timeout=step_timeout(env)), path, root)
        return made.files | {record: made.record.to_bytes()}


def compile_options(settings: Settings) -> dict[str, Any]:
    """The options of ``driver.compile`` for a kernel with these settings."""
    named = ("opt_level", "lineinfo", "debug", "libdevice", "ptxas", "strategy", "serializer", "llvm_pipeline")
    return (
        {name: getattr(settings, name) for name in named} | {"schedule": settings.schedule_text} | dict(settings.tuning)
    )


class TuneTarget:
    """The tuning steps of one SCons run, their table, and the files of choices."""

    def __init__(self, build):
        self.build, self.nodes = build, {}
        self.by = MODEL
        self._builders: dict[tuple, Builder] = {}
        atexit.register(self.show)

    def add(self, env, kernels: Iterable, settings: Mapping[str, Settings]) -> None:
        """Add a step for each of ``kernels`` whose file has a ``Tune``, and each of its targets. Raises InvalidInput[option-value]."""
        self.by = choice("tune_by", env["tune_by"])
        for kernel in kernels:
            if _may_have_space(kernel.file.srcnode().get_abspath()):
                for target in settings[kernel.name].targets:
                    self._add(env, kernel, target, settings[kernel.name])
        env.Alias(TUNE, list(self.nodes))

    def _add(self, env, kernel, target: Target, own: Settings) -> None:
        folder = env.Dir(f"{own.build_dir}/{target.name}")
        nodes = [self.build.artifact(folder, kernel.name + suffix) for suffix in (TUNED.suffix, RECORD)]
        key = target.name, id(own)
        if key not in self._builders:
            self._builders[key] = Builder(action=TuneAction(STEPS[self.by], target, own, self.build.executor))
        made = self._builders[key](env, nodes, [kernel.file])
        self.build.remember_reads(nodes, nodes[1].get_abspath())
        self.nodes[made[0]] = kernel.file.srcnode().get_abspath()
        self.build.progress.add(made[0], BuildStep(TUNE, target.name, kernel.name))

    def show(self) -> None:
        """Write the choices and print their table, at SCons' exit."""
        results = [
            (path, row) for node, path in self.nodes.items() if node.get_state() in _CURRENT for row in _rows(node)
        ]
        if not results:
            return
        from ..tuning.tune_kernels import COLUMNS, HOW, keep, table_row

        told = [line for path in dict.fromkeys(self.nodes.values()) for line in keep(path, _of(path, results))]
        if not SCons.Script.GetOption("silent"):
            progress = self.build.progress
            progress.end_line()
            progress.stream.write("\n")
            print_table(COLUMNS, [table_row(row) for _, row in results], progress.stream)
            progress.stream.write("".join(f"{line}\n" for line in ["", *told, f"times are {HOW[self.by]}"]))


def _of(path: str, results: list[tuple[str, dict]]) -> list[dict]:
    return [row for other, row in results if other == path]


def _may_have_space(path: str) -> bool:
    """Whether a Python file, or a module beside it that it imports, names ``Tune``."""
    try:
        return path.endswith(PYTHON) and any(has_table(one, TABLE) for one in [path, *map(str, find_imports(path))])
    except TileirasError:
        return False


def _rows(node) -> list[dict]:
    try:
        return json.loads(read_file(node.path))
    except (TileirasError, ValueError):
        return []
