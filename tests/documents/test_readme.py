"""README, typed line by line by somebody who has installed the project; its figures are those of the pages that it names."""

import re
from math import exp, log
from xml.etree import ElementTree

from tests.documents.test_document_words import ROOT
from tests.documents.test_tutorial import INSTALLS
from tests.documents.typed import Command, File, execute, steps
from tools.terminal_cast import PICTURE, SHOWN

README = (ROOT / "README.md").read_text()


def test_readme(shell, tmp_path):
    done = [step for step in steps(README) if not isinstance(step, Command) or not step.line.startswith(INSTALLS)]
    printed = [execute(step, tmp_path, shell) for step in done]
    drawn = [line for line in cast_lines() if not line.startswith("$")]
    assert set(map(shape, drawn)) <= {shape(line) for text in printed for line in text.splitlines()}
    assert sum(isinstance(step, Command) for step in done) == 5 and sum(isinstance(step, File) for step in done) == 2
    for made in ("my_kernels/build/sm_90/softmax_f32.cubin", "build/package/my_package/manifest.json"):
        assert (tmp_path / made).is_file(), made


def cast_lines() -> list[str]:
    """What docs/terminal.svg shows."""
    return [node.text or "" for node in ElementTree.parse(PICTURE).iter("{http://www.w3.org/2000/svg}text")]


def shape(line: str) -> str:
    """A line without what differs from run to run: values, the order of steps, columns' widths."""
    return re.sub(r"[\d.]+", "0", re.sub(r"^\[.*?\]", "[0]", " ".join(line.split())))


def test_the_terminal_shows_the_first_commands():
    typed = [line.removeprefix("$ ") for line in cast_lines() if line.startswith("$ ")]
    commands = [step.line.partition("  #")[0].rstrip() for step in steps(README) if isinstance(step, Command)]
    assert typed == commands[1 : 1 + SHOWN] and len(PICTURE.read_bytes()) < 10_000, "run: python tools/terminal_cast.py"


def test_it_is_short():
    assert len(README.splitlines()) <= 80
    assert len(re.findall(r"\]\((?!https?:)", README.partition("## More")[2])) == 8


def compared() -> list[list[str]]:
    """The rows of docs/measurements.md that compare machine code with tileiras."""
    lines = (ROOT / "docs/measurements.md").read_text().splitlines()
    return [line.strip("| ").split(" | ") for line in lines if re.match(r"\| sm_\d+ \| \w+ \| \d+ / ", line)]


def geometric_mean(rows: list[list[str]], column: int) -> tuple[int, str]:
    """How many rows have a figure in a column, and the mean of them."""
    found = [float(row[column]) for row in rows if len(row) > column and re.fullmatch(r"[\d.]+", row[column])]
    return len(found), f"{exp(sum(map(log, found)) / len(found)):.2f}"


def test_the_figures_are_those_of_the_tables():
    rows = compared()
    (instructions, ratio), (compiled, time) = geometric_mean(rows, 10), geometric_mean(rows, 12)
    assert f"| SASS instructions, geometric mean of {instructions} kernels | {ratio} | 1 |" in README
    assert f"| compile time, geometric mean of {compiled} kernels | {time} | 1 |" in README
    spills = [row[6].split(" / ") for row in rows if not row[6].endswith("-")]
    ours, theirs = (sum(pair[side] != "0" for pair in spills) for side in (0, 1))
    assert f"| kernels of those that spill registers | {ours} | {theirs} |" in README


def test_the_count_of_cutiles_tests_is_that_of_the_table():
    table = (ROOT / "docs/conformance.md").read_text().partition("\n### On the emulator\n")[2]
    rows = (
        re.findall(rf"^\| {name} \|.* (\d+) \| \d+ \|$", table, re.MULTILINE) for name in ("pass", "fail, within reach")
    )
    passed, failed = (int(found[0]) for found in rows)
    assert f"| {passed} of {passed + failed} that need no GPU | |" in README


def test_modelled_figures_are_those_of_the_table():
    page = (ROOT / "docs/measurements.md").read_text()
    ((time,),) = [re.findall(r"^\| sm_90 \| matmul_f16_128x256x64 \| ([\d.]+) \|", page, re.MULTILINE)]
    assert f"modelled, not measured | {float(time):.0f} µs | |" in README
    assert "| sm_90 | softmax_f16_4096 |" in page and "modelled, not measured | DRAM 100 % busy | |" in README
