"""``scons verify``: every kernel of the libraries against the interpreter and against its reference, as steps.

Two steps for each kernel and target read its bytecode and its PTX, so unchanged kernels are not verified again.
``<build_dir>/<sm>/<kernel>.verified`` contains the comparison of emulator and interpreter on inputs derived from the kernel's
operations, ``<kernel>.reference`` their comparison with the reference in the kernel's file (``verify/``). The second runs
user code, so a dependency record is beside it, as beside exports. The nodes are created only if the command line requests
them, because the graph of a large library is slow to construct.
"""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Iterable, Mapping

import SCons.Node
import SCons.Script
from SCons.Builder import Builder

from ..core.errors import TileirasError
from ..core.file_io import read_file
from ..core.symbols.itanium_demangler import demangle
from ..core.terminal import print_table
from ..pipeline.stages import Stage, find, source_digest
from ..target.targets import Target
from ..workers.executor import Executor
from ..workers.executor.run_traced import run_traced
from .always_build import VERIFY
from .progress import BuildStep
from .python_to_bytecode_step import CALL
from .stage_actions import WorkerAction, explain_suffix, kernel_name, step_timeout

VERIFY_INTERPRETER, VERIFY_REFERENCE = "verify (interpreter)", "verify (reference)"
VERIFIED = Stage(
    ".verified",
    "result of verification against the interpreter (JSON)",
    "tileiras_build.build.verify_interpreter_step:verify_kernels",
    libraries=("numpy", "ml_dtypes", "xdsl", "llvmlite"),
)
REFERENCE = Stage(
    ".reference",
    "result of verification against the reference function (JSON)",
    "tileiras_build.build.verify_reference_step:compare_kernels",
    modules=("tileiras_build.frontend.cases_api",),  # which the references import
    libraries=("numpy", "ml_dtypes", "xdsl", "llvmlite", "msgspec", "cuda-tile", "python"),
)
RECORD = ".reference-reads"
PYTHON = ".py"
_CURRENT = (SCons.Node.executed, SCons.Node.up_to_date)
_COLUMNS = ("kernel", "target", "checked against", "grid", "arrays", "elements", "error / tolerance", "result")


class VerifyInterpreterAction(WorkerAction):
    """Verifies one kernel for one target; the sources are its bytecode and its PTX."""

    def __init__(self, target, executor):
        self.target = target.name
        super().__init__(
            VERIFIED, executor, {"stage": VERIFIED.name, "code": source_digest(VERIFIED), "target": self.target}
        )

    def strfunction(self, target, source, env, executor=None) -> str:
        """The displayed line: action, target and kernel."""
        return f"{VERIFY_INTERPRETER} {self.target:7} {kernel_name(target[0])}"

    def call(self, executor: Executor, target, source, env) -> dict[str, bytes]:
        """Compare in a worker."""
        bytecode, ptx = (read_file(node.path) for node in source)
        result = executor.run(VERIFIED.edge, bytecode, ptx, self.target, source[0].path, timeout=step_timeout(env))
        return {target[0].name: result}


class VerifyReferenceAction(WorkerAction):
    """Compares the kernels of one file with their references, for one target; the sources are bytecode and PTX."""

    def __init__(self, target: Target, path: str, executor):
        self.target, self.path = target.name, path
        signature = {"stage": REFERENCE.name, "code": source_digest(REFERENCE), "target": target.name, "of": path}
        super().__init__(REFERENCE, executor, signature)

    def strfunction(self, target, source, env, executor=None) -> str:
        """The displayed line: action, target and kernel."""
        return f"{VERIFY_REFERENCE} {self.target:7} {kernel_name(target[0])}{explain_suffix(target)}"

    def call(self, executor: Executor, target, source, env) -> dict[str, bytes]:
        """Compare in a worker that traces the file accesses of user code."""
        bytecode, ptx = (read_file(node.path) for node in source)
        root, (result, record) = env.Dir("#").get_abspath(), (node.name for node in target)
        arguments = (REFERENCE.edge, root, bytecode, ptx, self.target, self.path, result)
        run = lambda: executor.run(CALL, *arguments, timeout=step_timeout(env))
        made = run_traced(run, self.path, root)
        return made.files | {record: made.record.to_bytes()}


