"""Writes a new project: the files of one kind of source, with its name in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path

from ...core.errors import InvalidInput, Location
from ...core.file_io import write_files

_TEMPLATES = Path(__file__).parent
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*", re.ASCII)


@dataclass(frozen=True)
class ProjectKind:
    """The language of a project's kernels: its files (path and template), and its part of the README."""

    files: dict[str, str]
    substitutions: dict[str, str]


CUTILE, TILECPP = "cutile", "tilecpp"
_COMMON = {"SConstruct": "SConstruct", "README.md": "readme", ".gitignore": "gitignore"}
KINDS = {
    CUTILE: ProjectKind(
        {
            "kernels/softmax.py": "cutile_softmax",
            "kernels/_rows.py": "cutile_rows",
            "tests/test_kernels.py": "cutile_tests",
        },
        {
            "sources": "kernels/[!_]*.py",
            "requirements": "tileiras-build cuda-tile pytest",
            "kernel": "kernels/softmax.py",
            "reference": "its table `CASES`",
            "helper": "`kernels/_rows.py` is a module that kernels import.",
        },
    ),
    TILECPP: ProjectKind(
        {
            "kernels/scale.cu": "tilecpp_scale",
            "kernels/tiles.h": "tilecpp_tiles",
            "kernels/scale.py": "tilecpp_reference",
            "tests/test_kernels.py": "tilecpp_tests",
        },
        {
            "sources": "kernels/*.cu",
            "requirements": "'tileiras-build[tilecpp]' pytest",
            "kernel": "kernels/scale.cu",
            "reference": "the table `REFERENCES` of `kernels/scale.py` beside it",
            "helper": "`kernels/tiles.h` is a header that kernels include. nvcc needs g++ or clang++.",
        },
    ),
}


def write_project(folder: Path, kind: str) -> list[Path]:
    """Write the files of a project of ``kind`` into ``folder`` (created if missing); returns their paths.

    The project and its package are named after the folder. Raises InvalidInput[init-name] for an invalid name,
    [init-file-exists] if one of the files exists; then nothing is written.
    """
    name = folder.resolve().name
    package = re.sub(r"[.-]", "_", name)
    if not _NAME.fullmatch(name):
        message = f"invalid project name {name!r}"
        remedy = "use letters, digits, _, - and ., starting with a letter: tileiras-build init my_kernels"
        raise InvalidInput("init-name", message, remedy=remedy)
    if iskeyword(package):
        message = f"{name!r} is a Python keyword and cannot be a package name"
        raise InvalidInput("init-name", message, remedy="choose another name")
    words = KINDS[kind].substitutions | {"package": package}
    files = {folder / path: _filled(template, words) for path, template in (_COMMON | KINDS[kind].files).items()}
    if there := [path for path in files if path.exists()]:
        message = f"{', '.join(str(path.relative_to(folder)) for path in there)}: file exists and is not overwritten"
        raise InvalidInput("init-file-exists", message, location=Location(str(folder)), remedy="choose an empty folder")
    write_files({path: text.encode() for path, text in files.items()})
    return list(files)


def _filled(template: str, substitutions: dict[str, str]) -> str:
    text = (_TEMPLATES / f"{template}.template").read_text()
    for word, meaning in substitutions.items():
        text = text.replace(f"@{word}@", meaning)
    return text
