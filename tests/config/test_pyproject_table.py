"""``[tool.tileiras]`` of pyproject.toml: values in the form of the command line, and one sentence for every error."""

import re

import pytest

from tileiras_build.config.build_options import OPTIONS
from tileiras_build.config.pyproject_table import read_table
from tileiras_build.core.errors import InvalidInput

CHECKS = {row.name: row.check for row in OPTIONS}


def read(folder, text: str) -> dict[str, str]:
    (folder / "pyproject.toml").write_text(text)
    return read_table(str(folder), CHECKS)


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ('sm = "90,100"', {"sm": "90,100"}),
        ('sm = ["sm_90", 100]', {"sm": "sm_90,100"}),
        ("sm = 90\nopt = 2", {"sm": "90", "opt": "2"}),
        ("lineinfo = true\nprune = false", {"lineinfo": "yes", "prune": "no"}),
        ('nvcc_flags = ["-I include", "-DN=4"]', {"nvcc_flags": "-I include -DN=4"}),
    ],
)
def test_values(tmp_path, line, values):
    assert read(tmp_path, f"[tool.tileiras]\n{line}\n") == values


@pytest.mark.parametrize(
    "text", ["", "[tool.ruff]\n", '[project]\ndependencies = ["tileiras-build"]\n', "[tool.tileiras]\n"]
)
def test_most_files_say_nothing(tmp_path, text):
    assert read(tmp_path, text) == {}


def test_no_file_says_nothing(tmp_path):
    assert read_table(str(tmp_path), CHECKS) == {}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[tool.tileiras]\ncahce = 'x'\n", "error[pyproject-key]: unknown key 'cahce' in [tool.tileiras]; did you mean cache?"),
        ("[tool.tileiras]\nopt = 9\n", "error[opt-level]: invalid LLVM optimization level '9'"),
        ("[tool.tileiras]\nlineinfo = 'perhaps'\n", "error[option-value]: lineinfo= must be yes or no, got 'perhaps'"),
        ("[tool.tileiras]\nsm = [true]\n", "error[pyproject-value]: "),
        ("[tool]\ntileiras = 3\n", "error[pyproject-toml]: tool.tileiras must be a table"),
        ("[tool.tileiras\n", "error[pyproject-toml]: invalid TOML: "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_reported_with_the_file(tmp_path, text, sentence):
    with pytest.raises(InvalidInput, match=re.escape(f"pyproject.toml: {sentence}")):
        read(tmp_path, text)
