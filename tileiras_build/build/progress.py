"""The output of a build: a line per step with counts, and at the end the table of resources and the failures.

On a terminal one line is updated in place, with percentage and remaining time; elsewhere (logs, CI) each step is a line. As in
ninja, the total becomes smaller where steps are found to be up to date. The last line names the next command.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import SCons.Node
import SCons.Node.Alias
import SCons.Script
from SCons.Errors import BuildError

from ..core.errors import TileirasError
from ..core.plurals import count_text
from ..core.terminal import RunningLine, coloured, explain_hint, first_location, is_terminal
from ..reports.resource_usage import print_resources, read_manifest

TABLE_LIMIT = 200  # rows; a longer table is left to `tileiras-build report`
_CURRENT = (SCons.Node.executed, SCons.Node.up_to_date)


@dataclass(frozen=True)
class BuildStep:
    """One node that the build makes: stage and kernel, and the target's name ("" for bytecode)."""

    stage: str
    target: str
    kernel: str


class Progress:
    """Counts the steps of one SCons run. Its methods are called from SCons' worker threads.

    ``total_cubins``: the number of all cubins if this run checks some of them, else None. A ``dry`` run lists its steps.
    """

    def __init__(self, stream: TextIO = sys.stdout, total_cubins: int | None = None, *, dry: bool = False):
        # That of SCons, which goes on where its reader has closed a pipe; at exit ``sys.stdout`` is another one.
        self.stream, self.total_cubins = stream, total_cubins
        self.steps: dict[SCons.Node.Node, BuildStep] = {}
        self.manifests: dict[SCons.Node.Node, SCons.Node.Node] = {}
        self.without_variants: set[SCons.Node.Node] = set()
        self.current_steps = 0  # known to be up to date
        self._begun: set[SCons.Node.Node] = set()
        self.running: dict[SCons.Node.Node, str] = {}
        self._start = self._last = time.monotonic()
        self._line = RunningLine(stream) if is_terminal(stream) and not dry else None
        self._lock = threading.RLock()

    def add(self, node, step: BuildStep, manifest=None, variants: bool = True) -> None:
        """Count ``node`` as a step; ``manifest`` is the node of its launch manifest, if it has one. ``variants``: whether the
        kernel may have a variant.
        """
        self.steps[node] = step
        if manifest is not None:
            self.manifests[node] = manifest
            self.without_variants |= set() if variants else {node}

    def evaluated(self, node) -> None:
        """SCons visits ``node``, which it will build or has found up to date."""
        if node in self.steps and node.get_state() == SCons.Node.up_to_date:
            with self._lock:
                self.current_steps += 1

    def skipped(self, node) -> None:
        """``node`` is current, and SCons will not visit it."""
        self.current_steps += node in self.steps

    def show(self, line: str, target, source, env) -> None:
        """SCons' PRINT_CMD_LINE_FUNC: show that ``target`` is being built."""
        with self._lock:
            if not target or target[0] not in self.steps:
                self.end_line()
                self.stream.write(line + "\n")
                return
            self._begun.add(target[0])
            self.running[target[0]] = " ".join(line.split())
            if self._line is not None:
                self._update(self._line)
            else:
                self.stream.write(_numbered(self.built, self._total(), line))
                self.stream.flush()

    def show_all(self, lines: list[str]) -> None:
        """Show steps that a dry run does not run."""
        self.stream.write("".join(_numbered(number, len(lines), line) for number, line in enumerate(lines, 1)))
        self.stream.flush()

    def finished(self, node) -> None:
        """The step that makes ``node`` has ended, with or without success."""
        with self._lock:
            self._last = time.monotonic()
            if self.running.pop(node, None) and self._line is not None:
                self._update(self._line)

    def warn(self, text: str) -> None:
        """Print a warning of the running step."""
        with self._lock:
            self.end_line()
            self.stream.write(coloured(f"{text}\n", self.stream))

    @property
    def built(self) -> int:
        """The number of started steps."""
        return len(self._begun)

    @property
    def last_step(self) -> float | None:
        """When the last step ended, by the monotonic clock; None if there was none."""
        if not self.built:
            return None
        return time.monotonic() if self.running else self._last

    def end_line(self) -> None:
        """Erase the line of the running steps, so that other text can be printed."""
        with self._lock:
            if self._line is not None:
                self._line.clear()

    def _total(self) -> int:
        """The number of steps, without those that are known to be up to date; never increases."""
        return len(self.steps) - self.current_steps

    def _update(self, line: RunningLine) -> None:
        line.update(self.built - len(self.running), self._total(), " | ".join(self.running.values()))

    def summarize(self, failures: list, build_dir: str) -> None:
        """Print the table of the current cubins, and the failures; nothing if nothing was built."""
        self.end_line()
        failed = self._failed(failures)
        if not self.built and not failed:
            return
        lost = {(step.target, step.kernel) for step, _ in failed}
        self._print_table(lost, build_dir)
        self.print_failures(failures)
        seconds, made = time.monotonic() - self._start, len(self._begun.difference(map(_node, failures)))
        self.stream.write(f"\n{count_text(made, 'step')} in {seconds:.1f} s; {next_step_hint(failures)}\n")

    def print_failures(self, failures: list) -> None:
        """Print the failed steps with their diagnostics."""
        if failed := self._failed(failures):
            self.end_line()
            self.stream.write(f"\n{count_text(len(failed), 'step')} failed:\n")
            for step, failure in failed:
                self._print_failure(step, str(failure.errstr))
            self.stream.write(explain_hint("\n".join(str(failure.errstr) for _, failure in failed), self.stream))

    def _failed(self, failures: list) -> list[tuple[BuildStep, BuildError]]:
        return [(self.steps[node], failure) for failure in failures if (node := _node(failure)) in self.steps]

    def _print_failure(self, step: BuildStep, text: str) -> None:
        """The failed step, followed by its diagnostic."""
        lines = "\n".join(f"  {line}" for line in text.splitlines())
        self.stream.write(
            coloured(f"{step.kernel} {step.target} {step.stage}:".replace("  ", " ") + f"\n{lines}\n", self.stream)
        )

    def lost_nodes(self, failures: list) -> set:
        """The nodes of steps that failed, or that depend on failed ones."""
        failed = {_node(failure) for failure in failures}
        return failed | {node for node in self.steps if node.get_state() == SCons.Node.failed}

    def add_line(self, text: str) -> None:
        """Print ``text`` at the end, unless it is empty."""
        if text:
            self.end_line()
            self.stream.write(f"\n{text}\n")

    def _print_table(self, lost: set[tuple[str, str]], build_dir: str) -> None:
        """The table of the cubins that this run built, and the number of all where that has more."""
        current = [node for node in self._current() if self._place(node) not in lost]
        count = len(current) if self.total_cubins is None else self.total_cubins - len(lost)
        built = [node for node in current if node.get_state() == SCons.Node.executed]
        if len(built) <= TABLE_LIMIT:
            self._print_rows(built)
        if count > len(built) or len(built) > TABLE_LIMIT:
            self.stream.write(f"\n{count_text(count, 'cubin')}; see: tileiras-build report {build_dir}\n")

    @property
    def is_large(self) -> bool:
        """Whether there are too many cubins to list."""
        return self.current_cubins() > TABLE_LIMIT

    def current_cubins(self) -> int:
        """The number of current cubins."""
        return len(self._current())

    def _current(self) -> list:
        return [node for node in self.manifests if node.get_state() in _CURRENT]

    def _place(self, node) -> tuple[str, str]:
        step = self.steps[node]
        return step.target, step.kernel

    def _print_rows(self, nodes: list) -> None:
        rows, unreadable = [], 0
        for node in nodes:
            try:
                rows += read_manifest(Path(self.manifests[node].path))
            except TileirasError:
                unreadable += 1
        if rows:
            self.stream.write("\n")
            print_resources(rows, self.stream)
            self._print_missing_promises([node for node in nodes if node in self.without_variants])
            self._print_tuning_notes(nodes)
        if unreadable:
            self.stream.write(f"cannot read {count_text(unreadable, 'launch manifest')}\n")

    def _print_missing_promises(self, nodes: list) -> None:
        if not nodes:
            return
        from ..reports.missing_promises import missing_promises

        with suppress(TileirasError):
            lines = missing_promises(Path(self.manifests[node].path) for node in nodes)
            self._print_lines(lines)

    def _print_tuning_notes(self, nodes: list) -> None:
        from ..reports.tuning_notes import tuning_notes

        with suppress(TileirasError, ValueError):
            self._print_lines(tuning_notes(Path(self.manifests[node].path) for node in nodes))

    def _print_lines(self, lines: list[str]) -> None:
        self.stream.write("".join(f"{line}\n" for line in ["", *lines] if lines))


