"""The command line's parser: it accepts every example, and suggests names for misspelled ones."""

import shlex

import pytest

from tileiras_build.cli.commands import COMMANDS
from tileiras_build.cli.dispatch import main
from tileiras_build.cli.parser import EXAMPLES, parse
from tileiras_build.core.version import __version__


@pytest.mark.parametrize("row", COMMANDS, ids=lambda row: row.name)
def test_examples_are_read_by_their_command(row):
    assert row.examples
    for line, _ in row.examples:
        words = shlex.split(line)
        assert words[0] == row.name
        if row.name == "as":
            from tileiras_build.config.nvidia_tileiras_options import parse as read

            assert read(words[1:]).file
        else:
            assert parse(words[: words.index("--") if "--" in words else None]).name == row.name


@pytest.mark.parametrize("row", [row for row in COMMANDS if row.name != "as"], ids=lambda row: row.name)
def test_help_has_the_examples(row, capsys):
    with pytest.raises(SystemExit) as ended:
        main([row.name, "--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert all(f"  tileiras-build {line}\n      {what}" in said for line, what in row.examples)


def test_help_of_all_lists_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    assert all(f"\n    {row.name}" in said for row in COMMANDS) and all(line in said for line, _ in EXAMPLES)


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"tileiras-build {__version__}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lowr"], "unknown command 'lowr'; did you mean lower? use one of init, lower,"),
        (["frobnicate"], "unknown command 'frobnicate'; use one of init"),
        (["lower", "k.ll", "--too", "ptx"], "unknown option '--too'; did you mean --to?"),
        (["targets", "--jsn"], "unknown option '--jsn'; did you mean --json?"),
        (["completion", "fsh"], "invalid value 'fsh'; did you mean fish?"),
        (["run", "k.tilebc", "--device", "gpuu"], "invalid value 'gpuu'; did you mean gpu?"),
    ],
)
def test_what_was_likely_meant_is_named(words, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    error = capsys.readouterr().err
    assert ended.value.code == 2 and said in error and len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["lower", "k.tilebc", "--to", "ptxx", "--sm", "90"],
            "error[stage-unknown]: 'ptxx' is not a stage; did you mean ptx?",
        ),
        (
            ["lower", "k.tilebc", "--to", "ptx", "--sm", "sm90"],
            "error[unknown-target]: unknown target sm=sm90; did you mean sm_90?",
        ),
    ],
)
def test_names_of_the_compiler_are_suggested_too(words, said, capsys):
    assert main(words) == 1
    assert said in capsys.readouterr().err


def test_a_value_that_begins_like_an_option_is_the_scripts(capsys):
    assert parse(["opt", "k.mlir", "--pass=a", "--sm=sm_90"]).passes == ["a"]
    assert parse(["export", "k.cu", "--nvcc-flags=--use_fast_math -O3"]).nvcc_flags == "--use_fast_math -O3"


def test_no_command_shows_what_there_is(capsys):
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2 and "examples:" in capsys.readouterr().err


def test_a_command_without_options_says_so():
    assert [row.name for row in COMMANDS if not row.has_options] == ["as", "man"]
