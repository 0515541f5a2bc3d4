"""Golden tests: ``.mlir`` files of small modules, each followed by what a pass must make of it, to the letter.

    // Order tokens: …                        what the file is about
    // run: tileas-insert-token-barriers sm_90         passes (or "ll", the writer of LLVM IR) and the target

    // ---- a_load_after_a_store_waits        one test; a run line here is for this test only
    // seed: nvgpu-gpu-to-nvvm concept-index  the rows of tests/seeds/rows.toml that it shows; there may be several lines
    nv_tileaa.func @k { … }
    // ==>
    nv_tileaa.func @k { … }                   what comes out; for a refusal, its message as comment lines

``TILEIRAS_BLESS=1 pytest tests/pipeline`` writes what comes out into the files; read the difference before you commit it.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.dialects.builtin import IntegerAttr, i32

from tileiras_build.core.errors import TileirasError
from tileiras_build.core.file_io import write_files
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.opt import find_pass, parse_module
from tileiras_build.pipeline.pass_manager import run_passes
from tileiras_build.pipeline.tile_ir_text_format import render
from tileiras_build.target.targets import find_target

BLESS = "TILEIRAS_BLESS"
TITLE, ARROW = re.compile(r"^// ---- (\S+)$", re.M), "\n// ==>\n"
RUN = re.compile(r"^// run: (.+) (sm_\w+)$", re.M)
SEED = re.compile(r"^// seed: (.+)$", re.M)
WRAPPER = "builtin.module {\n"


@dataclass(frozen=True)
class GoldenCase:
    """One test of a file: the passes' names, the target, the module and what must come out."""

    title: str
    passes: tuple[str, ...]
    target: str
    source: str
    expected: str
    seeds: tuple[tuple[str, ...], ...] = ()


def split_file(text: str) -> tuple[str, list[GoldenCase]]:
    """What stands before the first test, and the tests."""
    head, *rest = TITLE.split(text)
    return head, [_case(title, body, head) for title, body in zip(rest[::2], rest[1::2], strict=True)]


def _case(title: str, body: str, head: str) -> GoldenCase:
    run = RUN.search(body) or RUN.search(head)
    if run is None:
        raise ValueError(f"golden test {title} has no line '// run: <passes> <target>'")
    source, _, expected = body.partition(ARROW)
    seeds = tuple(tuple(line.split()) for line in SEED.findall(source))
    return GoldenCase(title, tuple(run[1].split()), run[2], source.strip("\n"), expected.strip("\n"), seeds)


def execute(case: GoldenCase) -> str:
    """What comes out of a case: the module, the kernels as LLVM IR, or the message of a refusal as comments. A new case must parse."""
    try:
        return _run(case)
    except TileirasError as error:
        if error.id == "parse-failed" and not case.expected:
            raise
        return "\n".join(f"// {line}" for line in str(error).splitlines())


def _run(case: GoldenCase) -> str:
    module, job = parse_module(case.source, case.title), Job(find_target(case.target))
    if "ll" in case.passes:
        # The writer asks the module for its target, which the first conversion leaves there.
        module.attributes["nv_tileaa.compute_capability"] = IntegerAttr(job.target.number, i32)
    run_passes([find_pass(name) for name in case.passes if name != "ll"], module, job)
    if "ll" not in case.passes:
        return _unwrapped(_read_back(render(module)).decode())
    from tileiras_build.pipeline import tileas_to_ll

    return _code(tileas_to_ll.lower(module, job))


def _read_back(printed: bytes) -> bytes:
    """The text of a module, which must be the text of what it parses to."""
    assert render(parse_module(printed.decode())) == printed, "the printed module reads back as another one"
    return printed


def _unwrapped(text: str) -> str:
    """The module's text without the lines of a module that says nothing."""
    before, found, body = text.partition(WRAPPER)
    return before + textwrap.dedent(body.rstrip().removesuffix("}")).rstrip() if found else text.rstrip()


def _code(text: str) -> str:
    """LLVM IR without declarations, metadata and the machine that functions are for."""
    lines = [line for line in text.splitlines() if not line.startswith(("!", "declare", "attributes", "target"))]
    return re.sub(r"\n\n+", "\n\n", "\n".join(lines)).replace(") #1 ", ") ").strip()


# ---- pytest ----------------------------------------------------------------------------------------------------------
class GoldenFile(pytest.File):
    """Collects the tests of one ``.mlir`` file; rewrites it first where asked to."""

    def collect(self) -> Iterator[pytest.Item]:
        if os.environ.get(BLESS, "") not in ("", "0"):
            bless(self.path)
        for case in split_file(self.path.read_text())[1]:
            yield GoldenItem.from_parent(self, name=case.title, case=case)


class GoldenItem(pytest.Item):
    """One golden test."""

    def __init__(self, *, case: GoldenCase, **options):
        super().__init__(**options)
        self.case = case
        for rows in case.seeds:
            self.add_marker(pytest.mark.seed(*rows))

    def runtest(self) -> None:
        actual, expected = execute(self.case), self.case.expected
        assert expected == actual, f"{self.path.name}: {self.name}: {BLESS}=1 pytest tests/pipeline accepts the change"

    def repr_failure(self, excinfo):
        """The difference, without this file's frames."""
        if excinfo.errisinstance(AssertionError):
            import difflib

            lines = [self.case.expected.splitlines(), execute(self.case).splitlines()]
            difference = "\n".join(difflib.unified_diff(*lines, "expected", "actual", lineterm="", n=2))
            return f"{excinfo.value.args[0].splitlines()[0]}\n{difference}"
        return super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, None, self.name


def bless(path: Path) -> None:
    """Write what comes out of each case into the file, all of it or nothing."""
    head, cases = split_file(path.read_text())
    texts = [head]
    bodies = TITLE.split(path.read_text())[2::2]
    for case, body in zip(cases, bodies, strict=True):
        source = body.partition(ARROW)[0].rstrip("\n")
        texts.append(f"// ---- {case.title}{source}{ARROW}{execute(case)}\n\n")
    write_files({path: "".join(texts).rstrip("\n").encode() + b"\n"})
