"""``show``: source lines with remarks and SASS."""

import re
import shutil
from pathlib import Path

import pytest

from tileiras_build.cli.dispatch import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
KERNEL = "kernels/vector_add.py"


@pytest.fixture(scope="module")
def listing(tmp_path_factory):
    """The output for one kernel, by whether instructions are counted."""
    folder = tmp_path_factory.mktemp("show")
    (folder / "kernels").mkdir()
    shutil.copy(EXAMPLES / KERNEL, folder / KERNEL)
    return folder


def show(capfd, *arguments: str) -> str:
    assert main(["show", *arguments]) == 0
    return capfd.readouterr().out


def test_a_source_line_has_its_remarks_and_code(listing, monkeypatch, capfd):
    monkeypatch.chdir(listing)
    text = show(capfd, KERNEL, "--kernel", "vector_add_f32", "--sm", "h100")
    head, _, name, *rows = text.splitlines()
    assert re.fullmatch(r"vector_add_f32  sm_90: \d+ registers, shared memory 0, stack 0, spills 0 \+ 0", head)
    assert name == "vector_add.py"
    first = next(index for index, row in enumerate(rows) if "left = ct.load(x, (block,), (TILE,))" in row)
    block = [row.strip() for row in rows[first + 1 :]]
    block = block[: next(index for index, row in enumerate(block) if "right = ct.load" in row)]
    assert block[0].startswith("passed: Load instruction selected")
    assert any(re.match(r"[0-9a-f]+  (@!?P\d )?LDG", row) for row in block)
    labels = set(re.findall(r"^ +(\.L\w+):", text, re.M))
    assert set(re.findall(r"\((\.L\w+)\)", text)) <= labels and labels


def test_a_variant_has_its_own_remarks(listing, monkeypatch, capfd):
    monkeypatch.chdir(listing)
    text = show(capfd, KERNEL, "--kernel", "vector_add_f32", "--sm", "90")
    general, aligned = text.split("\nvector_add_f32__aligned  ")
    assert "Boundary tiles scalar accesses" in general
    assert "Boundary tiles scalar accesses" not in aligned and "Load instruction selected" in aligned


def test_counts_on_two_targets(listing, monkeypatch, capfd):
    monkeypatch.chdir(listing)
    text = show(capfd, KERNEL, "--kernel", "vector_add_f16", "--sm", "80,90", "--counts")
    assert re.findall(r"^vector_add_f16  (\w+):", text, re.M) == ["sm_80", "sm_90"]
    for listing_of_target in text.split("\n\n\n"):
        assert len(re.findall(r"^ +[1-9]\d* instructions$", listing_of_target, re.M)) >= 3
    assert "LDG" not in text


def test_bytecode_without_its_source(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLES / "prebuilt/vector_add_f32.tilebc", "k.tilebc")
    text = show(capfd, "k.tilebc")
    assert text.startswith("vector_add_f32  sm_90:") and "LDG" in text
