"""Generated functions: at first their lines as the emitter writes them, and fused once they have been called for enough threads
in a process that has machine code, or has computed enough for it.

Looking for what can be fused (``fuse_elementwise.py``, ``batch_shared_loads.py``) takes as long as NumPy takes for what a few calls compute, and
most functions of a small kernel are called once in a launch. Both forms have the same bits and the same faults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from ..jit import batch_shared_stores, vector_vm
from ..jit.batch_shared_loads import merge_adjacent_loads
from ..matmul import gemm_jit
from .delete_dead_variables import delete_dead_variables
from .fuse_elementwise import FusedRun, Fuser
from .python_code_cache import PythonCodeCache

if TYPE_CHECKING:
    from ..simt.thread_group import ThreadGroup

CALL_OVERHEAD_THREADS = 1 << 11  # threads for which NumPy takes as long as a call takes for any number of them
TIER_UP_THREADS = 1 << 16  # threads, and calls counted as such, after which fusing saves as much as it takes
LINES_PER_RESULT = 2  # lines computes a number in a run, as a rule


class GeneratedFunction(Protocol):
    """What runs instructions up to the pc ``end``, ``count`` of them, and reads the registers ``loads``; ``origin`` is the pc of
    each line."""

    origin: list[int]
    loads: tuple[int, ...]
    count: int
    end: int

    def __call__(self, group: ThreadGroup, /) -> object: ...


@dataclass(frozen=True)
class FunctionBody:
    """The lines of a function and the pc of each; ``kinds``: those of registers' variables; ``space``: what lines refer to."""

    name: str
    lines: list[str]
    origin: list[int]
    kinds: dict[str, str]
    space: dict[str, Any]
    file: str  # in tracebacks
    loads: tuple[int, ...]
    count: int
    end: int
    translations: PythonCodeCache

    def function(self) -> GeneratedFunction:
        source = "\n    ".join([f"def {self.name}(g):", "R = g.R", *delete_dead_variables(self.lines)]) + "\n"
        scope: dict[str, object] = {}
        exec(self.translations.code(source, self.file), self.space, scope)  # the text is the emitter's own
        function = cast(GeneratedFunction, scope[self.name])
        function.origin = [self.origin[0]] * 2 + self.origin
        function.loads, function.count, function.end = self.loads, self.count, self.end
        return function

    def optimized(self) -> FunctionBody:
        """The same with runs in place of lines; itself where there is nothing to fuse."""
        lines, origin = merge_adjacent_loads(self.lines, self.origin, self.space)
        lines, origin = Fuser(self.kinds, self.space, self.name_run).fuse(lines, origin)
        lines, origin = batch_shared_stores.merge_adjacent_stores(lines, origin, self.space)
        return self if lines == self.lines else replace(self, lines=lines, origin=origin)

    def name_run(self, run: FusedRun) -> str:
        name = f"run_{len(self.space)}"
        self.space[name] = run
        return name


class BaselineFunction:
    """A function that is fused after enough calls: then ``keep`` takes the one to be called from now on."""

    def __init__(self, body: FunctionBody, install: Callable[[Callable[[], GeneratedFunction]], GeneratedFunction]):
        self.body, self.install = body, install
        self.baseline = body.function()
        self.origin, self.loads, self.count, self.end = self.baseline.origin, body.loads, body.count, body.end
        self.threads = 0

    def __call__(self, group: ThreadGroup, /) -> object:
        self.threads += group.size + CALL_OVERHEAD_THREADS
        return (self.install(self.tier_up) if self.is_hot(group.size) else self.baseline)(group)

    def is_hot(self, threads: int) -> bool:
        if self.threads <= TIER_UP_THREADS:
            return False
        return (
            vector_vm.has_amortized_compile(len(self.body.lines) * threads // LINES_PER_RESULT) or gemm_jit.is_ready()
        )

    def tier_up(self) -> GeneratedFunction:
        fused = self.body.optimized()
        return self.baseline if fused is self.body else fused.function()
