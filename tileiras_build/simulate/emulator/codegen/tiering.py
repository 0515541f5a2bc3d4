"""Generated functions: at first their lines as the emitter writes them, and fused once they have been called for enough threads
in a process that has machine code, or has computed enough for it.

Looking for what can be fused (``fusion.py``, ``batch_shared_loads.py``) takes as long as NumPy takes for what a few calls compute, and
most functions of a small kernel are called once in a launch. Both forms have the same bits and the same faults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from ..jit import batch_shared_stores, vector_vm
from ..jit.batch_shared_loads import together
from ..matmul import gemm_jit
from .delete_dead_variables import with_deletions
from .fuse_elementwise import Fuser, Run
from .python_code_cache import Translations

if TYPE_CHECKING:
    from ..simt.thread_group import Group

CALL = 1 << 11  # threads for which NumPy takes as long as a call takes for any number of them
ENOUGH = 1 << 16  # threads, and calls counted as such, after which fusing saves as much as it takes
ONE_IN = 2  # lines computes a number in a run, as a rule


class Function(Protocol):
    """What runs instructions up to the pc ``end``, ``count`` of them, and reads the registers ``loads``; ``origin`` is the pc of
    each line."""

    origin: list[int]
    loads: tuple[int, ...]
    count: int
    end: int

    def __call__(self, group: Group, /) -> object: ...


@dataclass(frozen=True)
class Body:
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
    translations: Translations

    def function(self) -> Function:
        source = "\n    ".join([f"def {self.name}(g):", "R = g.R", *with_deletions(self.lines)]) + "\n"
        scope: dict[str, object] = {}
        exec(self.translations.code(source, self.file), self.space, scope)  # the text is the emitter's own
        function = cast(Function, scope[self.name])
        function.origin = [self.origin[0]] * 2 + self.origin
        function.loads, function.count, function.end = self.loads, self.count, self.end
        return function

    def fused(self) -> Body:
        """The same with runs in place of lines; itself where there is nothing to fuse."""
        lines, origin = together(self.lines, self.origin, self.space)
        lines, origin = Fuser(self.kinds, self.space, self.name_run).fuse(lines, origin)
        lines, origin = batch_shared_stores.together(lines, origin, self.space)
        return self if lines == self.lines else replace(self, lines=lines, origin=origin)

    def name_run(self, run: Run) -> str:
        name = f"run_{len(self.space)}"
        self.space[name] = run
        return name


class FirstCalls:
    """A function that is fused after enough calls: then ``keep`` takes the one to be called from now on."""

    def __init__(self, body: Body, keep: Callable[[Callable[[], Function]], Function]):
        self.body, self.keep = body, keep
        self.plain = body.function()
        self.origin, self.loads, self.count, self.end = self.plain.origin, body.loads, body.count, body.end
        self.threads = 0

    def __call__(self, group: Group, /) -> object:
        self.threads += group.size + CALL
        return (self.keep(self.later) if self.is_worth_it(group.size) else self.plain)(group)

    def is_worth_it(self, threads: int) -> bool:
        if self.threads <= ENOUGH:
            return False
        return vector_vm.has_made_enough(len(self.body.lines) * threads // ONE_IN) or gemm_jit.is_ready()

    def later(self) -> Function:
        fused = self.body.fused()
        return self.plain if fused is self.body else fused.function()
