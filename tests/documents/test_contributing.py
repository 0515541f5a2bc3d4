"""The developer's loop: what CONTRIBUTING.md says to type is what CI runs, and there is."""

import re
from pathlib import Path

from tests.documents.typed import Command, steps

ROOT = Path(__file__).resolve().parents[2]
[_, FIRST, *_] = (ROOT / "CONTRIBUTING.md").read_text().split("\n## ")
LOOP = [step.line for step in steps(FIRST) if isinstance(step, Command)]


def test_the_loop_has_five_commands():
    assert len(LOOP) == 5 and "pip install -e '.[dev]'" in LOOP[0]


def test_what_must_pass_is_what_ci_runs():
    checks = (ROOT / ".ci/run").read_text()
    assert all(command in checks for line in LOOP[1:3] for command in line.split(" && "))


def test_hooks_are_the_environments_own():
    """pre-commit downloads nothing, and runs what CI runs."""
    text = (ROOT / ".pre-commit-config.yaml").read_text()
    assert re.findall(r"repo: (.*)", text) == ["local"] and set(re.findall(r"language: (.*)", text)) == {"system"}
    entries = [entry.replace(" --fix", "") for entry in re.findall(r"entry: (.*)", text)]
    checks = (ROOT / ".ci/run").read_text()
    assert all(entry in checks for entry in entries)
