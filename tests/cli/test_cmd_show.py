"""``show``: source lines with remarks and SASS."""

import re
import shutil
from pathlib import Path

import pytest

from tileiras_build.cli.cmd_show import _block
from tileiras_build.cli.dispatch import main
from tileiras_build.reports.render_templates import unpack

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
    head, estimate, _, name, *rows = text.splitlines()
    assert re.fullmatch(r"vector_add_f32  sm_90: \d+ registers, shared memory 0, stack 0, spills 0 \+ 0", head)
    assert re.match(r"[\d.]+ us on H100 .*; limited by latency; modelled, not measured$", estimate)
    assert name == "vector_add.py"
    first = next(index for index, row in enumerate(rows) if "left = ct.load(x, (block,), (TILE,))" in row)
    block = [row.strip() for row in rows[first + 1 :]]
    block = block[: next(index for index, row in enumerate(block) if "right = ct.load" in row)]
    assert block[0].startswith("passed: Load instruction selected")
    assert any(re.match(r"[0-9a-f]+  (@!?P\d )?LDG", row) for row in block)
    labels = set(re.findall(r"^ +(\.L\w+):", text, re.M))
    assert set(re.findall(r"\((\.L\w+)\)", text)) <= labels and labels
    # A variant has remarks of its own.
    general, aligned = text.split("\nvector_add_f32__aligned  ")
    assert "Boundary tiles scalar accesses" in general
    assert "Boundary tiles scalar accesses" not in aligned and "Load instruction selected" in aligned


def test_a_wide_terminal_has_code_beside_its_line():
    assert list(_block("   18  a = b", ["       missed: c"], ["0000  LDG", "0010  STG"], 120)) == [
        "   18  a = b" + " " * 48 + "0000  LDG",
        " " * 60 + "0010  STG",
        "       missed: c",
    ]


def test_a_page(listing, monkeypatch, capfd):
    monkeypatch.chdir(listing)
    sizes = [word for name in ("x", "y", "out") for word in ("--set", f"{name}=65536")]
    text = show(capfd, KERNEL, "--kernel", "vector_add_f32", "--html", "page.html", "--grid", "256", *sizes)
    assert text == "wrote page.html\n"
    (packed,) = re.findall(r'data-kernel="vector_add_f32">([^<]+)<', Path("page.html").read_text())
    page = unpack(packed)
    assert "left = ct.load(x, (block,), (TILE,))" in page and "LDG" in page and 'class="roofline"' in page


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
