"""The tutorial, typed line by line by somebody who has installed the wheel."""

from pathlib import Path

import pytest

from tests.documents.typed import Command, File, execute, steps

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = (ROOT / "docs/tutorial.md").read_text()
# What the test's environment is made instead of.
INSTALLS = ("python -m venv", "pip install")


def test_tutorial(shell, tmp_path):
    done = [step for step in steps(TUTORIAL) if not isinstance(step, Command) or not step.line.startswith(INSTALLS)]
    for step in done:
        execute(step, tmp_path, shell)
    assert sum(isinstance(step, Command) for step in done) >= 14 and sum(isinstance(step, File) for step in done) >= 4


@pytest.mark.parametrize(
    "text, problem",
    [
        ("```console\n$ echo a\nb\n```", "what came out"),
        ("```console\n$ false\n```", "exit 1"),
        ("```console\n$ true  # fails\n```", "exit 0"),
        ("```console\n$ echo a; echo b\na\n```", "what came out"),
    ],
)
def test_what_differs_from_the_document_is_found(text, problem, tmp_path):
    import subprocess

    def shell(line: str) -> subprocess.CompletedProcess:
        return subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)

    with pytest.raises(AssertionError, match=problem):
        for step in steps(text):
            execute(step, tmp_path, shell)


def test_the_kernels_of_the_guides_are_exported(shell, tmp_path):
    """Each guide's kernel files are whole: they export."""
    guides = steps((ROOT / "docs/migrating.md").read_text())
    files = [step for step in guides if isinstance(step, File) and step.path.endswith(".py")]
    assert files
    for file in files:
        execute(file, tmp_path, shell)
        execute(Command(f"tileiras-build export {file.path} -o made && ls made", "...tilebc\n", False), tmp_path, shell)
