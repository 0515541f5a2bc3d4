"""Shell completion scripts: the one for bash is run; those for other shells contain every command and option."""

import shutil
import subprocess

import pytest

from tileiras_build.cli.cmd_completion import completion_parser, script
from tileiras_build.cli.commands import COMMANDS
from tileiras_build.cli.parser import parser_of
from tileiras_build.target.targets import ALL_TARGETS


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """What bash offers behind these words, of which the last is being typed."""
    folder = tmp_path_factory.mktemp("completion")
    (folder / "script").write_text(script("bash"))
    (folder / "here").mkdir()
    (folder / "here/kernel.tilebc").touch()
    (folder / "here/kernels").mkdir()

    def offers(*words: str) -> list[str]:
        code = 'source ../script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tileiras_build; printf "%s\\n" "${COMPREPLY[@]}"'
        command = ["bash", "-c", code, "bash", "tileiras-build", *words]
        done = subprocess.run(command, cwd=folder / "here", capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout.split()

    return offers


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["low"], ["lower"]),
        (["lower", "--to", "p"], ["ptx"]),
        (["lower", "--t"], ["--to", "--timeout"]),
        (["lower", "k.tilebc", "--sm", "sm_8"], ["sm_80", "sm_86", "sm_87", "sm_88", "sm_89"]),
        (["lower", "--fp8-promotion-interval", ""], ["32", "64", "128"]),
        (["lower", "k.tilebc", "--sm", "sm_90,sm_80"], ["sm_90,sm_80"]),
        (["lower", "--sm", "=", "sm_90"], ["sm_90"]),
        (["lower", "--sm", "=", "sm_90", "--to", "=", "p"], ["ptx"]),
        (["lower", "--serializer", "="], ["nvptx", "libnvvm"]),
        (["lower", "--until", "convert-tile-"], ["convert-tile-as-to-llvm"]),
        (["opt", "--pass", "convert-math"], ["convert-math-to-libdevice"]),
        (["dis", "kern"], ["kernel.tilebc", "kernels"]),
        (["report", "kern"], ["kernels"]),
        (["as", "--gpu-name", "sm_90"], ["sm_90"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["run", "--max-steps", ""], []),
    ],
)
def test_bash_offers(complete, words, offered):
    assert sorted(complete(*words)) == sorted(offered)


def test_all_commands_and_targets_are_offered(complete):
    assert set(complete("")) == {row.name for row in COMMANDS}
    assert set(complete("targets", "--")) == {"--help", "--json"}
    assert set(complete("lower", "--sm", "")) == {*ALL_TARGETS, "native", "all"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_every_option(shell):
    parser, text = completion_parser(), script(shell)
    for row in COMMANDS:
        assert row.name in text
        for name in parser_of(parser, row)._option_string_actions:
            spelled = name if shell == "zsh" else f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            assert spelled in text


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_script(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    (tmp_path / "script").write_text(script(shell))
    done = subprocess.run([shell, "-n", str(tmp_path / "script")], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == ""
