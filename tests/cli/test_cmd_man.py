"""The manual page documents the parser, and man's own formatter accepts it."""

import shutil
import subprocess

import pytest

from tileiras_build.cli.cmd_man import manual
from tileiras_build.cli.commands import COMMANDS
from tileiras_build.cli.parser import build_parser, parser_of
from tileiras_build.core.knobs import KNOBS

PAGE = "\n".join(manual())


@pytest.mark.parametrize("row", COMMANDS, ids=lambda row: row.name)
def test_every_command_option_and_example_is_on_the_page(row):
    _, _, rest = PAGE.partition(f".SS {row.name}\n")
    section = rest.partition("\n.S")[0].replace("\\-", "-").replace("\\e", "\\")
    options = parser_of(build_parser(), row)._option_string_actions
    assert [name for name in options if name not in section] == []
    assert all(f"\\fBtileiras-build {line}\\fR\n{what}" in section.replace("\\&", "") for line, what in row.examples)


def test_variables_of_the_environment_are_on_the_page():
    assert all(f"\\fB{knob.name}\\fR" in PAGE for knob in KNOBS)


def test_the_formatter_takes_the_page():
    if shutil.which("groff") is None:
        pytest.skip("there is no groff here")
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-z"], input=PAGE, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and done.stderr == ""
