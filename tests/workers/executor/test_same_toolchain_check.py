"""What a worker is compared by."""

from tileiras_build.workers.executor.same_toolchain_check import (
    PACKAGE,
    Component,
    _digest,
    components,
    difference,
    digest_of,
)


def test_parts_are_what_makes_artifacts():
    assert {"Python", "xdsl", "llvmlite", "numpy", PACKAGE} <= components().keys()
    assert all(part.digest for name, part in components().items() if name != "Python")


def test_other_contents_of_the_same_version_are_distinguished(tmp_path):
    (tmp_path / "a.py").write_text("one")
    before = _digest([("a.py", str(tmp_path / "a.py"))])
    (tmp_path / "a.py").write_text("two")
    ours, theirs = components(), components() | {"xdsl": Component(components()["xdsl"].version, before)}
    assert before != _digest([("a.py", str(tmp_path / "a.py"))])
    assert digest_of(theirs) != digest_of(ours)
    assert difference(theirs, ours) == f"has xdsl {theirs['xdsl']}, this build has xdsl {ours['xdsl']}"
    assert difference(ours, ours) == ""
