"""``scons verify``: the interpreter against the emulator for every kernel of the libraries, as steps of the build.

A kernel's step reads its bytecode and its PTX for one target and writes ``<build_dir>/<sm>/<kernel>.verified``, so what
has not changed is not verified again. The nodes are made only where the command line asks for them: the graph of a
large library is slow enough to make without.
"""

from __future__ import annotations

import atexit
import json
from collections.abc import Iterable, Mapping

import SCons.Node
import SCons.Script
from SCons.Builder import Builder

from ..errors import TileirasError
from ..executor import Executor
from ..files import read_file
from ..pipeline.stages import Stage, find, source_digest
from ..reports.table import align
from .actions import WorkerAction, kernel_name, step_timeout
from .progress import Step

ALIAS = "verify"
VERIFIED = Stage(
    ".verified",
    "how the kernel fared in the emulator against the interpreter: JSON",
    "tileiras_build.scons_tool.verify_step:verify_kernels",
    libraries=("numpy", "ml_dtypes", "xdsl"),
)
_CURRENT = (SCons.Node.executed, SCons.Node.up_to_date)


def is_wanted() -> bool:
    """Whether this run of SCons was asked to verify."""
    return ALIAS in map(str, SCons.Script.COMMAND_LINE_TARGETS)


class VerifyAction(WorkerAction):
    """Verifies one kernel for one target; the sources are its bytecode and its PTX."""

    def __init__(self, target, executor):
        self.target = target.name
        super().__init__(
            VERIFIED, executor, {"stage": VERIFIED.name, "code": source_digest(VERIFIED), "target": self.target}
        )

    def strfunction(self, target, source, env, executor=None) -> str:
        """The line that is shown: what is done, target and kernel."""
        return f"{ALIAS:7} {self.target:7} {kernel_name(target[0])}"

    def call(self, executor: Executor, target, source, env) -> dict[str, bytes]:
        """Compare in a worker."""
        bytecode, ptx = (read_file(node.path) for node in source)
        result = executor.run(VERIFIED.edge, bytecode, ptx, self.target, source[0].path, timeout=step_timeout(env))
        return {target[0].name: result}


class Verification:
    """The verification steps of one SCons run, and the table at its end."""

    def __init__(self, build):
        self.build, self.nodes = build, {}
        self._builders: dict[str, Builder] = {}
        atexit.register(self.show)

    def add(self, env, kernels: Iterable, settings: Mapping, table: tuple[Stage, ...]) -> None:
        """Steps for each of ``kernels`` and its targets; ``settings`` are each kernel's own, by name."""
        ptx = find("ptx", table).suffix
        for kernel in kernels:
            own = settings[kernel.name]
            for target in own.targets:
                folder = env.Dir(f"{own.build_dir}/{target.name}")
                sources = [kernel.bytecode(target, own), folder.File(kernel.name + ptx)]
                made = self._builder(target)(env, [folder.File(kernel.name + VERIFIED.suffix)], sources)
                self.nodes[made[0]] = Step(ALIAS, target.name, kernel.name)
                self.build.progress.add(made[0], self.nodes[made[0]])
                env.Alias(ALIAS, made)

    def _builder(self, target) -> Builder:
        if target.name not in self._builders:
            self._builders[target.name] = Builder(action=VerifyAction(target, self.build.executor))
        return self._builders[target.name]

    def show(self) -> None:
        """Print what is known of each kernel, at SCons' exit."""
        rows = [row for node, step in self.nodes.items() if node.get_state() in _CURRENT for row in _rows(node, step)]
        if rows and not SCons.Script.GetOption("silent"):
            self.build.progress.end_line()
            print(f"\n{align(('kernel', 'SM', 'grid', 'arrays', 'elements', 'of tolerance', 'result'), rows)}")


def _rows(node, step: Step) -> list[tuple]:
    try:
        checks = json.loads(read_file(node.path))
    except (TileirasError, ValueError):
        return []
    return [_row(check, step) for check in checks]


def _row(check: dict, step: Step) -> tuple:
    if check["reason"]:
        return check["entry"], step.target, "-", "-", "-", "-", f"no inputs: {check['reason']}"
    grid = "x".join(map(str, check["grid"]))
    return check["entry"], step.target, grid, check["arrays"], check["elements"], f"{check['share']:.0%}", "agrees"