class VerifyTarget:
    """The verification steps of one SCons run, and their table."""

    def __init__(self, build):
        self.build, self.nodes = build, {}
        self._builders: dict[tuple, Builder] = {}
        atexit.register(self.show)

    def add(self, env, kernels: Iterable, settings: Mapping, table: tuple[Stage, ...]) -> None:
        """Add steps for each of ``kernels`` and its targets; ``settings`` are each kernel's own, by name."""
        ptx = find("ptx", table).suffix
        for kernel in kernels:
            own = settings[kernel.name]
            for target in own.targets:
                folder = env.Dir(f"{own.build_dir}/{target.name}")
                sources = [kernel.bytecode(target, own), folder.File(kernel.name + ptx)]
                made = self._verified(target)(env, [folder.File(kernel.name + VERIFIED.suffix)], sources)
                self._add_step(env, made, BuildStep(VERIFY_INTERPRETER, target.name, kernel.name))
                if _may_have_references(kernel.file):
                    made = self._compare(env, kernel, target, folder, sources)
                    self._add_step(env, made, BuildStep(VERIFY_REFERENCE, target.name, kernel.name))

    def _add_step(self, env, made: list, step: BuildStep) -> None:
        self.nodes[made[0]] = step
        self.build.progress.add(made[0], step)
        env.Alias(VERIFY, made)

    def _verified(self, target: Target) -> Builder:
        return self._cached((target.name,), lambda: VerifyInterpreterAction(target, self.build.executor))

    def _compare(self, env, kernel, target: Target, folder, sources: list) -> list:
        path = kernel.file.srcnode().path
        nodes = [self.build.artifact(folder, kernel.name + suffix) for suffix in (REFERENCE.suffix, RECORD)]
        builder = self._cached((target.name, path), lambda: VerifyReferenceAction(target, path, self.build.executor))
        made = builder(env, nodes, sources)
        self.build.remember_reads(nodes, nodes[1].get_abspath())
        return made

    def _cached(self, key: tuple, action) -> Builder:
        if key not in self._builders:
            self._builders[key] = Builder(action=action())
        return self._builders[key]

    def show(self) -> None:
        """Print the results of each kernel, at SCons' exit."""
        rows = [row for node, step in self.nodes.items() if node.get_state() in _CURRENT for row in _rows(node, step)]
        if rows and not SCons.Script.GetOption("silent"):
            progress = self.build.progress
            progress.end_line()
            progress.stream.write("\n")
            print_table(_COLUMNS, rows, progress.stream)


def _may_have_references(file) -> bool:
    """Whether there may be references: in the kernel's Python file, or in one beside its file."""
    path = file.srcnode().get_abspath()
    return path.endswith(PYTHON) or os.path.exists(os.path.splitext(path)[0] + PYTHON)


def _rows(node, step: BuildStep) -> list[tuple]:
    try:
        checks = json.loads(read_file(node.path))
    except (TileirasError, ValueError):
        return []
    if step.stage == VERIFY_REFERENCE:
        return [_reference_row(check, step) for check in checks["kernels"]]
    return [_row(check, step) for check in checks]


def _row(check: dict, step: BuildStep) -> tuple:
    name = demangle(check["entry"])
    if check["reason"]:
        return name, step.target, "interpreter", "-", "-", "-", "-", f"skipped: {check['reason']}"
    return (name, step.target, "interpreter", *_element_counts(check), "match")


def _reference_row(check: dict, step: BuildStep) -> tuple:
    alone = " (the interpreter disagrees)" if check["interpreter"] is None else ""
    return (check["entry"], step.target, "reference", *_element_counts(check), f"match{alone}")


def _element_counts(check: dict) -> tuple:
    return "x".join(map(str, check["grid"])), check["arrays"], check["elements"], f"{check['share']:.0%}"