def _numbered(number: int, total: int, line: str) -> str:
    """A step of ``total`` ones."""
    return f"[{number:>{len(str(total))}}/{total}] {line}\n"


def _node(failure):
    """The first target of a BuildError, whose ``node`` is a node or a list of them."""
    return failure.node[0] if isinstance(failure.node, (list, tuple)) else failure.node


def next_step_hint(failures: list) -> str:
    """The next command, as a clause."""
    option, asked = SCons.Script.GetOption, set(map(str, SCons.Script.COMMAND_LINE_TARGETS))
    if failures:
        place = first_location("\n".join(str(failure.errstr) for failure in failures))
        rest = "" if option("keep_going") or len(failures) > 1 else "; `scons -k` builds everything else meanwhile"
        return f"next: fix {place or 'the errors above'} and rerun{rest}"
    aliases = SCons.Node.Alias.default_ans
    left = [name for name in ("verify", "package") if name not in asked and (name == "verify" or aliases.lookup(name))]
    return f"next: scons {left[0]}" if left else "next: scons report"


class StepError(BuildError):
    """A failed step whose diagnostic the summary prints: SCons, which prints it at once, refers to that."""

    def __str__(self) -> str:
        return "failed: see the end of the output"


class ProgressSafeStream:
    """A stream that erases the progress line first: SCons and others print through it."""

    def __init__(self, stream: TextIO, before: Callable[[], None]):
        self._stream, self._before = stream, before

    def write(self, text: str) -> int:
        """Write ``text`` in place of the progress line, which is shown again below it."""
        self._before()
        self._stream.write(coloured(text, self._stream))
        return len(text)

    def __getattr__(self, name: str):
        return getattr(self._stream, name)
