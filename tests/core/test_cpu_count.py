"""How many cores a process may use."""

import os

from tileiras_build.core import cpu_count


def test_cores_are_those_of_the_process_and_of_its_control_group(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)))
    monkeypatch.setattr(cpu_count, "_QUOTA", tmp_path / "cpu.max")
    assert cpu_count.cpu_count() == 6
    for text, expected in (("max 100000\n", 6), ("250000 100000\n", 2), ("10000 100000\n", 1), ("900000 100000\n", 6)):
        (tmp_path / "cpu.max").write_text(text)
        assert cpu_count.cpu_count() == expected
