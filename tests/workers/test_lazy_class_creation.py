"""A process that defers has the same dataclasses, whose methods are compiled when they are called first."""

import subprocess
import sys

from tileiras_build.workers import lazy_class_creation

# What runs in a process of its own: deferring is for good.
_SHOW = """
import dataclasses, sys
from dataclasses import FrozenInstanceError, InitVar, dataclass, field, replace
from typing import ClassVar

if DEFER:
    from tileiras_build.workers.lazy_class_creation import enable
    enable()
__name__ = "tileiras_build.shown"


def show(what):
    try:
        print(repr(what()))
    except Exception as error:
        print(type(error).__name__, error)


@dataclass(order=True)
class Point:
    x: int
    y: int = 2
    seen: ClassVar[list] = []
    tags: list = field(default_factory=list, compare=False, repr=False)

    def __post_init__(self):
        self.seen.append(self.x)


@dataclass(frozen=True)
class Named:
    "With a docstring."
    name: str
    size: int = field(default=1, kw_only=True)


@dataclass(frozen=True, slots=True)
class Narrow(Named):
    depth: int = 0


class Below(Named):
    pass


@dataclass(eq=False)
class ByIdentity:
    x: int


@dataclass
class Sized:
    x: int
    scale: InitVar[int] = 2

    def __post_init__(self, scale):
        self.x *= scale


class Keyed:
    def __eq__(self, other):
        return True


@dataclass
class Derived(Keyed):
    x: int = 1


@dataclass
class Alone(Derived):
    y: int = 2

    def __init__(self):
        self.z = 3


show(lambda: [Point(1), Point(3, 4), Point(x=5), Point.seen])
show(lambda: Point())
show(lambda: Point(1, z=2))
show(lambda: sorted([Point(2), Point(1), Point(1, 0)]))
show(lambda: Point(1) < 3)
show(lambda: (Point(1) == Point(1, 2, [7]), Point(1) == 1, Point(1) != Point(2)))
show(lambda: hash(Point(1)))
show(lambda: (Named("a") == Named("a"), Named("a") == Named("b"), hash(Named("a")) == hash(Named("a"))))
show(lambda: setattr(Named("a"), "name", "b"))
show(lambda: delattr(Named("a"), "name"))
show(lambda: setattr(Below("a"), "name", "b"))
show(lambda: vars(setattr(made := Below("a"), "other", 1) or made))
show(lambda: [Below("a"), Below("a") == Named("a"), Below("a") == Below("a")])
show(lambda: [Narrow("n", 3, size=4), replace(Narrow("n"), depth=9), dataclasses.asdict(Narrow("n"))])
show(lambda: setattr(Narrow("n"), "depth", 1))
show(lambda: ByIdentity(1) == ByIdentity(1))
show(lambda: (made := ByIdentity(1)) == made)
show(lambda: [Sized(2), Sized(2, 3), Sized(2, scale=5)])
show(lambda: Sized(2, x=3))
show(lambda: [Derived() == 3, Derived.__hash__, Alone(), Alone().y, Alone.__match_args__])
show(lambda: [dataclasses.fields(Alone)[1].name, dataclasses.is_dataclass(Derived), dataclasses.replace(Derived(), x=5)])
show(lambda: [Named("n", size=number) for number in range(30)][-1])
show(lambda: (Named.__match_args__, Named.__doc__, Point.__init__.__qualname__, Point.__eq__.__name__))
match Point(7, 8):
    case Point(7, y):
        print(y)
"""


def _shown(defer: bool) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", f"DEFER = {defer}\n{_SHOW}"]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_deferred_dataclasses_behave_like_others():
    assert _shown(True).stdout == _shown(False).stdout


def test_methods_are_compiled_when_they_are_called():
    code = """
import dataclasses
from tileiras_build.workers.lazy_class_creation import enable
enable()
compiled = []
dataclasses.__builtins__["exec"], execute = lambda *words: compiled.append(words[0]) or execute(*words), exec
Made = dataclasses.make_dataclass("Made", ["x"], frozen=True)
print(len(compiled))
print(Made(1) == Made(1), len(compiled), Made(1) == Made(2), len(compiled))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    made, texts = done.stdout.split("\n")[:2]
    # Python 3.13 has one text for all methods, others one for each: here that of ``__eq__``.
    assert (made, texts) == ("0", "True 1 False 1")


def test_classes_of_kernel_files_are_processed_at_once():
    code = """
from dataclasses import dataclass
from tileiras_build.workers.lazy_class_creation import enable
enable()
for __name__ in ("tileiras_build.shown", "kernels"):
    @dataclass
    class Made:
        x: int
    print(type(vars(Made)["__dataclass_fields__"]).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["_PendingValue", "dict"]


def test_where_others_run_their_code_too_only_named_packages_defer():
    code = """
import dataclasses
from tileiras_build.workers.lazy_class_creation import OWN, enable
enable(*OWN)
from tileiras_build.pipeline.job import Job
Made = dataclasses.make_dataclass("Made", ["x"])
print(Made.__init__.__code__.co_argcount, Job.__init__.__code__.co_argcount, Job(None).opt_level)
for _ in range(20):
    Job(None)
print(Job.__init__.__code__.co_argcount > 2)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["2 1 3", "True"]


def test_this_process_has_not_deferred():
    assert not lazy_class_creation.is_enabled()
