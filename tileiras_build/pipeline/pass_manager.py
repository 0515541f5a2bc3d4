"""Passes with contracts: the operations that a pass removes must be absent after its stage.

Each stage package lists its passes, in order, as ``PASSES`` and runs them with ``run_passes(PASSES, module, job)``:

    class LegalizeDot(EdgePass):
        '''Legalize dots.'''
        name = "tileas-legalize-dot"
        illegal_ops = frozenset({"nv_tileaa."})  # operation classes, or dialect prefixes ending in a dot
        rules = RuleTable({"nv_tileas.dot": _legalize})  # or override run_on_function(func, job)
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ..core.errors import InternalError, TileirasError, describe_exception
from ..core.file_io import replace_files
from ..core.knobs import CHECK, DEBUG, dump_folder
from ..core.symbols.check_symbol_names import KERNEL
from ..ir.casting import as_op
from ..ir.dialects.fast_xdsl import block_operations, walk
from ..ir.dialects.op_definition import TableOp
from ..ir.dialects.op_traits import is_function
from .common.module_symbols import symbols
from .pass_verifiers import run_verifiers
from .rewriting.dialect_conversion import Rule, apply_rules
from .rewriting.rewriter import Rewriter
from .schedule.schedule_attribute import is_declined, set_knobs

if TYPE_CHECKING:
    from .job import Job


@dataclass(frozen=True)
class EdgePass(ModulePass):
    """A pass of one stage.

    ``illegal_ops`` names the operations that may not survive the pass: operation classes, or dialect prefixes such as
    ``"cuda_tile."``. The default ``run`` applies the rule of each operation in ``rules`` once, in program order; operations
    that rules insert are not visited. Passes without rules override ``run_on_function``, or ``run`` if functions depend on
    each other. A pass has no state between modules: one instance may serve many jobs.
    """

    name: ClassVar[str]
    illegal_ops: ClassVar[frozenset[type[Operation] | str]] = frozenset()
    # Functions of a Rewriter and an operation, by the operation's name.
    rules: ClassVar[Mapping[str, Rule]] = MappingProxyType({})
    # An optimization that the pass is: kernels whose schedule declines it stay as they are, others record where it happened.
    knob: ClassVar[str | None] = None

    def run(self, module: ModuleOp, job: Job) -> None:
        """Transform ``module`` in place. User errors are raised as InvalidInput or Unsupported."""
        if self.rules:
            apply_rules(walk(module), self.rules, lambda op: Rewriter(op, job))
            return
        for func in filter(is_function, block_operations(module.body.block)):
            is_allowed = self.knob is None or not is_declined(func, self.knob)
            if is_allowed and self.run_on_function(as_op(func), job) and self.knob is not None:
                set_knobs(func, **{self.knob: True})

    def run_on_function(self, func: TableOp, job: Job) -> bool | None:
        """Transform one function of a module in place; of a pass with a ``knob``, whether anything changed."""
        raise NotImplementedError(self.name)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """xDSL's entry point (``xdsl-opt`` and tests), which has no job."""
        raise InternalError("pass-needs-job", f"pass {self.name} needs a job: use run_passes")


def run_passes(passes: Iterable[EdgePass | type[EdgePass]], module: ModuleOp, job: Job, *, edge: str = "") -> ModuleOp:
    """Run ``passes`` (instances or classes) in order over ``module`` in place, check their contracts, and return it.

    ``edge`` names the dumps. Raises InternalError if a pass fails or leaves an operation that it should remove;
    TileirasErrors of passes propagate unchanged.
    """
    done: list[EdgePass] = []
    try:
        for edge_pass in _run_all(passes, module, job, edge):
            done.append(edge_pass)
    except InternalError:
        check_illegal_ops(done, module)  # a later pass may fail on an operation that an earlier one left
        raise
    check_illegal_ops(done, module)
    return module


