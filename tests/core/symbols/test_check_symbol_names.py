"""Names of kernels and globals, strings and paths: each works in every artifact, or is one sentence at the first stage."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

import tileiras_build
from tests.hostile_names import REFUSED, WORKING, bytecode, placed
from tileiras_build import driver
from tileiras_build.cli.dispatch import main
from tileiras_build.core.errors import InvalidInput, Location
from tileiras_build.core.symbols.check_symbol_names import (
    KERNEL,
    check_file_name,
    check_names,
    llvm_name,
    llvm_string,
    llvm_symbol,
)
from tileiras_build.ir.bytecode import disassemble
from tileiras_build.ir.bytecode.reader import read_module
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ptx_to_cubin import read_cubin
from tileiras_build.target.targets import find_target

JOB = Job(find_target("sm_80"))


def entries(cubin, manifest):
    """The kernels of a cubin, which are those of its manifest."""
    found = sorted(read_cubin(cubin).kernels)
    assert found == sorted(manifest["kernels"])
    return found


# Names like those of LLVM and of this compiler for what belongs to kernel k, which is one of WORKING.
BESIDE = ["k_param_x", "kk_param_0", "str0_0", "func_retval0", "$L"]
PARAMETER = "k_param_0"  # stands beside no k


@pytest.mark.parametrize("names", [[*WORKING.values(), *BESIDE], [PARAMETER]], ids=["all", "parameter"])
def test_compile_carries_the_names_and_nothing_else(names):
    names = sorted(names if names == [PARAMETER] else {*names} - {PARAMETER})
    made = tileiras_build.compile(bytecode(*names), "sm_80", lineinfo=True)
    assert entries(made.cubin, made.manifest) == names
    assert sorted(re.findall(r"^\.visible \.entry (\S+)\(", made.ptx, re.MULTILINE)) == names


@pytest.mark.parametrize("name", REFUSED.values(), ids=REFUSED)
def test_compile_refuses_the_name(name):
    with pytest.raises(InvalidInput) as caught:
        tileiras_build.compile(bytecode(name), "sm_80", name="dir/k.tilebc")
    error = caught.value
    assert error.id == "kernel-name" and error.remedy
    assert error.location.file == "dir/k.tilebc" and error.location.offset is not None
    assert len(str(error).splitlines()) == 1 and str(error).isprintable() and len(str(error)) < 300


@pytest.mark.parametrize("name", ["", "../x", "/etc/passwd", "a\0b"])
def test_lower_writes_nothing_for_a_refused_name(name, tmp_path, capsys):
    path = tmp_path / "in" / "k.tilebc"
    path.parent.mkdir()
    path.write_bytes(bytecode(name))
    assert (
        main(
            ["lower", str(path), "--to", "cubin", "--sm", "80", "-o", str(tmp_path / "out" / "k.cubin"), "--in-process"]
        )
        == 1
    )
    assert "error[kernel-name]" in capsys.readouterr().err
    assert [entry for entry in tmp_path.rglob("*") if entry.is_file()] == [path]


@pytest.mark.parametrize("name", ["$0", "if", "x" * 300])
def test_lower_carries_the_name_through_every_file(name, tmp_path):
    stages = ("tilebc", "tileaa", "tileas", "ll", "ptx", "cubin")
    files = [tmp_path / f"k.{stage}" for stage in stages]
    files[0].write_bytes(bytecode(name))
    for before, after in pairwise(files):
        assert main(["lower", str(before), "--to", after.suffix, "--sm", "80", "-o", str(after)]) == 0
    assert entries(files[-1].read_bytes(), json.loads(files[-1].with_suffix(".json").read_text())) == [name]


def spelled(name):
    """A symbol as MLIR text has it."""
    body = "".join(chr(c) if 32 <= c < 127 and c not in (34, 92) else f"\\{c:02X}" for c in name.encode())
    return f'@"{body}"'


@pytest.mark.parametrize("stage", ["tileaa", "tileas"])
@pytest.mark.parametrize("name", REFUSED.values(), ids=REFUSED)
def test_stage_text_is_refused_with_its_line(stage, name, stage_text):
    text = stage_text[stage].replace("@the_kernel", spelled(name))
    with pytest.raises(InvalidInput) as caught:
        driver.lower(text.encode(), stage, "cubin", JOB, name=f"k.{stage}")
    assert caught.value.id == "kernel-name" and caught.value.location.file == f"k.{stage}"
    lines = [number for number, line in enumerate(text.splitlines(), 1) if "nv_tileaa.func" in line]
    assert [caught.value.location.line] == lines


@pytest.fixture(scope="module")
def stage_text():
    data = bytecode("the_kernel")
    return {
        stage: driver.lower(data, "tilebc", stage, JOB)[f".{stage}"].decode() for stage in ("tileaa", "tileas", "ll")
    }


@pytest.mark.parametrize(
    "name", [name for name in REFUSED.values() if name], ids=[key for key in REFUSED if REFUSED[key]]
)
def test_llvm_text_is_refused_with_its_line(name, stage_text):
    text = re.sub(r"@the_kernel\b", lambda _: f"@{llvm_symbol(name)}", stage_text["ll"])
    with pytest.raises(InvalidInput) as caught:
        driver.lower(text.encode(), "ll", "cubin", JOB, name="k.ll")
    assert caught.value.id == "kernel-name" and caught.value.location.file == "k.ll"
    assert "ptx_kernel" in text.splitlines()[caught.value.location.line - 1]


@pytest.mark.parametrize("names", [("k", "k_param_0"), ("k_param_12", "k")])
def test_a_name_that_another_kernel_s_parameter_has(names):
    with pytest.raises(
        InvalidInput, match=r"kernel-name.*'k_param_\d+' is taken: reserved by LLVM for a parameter of 'k'"
    ):
        tileiras_build.compile(bytecode(*names), "sm_80")


def test_one_name_for_two_kernels():
    with pytest.raises(InvalidInput, match="kernel-name.*'k' is taken: duplicate in this module; rename one"):
        tileiras_build.compile(bytecode("k", "k"), "sm_80")


def test_a_global_is_checked_and_one_that_is_missing_is_named(tmp_path):
    text = 'builtin.module {\n  nv_tileaa.global @"a b" {value = #cuda_tile.dense<"00000000" : !cuda_tile.tile<1xf32>>}\n}\n'
    with pytest.raises(InvalidInput, match=r"k\.tileaa:2:\d+: error\[global-name\]: global name 'a b'"):
        driver.lower(text.encode(), "tileaa", "cubin", JOB, name="k.tileaa")


def test_text_without_the_check_is_only_read():
    assert 'entry @"a b"' in disassemble(bytecode("a b"))
    with pytest.raises(InvalidInput, match="kernel-name"):
        read_module(bytecode("a b"))


STRINGS = {
    "quotes": "say \"x\" 'y'",
    "backslashes": "a\\n\\0A\\22\\",
    "line ends": "a\nb\rc\td",
    "NUL": "a\0b",
    "accents": "größe",
    "script": "日本",
    "emoji": "\U0001f600",
    "separators": "\u2028\x85\x7f",
    "escape sequence": "\x1b[31m",
    "LLVM text": '"); ret void }\ndefine cc71 void @evil() {',
    "operands": "$0 ${1} {} %%",
    "metadata": "!0 = !{}",
    "5,000": "x" * 5000,
}


ALL_STRINGS = "".join(STRINGS.values())


def lowered_to_ll(data, job):
    for stage, following in (("tilebc", "tileaa"), ("tileaa", "tileas"), ("tileas", "ll")):
        data = driver.lower(data, stage, following, job)[f".{following}"]
    return data.decode()


def test_strings_are_the_same_in_memory_and_through_files():
    data = bytecode("k", text=ALL_STRINGS)
    made = tileiras_build.compile(data, "sm_80")
    assert entries(made.cubin, made.manifest) == ["k"] and ALL_STRINGS.encode() in made.cubin
    assert lowered_to_ll(data, JOB) == made.ll


@pytest.mark.parametrize("options", [{"lineinfo": True}, {"debug": True, "opt_level": 0}], ids=["lines", "debug"])
@pytest.mark.parametrize("text", [ALL_STRINGS, "", "../x", "/a/b"], ids=["strings", "nothing", "upwards", "absolute"])
def test_source_files_and_functions_may_be_called_anything(text, options):
    data = placed("k", text)
    made = tileiras_build.compile(data, "sm_80", **options)
    assert entries(made.cubin, made.manifest) == ["k"]
    paths = re.findall(r'^\s*\.file\s+\d+ "(.*)"$', made.ptx, re.MULTILINE)
    assert len(paths) == len(set(paths)) <= 2
    assert lowered_to_ll(data, made.job) == made.ll


def test_a_string_that_is_no_text_is_refused_in_stage_text():
    text = 'builtin.module attributes {a = "\\FF"} {\n}\n'
    with pytest.raises(InvalidInput, match=r"k\.tileaa:1:\d+: error\[parse-failed\].*not UTF-8"):
        driver.lower(text.encode(), "tileaa", "cubin", JOB, name="k.tileaa")


def test_llvm_spelling_is_one_word_and_comes_back():
    for text in (*STRINGS.values(), *REFUSED.values(), *WORKING.values()):
        assert llvm_name(f'"{llvm_string(text)}"') == text
        word = llvm_symbol(text)
        assert re.fullmatch(r'[-A-Za-z$._][-A-Za-z$._0-9]*|"[^"\x00-\x1f\x7f-\U0010ffff]*"', word), text


def test_where_a_name_stands_is_asked_only_if_it_is_refused():
    asked = []
    for name in WORKING.values():
        check_names([(KERNEL, name, lambda: asked.append(name))])  # noqa: B023
    assert asked == []


FILES = [
    "a b",
    "a'b",
    'a"b',
    "a$b",
    "${x}",
    "$(x)",
    "-x",
    "a;b",
    "a&b<c>",
    "a\\b",
    "a*b[1]",
    "~",
    "%",
    "größe",
    "日本",
    "con",
    "{}",
    "..",
    "x" * 200,
]


@pytest.mark.parametrize("stem", FILES)
def test_a_file_may_be_named_so(stem):
    check_file_name(stem, f"{stem}.tilebc")


@pytest.mark.parametrize("stem", ["", "a\nb", "a\rb", "a\tb", "\x1b[31m", "#a", "\udcff", "a\u2028b"])
def test_a_file_may_not_be_named_so(stem):
    with pytest.raises(InvalidInput) as caught:
        check_file_name(stem, f"dir/{stem}.tilebc")
    assert caught.value.id == "kernel-name" and str(caught.value).isprintable()


def test_a_location_is_one_line():
    assert str(Location("a\nb.ll", 1, 2)) == r"a\nb.ll:1:2"
    assert str(Location("größe\udcff.ll")) == r"gr\xf6\xdfe\udcff.ll"
    assert str(Location("größe.ll")) == "größe.ll"
    assert Path(str(Location("k.ll"))) == Path("k.ll")
