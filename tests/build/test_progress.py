"""The counts of a running build, in any order of calls from SCons' threads."""

import io

import SCons.Node

from tests.core.test_terminal import Screen
from tileiras_build.build.progress import BuildStep, Progress, StepError


class Line:
    """Takes what the line of running steps would show."""

    def __init__(self):
        self.shown: list[tuple[int, int]] = []

    def update(self, done: int, total: int, running: str) -> None:
        self.shown.append((done, total))


class Node(str):
    """A node of SCons as far as progress looks at one."""

    state = SCons.Node.executing

    def get_state(self):
        return self.state


def of_steps(names: str, stream) -> Progress:
    made = Progress(stream)
    for name in names:
        made.add(name, BuildStep("ptx", "sm_90", name))
    return made


def current(name: str) -> Node:
    node = Node(name)
    node.state = SCons.Node.up_to_date
    return node


def test_counts_on_a_terminal_never_go_back(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    progress = of_steps("abcd", Screen())
    progress._line = line = Line()
    progress.evaluated(Node("a"))
    progress.show("ptx a", ["a"], [], None)
    # SCons looks at the next one, which is current, and at one that it will build.
    progress.evaluated(current("b"))
    progress.evaluated(Node("c"))
    progress.finished("a")
    progress.show("ptx c", ["c"], [], None)
    progress.skipped("d")
    progress.finished("c")
    assert line.shown == [(0, 4), (1, 3), (1, 3), (2, 2)]


def test_counts_in_a_log_increase_by_one():
    log = io.StringIO()
    progress = of_steps("abcd", log)
    progress.skipped("c")
    for node in (Node("a"), current("d"), Node("b")):
        progress.evaluated(node)
        if node.state == SCons.Node.executing:
            progress.show(f"ptx {node}", [node], [], None)
    assert log.getvalue().splitlines() == ["[1/3] ptx a", "[2/2] ptx b"]


def test_a_failure_is_printed_once():
    assert str(StepError("node", "k.py:2:1: error[export]: text")) == "failed: see the end of the output"
    log = io.StringIO()
    of_steps("a", log).print_failures([StepError("a", "k.py:2:1: error[export]: text")])
    assert log.getvalue() == "\n1 step failed:\na sm_90 ptx:\n  k.py:2:1: error[export]: text\n"
