"""The counts of a running build, in any order of calls from SCons' threads."""

import io

from tests.core.test_terminal import Screen
from tileiras_build.build.progress import BuildStep, Progress


class Line:
    """Takes what the line of running steps would show."""

    def __init__(self):
        self.shown: list[tuple[int, int]] = []

    def update(self, done: int, total: int, running: str) -> None:
        self.shown.append((done, total))


def of_steps(names: str, stream) -> Progress:
    made = Progress(stream)
    for name in names:
        made.add(name, BuildStep("ptx", "sm_90", name))
    return made


def test_counts_on_a_terminal_never_go_back(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    progress = of_steps("abcd", Screen())
    progress._line = line = Line()
    progress.evaluated("a")
    progress.show("ptx a", ["a"], [], None)
    # SCons looks at the next one, which is current, and at one that it will build.
    progress.evaluated("b")
    progress.evaluated("c")
    progress.finished("a")
    progress.show("ptx c", ["c"], [], None)
    progress.skipped("d")
    progress.finished("c")
    assert line.shown == [(0, 4), (3, 4), (3, 4), (4, 4)]


def test_counts_in_a_log_never_go_back():
    log = io.StringIO()
    progress = of_steps("abc", log)
    progress.skipped("c")
    for name in "ab":
        progress.evaluated(name)
        progress.show(f"ptx {name}", [name], [], None)
    assert log.getvalue().splitlines() == ["[2/3] ptx a", "[3/3] ptx b"]
