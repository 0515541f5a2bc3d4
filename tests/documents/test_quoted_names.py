"""What documents quote exists: commands, options, passes, remarks, ids of errors, variables, modules and files."""

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tests.documents.test_document_words import DOCUMENTS, ROOT
from tileiras_build.cli.cmd_completion import completion_parser
from tileiras_build.cli.commands import COMMANDS
from tileiras_build.cli.parser import parser_of
from tileiras_build.config.build_options import DEFAULTS
from tileiras_build.core.error_index.explanations import explanations
from tileiras_build.pipeline.opt import registry
from tileiras_build.pipeline.stages import STAGES

# Files of NVIDIA's and TileGym's samples, and of readers.
FILES_OF_OTHERS = """
    AllGatherMatmul.py AttentionFMHA.py BatchMatMul.py BlockScaledMatMul.py FFT.py LayerNorm.py MatMul.py MoE.py Transpose.py
    VectorAddition.py VectorAdd_quickstart.py quickstart/VectorAdd_quickstart.py modeling/transformers/infer.py build_helpers.py
"""
_FENCED = r"^```[^\n]*\n(?P<fenced>.*?)^```"
_CODE = re.compile(rf"{_FENCED}|`(?P<span>[^`]+)`|(?P<indented>(?:^ {{4}}[^\n]*\n)+)", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"tileiras-build ([a-z]+)(?![\w-])([^|;&#]*)")
_LONG_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
_BUILD_OPTION = re.compile(r"(?<![\w.-])([a-z]\w*)=")


def current(document: Path) -> str:
    """A document without its list of renamed things, whose old names are gone."""
    return re.sub(r"^### Renamed.*?(?=^### )", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)


def code(document: Path) -> Iterator[str]:
    """The lines of code that a document quotes, in blocks and within sentences."""
    for match in _CODE.finditer(current(document)):
        yield from match[match.lastgroup].splitlines()


@cache
def tracked() -> tuple[Path, ...]:
    """The files of the project."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no checkout of git")
    return tuple(path for name in listed.stdout.splitlines() if (path := ROOT / name).is_file())


@cache
def source() -> str:
    """The text of the project's programs."""
    return "\n".join(path.read_text() for path in tracked() if path.suffix in (".py", ".jinja"))


@cache
def options() -> dict[str, set[str]]:
    """The options of each command."""
    parser = completion_parser()
    return {row.name: set(parser_of(parser, row)._option_string_actions) for row in COMMANDS}


def unknown_options(line: str) -> Iterator[str]:
    """Commands, and options of commands and builds, that a line names and that do not exist."""
    for command, rest in _COMMAND.findall(line):
        if command not in options():
            yield command
            continue
        # Behind a lone -- are the options of a script, or of SCons.
        named = _LONG_OPTION.findall(re.split(r"\s--(?:\s|$)", rest)[0])
        yield from (f"{command} {name}" for name in named if name not in options()[command])
    for rest in re.findall(r"(?:^|\s)scons ([^#]*)", line):
        yield from (f"scons {name}=" for name in _BUILD_OPTION.findall(rest) if name not in {*DEFAULTS, "name"})


def exists(path: str) -> bool:
    """Whether an object can be imported by its dotted path."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for name in parts[end:]:
            if not hasattr(found, name):
                return False
            found = getattr(found, name)
        return True
    return False


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_and_options_exist(document):
    assert [found for line in code(document) for found in unknown_options(line)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_passes_and_remarks_exist(document):
    lines = list(code(document))
    known = {*registry(), *(entry.name for stage in STAGES for entry in stage.passes), *explanations()}
    named = [name for line in lines for name in re.findall(r"^(?:tileaa|tileas|convert)-[a-z0-9-]+$", line)]
    remarks = [name for line in lines for name in re.findall(r"^Remark[A-Z]\w+$", line)]
    assert [name for name in named + remarks if name not in known] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_errors_and_variables_exist(document):
    lines = list(code(document))
    ids = [name for line in lines for name in re.findall(r"error\[([\w-]+)\]", line)]
    variables = [name for line in lines for name in re.findall(r"\bTILEIRAS_[A-Z_]+[A-Z]", line)]
    assert [name for name in ids if name not in explanations()] + [
        name for name in variables if name not in source()
    ] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_modules_and_files_exist(document):
    lines = list(code(document))
    modules = [name for line in lines for name in re.findall(r"\btileiras_build(?:\.\w+)+", line)]
    files = [line for line in lines if re.fullmatch(r"[\w/]+\.py", line) and line not in FILES_OF_OTHERS.split()]
    paths = [f"/{path.relative_to(ROOT)}" for path in tracked()]
    missing = [name for name in files if not any(path.endswith(f"/{name}") for path in paths)]
    assert [name for name in modules if not exists(name)] + missing == []


@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        ("tileiras-build lower k.tilebc --to ptx --sm 90", []),
        ("tileiras-build run a.py --sm 90 -- --its-own", []),
        ("scons sm=90 report_label=v1", []),
        ("tileiras-build lowr k.tilebc", ["lowr"]),
        ("tileiras-build lower k.tilebc --tile-group 8", ["lower --tile-group"]),
        ("scons tile_group=8", ["scons tile_group="]),
    ],
)
def test_unknown_names_are_found(line, unknown):
    assert list(unknown_options(line)) == unknown
    assert exists("tileiras_build.driver.compile") and not exists("tileiras_build.driver.compiled")