def _run_all(passes: Iterable[EdgePass | type[EdgePass]], module: ModuleOp, job: Job, edge: str) -> Iterator[EdgePass]:
    """Run each pass and yield it, with the timing, dumps and checks that the knobs enable."""
    debug, check = DEBUG.read(), CHECK.read()
    stem = _dump_stem(module, job) if debug >= 6 else ""
    for position, entry in enumerate(passes):
        edge_pass = entry() if isinstance(entry, type) else entry
        start = time.perf_counter()
        _run_one(edge_pass, module, job)
        if debug >= 2:
            print(f"{(time.perf_counter() - start) * 1e3:9.2f} ms  pass  {edge_pass.name}", file=sys.stderr)
        if debug >= 6:
            _dump(module, f"{stem}-{edge or 'pass'}-{position:02}-{edge_pass.name}.mlir")
        if check >= 2:
            check_illegal_ops((edge_pass,), module)
            verify(module, f"after pass {edge_pass.name}")
            run_verifiers(edge_pass.name, module)
        yield edge_pass


def _run_one(edge_pass: EdgePass, module: ModuleOp, job: Job) -> None:
    try:
        edge_pass.run(module, job)
    except (TileirasError, ImportError):  # a missing dependency is not a bug of the pass
        raise
    except Exception as error:
        raise InternalError("pass-failed", f"pass {edge_pass.name} failed: {describe_exception(error)}") from error


def pass_conditions(edge_pass: EdgePass | type[EdgePass]) -> dict[str, str]:
    """The preconditions and postconditions of a pass: "In" and "Out" of its module's docstring, each as one line."""
    document = sys.modules[edge_pass.__module__ if isinstance(edge_pass, type) else type(edge_pass).__module__].__doc__
    found: dict[str, str] = {}
    head = ""
    for line in (document or "").splitlines():
        word, colon, rest = line.partition(":")
        if colon and word in ("In", "Out", "After", "Before", "Sound"):
            head, line = word, rest
        elif not line.startswith(" "):
            head = ""
        if head in ("In", "Out"):
            found[head] = f"{found.get(head, '')} {line.strip()}".strip()
    return found


def check_illegal_ops(passes: Sequence[EdgePass], module: ModuleOp) -> None:
    """Raise InternalError if an operation that one of ``passes`` removes is still in ``module``: one walk for all
    passes, as the walk is the expensive part.
    """
    checked = tuple(type(edge_pass) for edge_pass in passes if edge_pass.illegal_ops)
    kinds: set[type[Operation]] = {*map(type, walk(module))} if checked else set()
    for kind in kinds:
        if (remover := _pass_that_removes(kind, checked)) is not None:
            raise InternalError(
                "pass-illegal-op", f"operation {kind.name} survived pass {remover.name}, which removes it"
            )


@cache
def _pass_that_removes(kind: type[Operation], passes: tuple[type[EdgePass], ...]) -> type[EdgePass] | None:
    """The first of the passes that removes operations of a class."""
    for edge_pass in passes:
        classes = tuple(entry for entry in edge_pass.illegal_ops if isinstance(entry, type))
        prefixes = tuple(entry for entry in edge_pass.illegal_ops if isinstance(entry, str))
        if issubclass(kind, classes) or kind.name.startswith(prefixes):
            return edge_pass
    return None


def verify(module: ModuleOp, when: str) -> None:
    """Verify ``module``; raises InternalError with the pass after which it is invalid."""
    try:
        module.verify()
    except TileirasError:
        raise
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        raise InternalError("ir-invalid", f"{when} the IR does not verify: {reason}") from error


def _dump_stem(module: ModuleOp, job: Job) -> str:
    """The stem of a module's dumps: its first kernel, the target, and a digest of the module and its options, which
    makes it unique.
    """
    names = [name for kind, name in symbols(module) if kind == KERNEL]
    kernel = re.sub(r"[^\w.-]", "_", names[0])[:60] if names else "module"
    import hashlib

    digest = hashlib.sha256(f"{job}{module}".encode()).hexdigest()[:8]
    return f"{kernel}-{job.target.name}-{digest}"


def _dump(module: ModuleOp, name: str) -> None:
    replace_files({dump_folder() / name: f"{module}\n".encode()})
