"""nvidia_tileiras_options.py: command lines are read as NVIDIA's program reads them, and refused in its words."""

import pytest

from tileiras_build.config.nvidia_tileiras_options import OPT_LEVEL, OPTIONS, UsageError, help_text, parse
from tileiras_build.target.targets import TARGETS


@pytest.mark.parametrize(
    "arguments, name, value",
    [
        (["--gpu-name=sm_90"], "gpu-name", "sm_90"),
        (["--gpu-name", "sm_90"], "gpu-name", "sm_90"),
        (["-arch=sm_80"], "gpu-name", "sm_80"),
        (["--arch", "sm_80", "--gpu-name=sm_90"], "gpu-name", "sm_90"),
        (["-O2"], "opt-level", 2),
        (["--O1"], "opt-level", 1),
        (["-O=0"], "opt-level", 0),
        (["--opt-level", "1"], "opt-level", 1),
        (["-O3", "-O2"], "opt-level", 2),
        ([], "opt-level", 3),
        (["-g"], "device-debug", True),
        (["--lineinfo=true"], "lineinfo", True),
        (["--lineinfo=0"], "lineinfo", False),
        (["-o", "x"], "output-file", "x"),
        ([], "output-file", "elf.o"),
        (["-l", "a", "-l", "b"], "l", ("a", "b")),
        (["--remarks=memory"], "remarks", "memory"),
        (["--remark-format", "yaml"], "remark-format", "yaml"),
        (["--host-arch=aarch64"], "host-arch", "aarch64"),
        (["--sanitize=memcheck"], "sanitize", "memcheck"),
    ],
)
def test_values(arguments, name, value):
    line = parse([*arguments, "k.bc"])
    values = {**line.flags, **line.texts, **line.lists, OPT_LEVEL: line.level}
    assert values[name] == value and line.file == "k.bc"


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["--gpu-name", "sm_91"], "tileiras: for the --gpu-name option: Cannot find option named 'sm_91'!"),
        (["--gpu-name"], "tileiras: for the --gpu-name option: requires a value!"),
        (["-O"], "tileiras: for the -O option: requires a value!"),
        (["--opt-level=abc"], "tileiras: for the --opt-level option: 'abc' value invalid for integer argument!"),
        (["--host-os=foo"], "tileiras: for the --host-os option: Cannot find option named 'foo'!"),
        (["--remarks=foo"], "tileiras: for the --remarks option: Cannot find option named 'foo'!"),
        (["--lineinfo=maybe"],
         "tileiras: for the --lineinfo option: 'maybe' is invalid value for boolean argument! Try 0 or 1"),
        (["--bogus"], "tileiras: Unknown command line argument '--bogus'.  Try: '/bin/tileiras --help'"),
        (["--gpu-nam"],
         "tileiras: Unknown command line argument '--gpu-nam'.  Try: '/bin/tileiras --help'\n"
         "tileiras: Did you mean '--gpu-name'?"),
        (["x", "y"],
         "tileiras: Too many positional arguments specified!\n"
         "Can specify at most 1 positional arguments: See: /bin/tileiras --help"),
    ],
)  # fmt: skip
def test_refusals(arguments, text):
    with pytest.raises(UsageError) as caught:
        parse(arguments, "/bin/tileiras")
    assert str(caught.value) == text


def test_help_names_every_option_and_gpu():
    text = help_text()
    for option in OPTIONS:
        assert f"-{option.name}" in text and option.help in text
    assert all(f"    ={name} " in text for name in TARGETS)
