"""What documents quote exists: commands, options, passes, remarks, ids of errors, variables, modules and files."""

import re
import subprocess
from collections.abc import Callable, Iterator
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

# Files of NVIDIA's and TileGym's samples, of packages, and of readers.
FILES_OF_OTHERS = """
    AllGatherMatmul.py AttentionFMHA.py BatchMatMul.py BlockScaledMatMul.py FFT.py LayerNorm.py MatMul.py MoE.py Transpose.py
    VectorAddition.py VectorAdd_quickstart.py quickstart/VectorAdd_quickstart.py modeling/transformers/infer.py build_helpers.py
    torch_ops.py
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
def quoted() -> list[tuple[str, str]]:
    """The lines of code of all documents, each with its document's name."""
    return [(document.name, line) for document in DOCUMENTS for line in code(document)]


def unknown(pattern: str, is_known: Callable[[str], bool]) -> list[tuple[str, str]]:
    """What documents quote in the form of ``pattern`` and is not known, each with its document's name."""
    named = [(document, name) for document, line in quoted() for name in re.findall(pattern, line)]
    return [(document, name) for document, name in named if not is_known(name)]


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


@cache
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


def test_commands_and_options_exist():
    assert [(name, found) for name, line in quoted() for found in unknown_options(line)] == []


def test_passes_and_remarks_exist():
    known = {*registry(), *(entry.name for stage in STAGES for entry in stage.passes), *explanations()}
    assert unknown(r"^(?:tileaa|tileas|convert)-[a-z0-9-]+$", known.__contains__) == []
    assert unknown(r"^Remark[A-Z]\w+$", known.__contains__) == []


def test_errors_and_variables_exist():
    assert unknown(r"error\[([\w-]+)\]", explanations().__contains__) == []
    assert unknown(r"\bTILEIRAS_[A-Z_]+[A-Z]", source().__contains__) == []


def test_modules_and_files_exist():
    others, paths = FILES_OF_OTHERS.split(), [f"/{path.relative_to(ROOT)}" for path in tracked()]
    assert unknown(r"\btileiras_build(?:\.\w+)+", exists) == []
    assert (
        unknown(r"^[\w/]+\.py$", lambda file: file in others or any(path.endswith(f"/{file}") for path in paths)) == []
    )


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
