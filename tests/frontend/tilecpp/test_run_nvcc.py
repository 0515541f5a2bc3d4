"""Compilations by nvcc, their recorded reads and their errors, with a fake nvcc (``fake_nvcc.py``)."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.frontend.tilecpp.toolkit import make_toolkit
from tileiras_build.core.errors import InvalidInput, TileirasError
from tileiras_build.core.tracing.dependency_record import Comparison, ReadsChanged
from tileiras_build.core.tracing.dependency_state import Probe
from tileiras_build.core.tracing.portable_paths import PortablePaths
from tileiras_build.frontend.tilecpp import nvcc_diagnostics
from tileiras_build.frontend.tilecpp import run_nvcc as module
from tileiras_build.frontend.tilecpp.run_nvcc import BYTECODE, Request, run_nvcc

OLD = 1_600_000_000_000_000_000  # ns


@pytest.fixture
def nvcc(tmp_path):
    return str(make_toolkit(tmp_path / "toolkit"))


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def write(folder: Path, files: dict[str, str]) -> None:
    """Files that have lain there for long."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def compiled(project: Path, nvcc: str, files: dict[str, str], **options):
    write(project, files)
    _settle()
    return run_nvcc(Request("k.cu", 90, nvcc, **options), str(project))


def _settle() -> None:
    """Let the clock that stamps files pass what was just written."""
    time.sleep(0.03)


def change(project: Path, made) -> str | None:
    return Comparison(Probe(PortablePaths(str(project)))).first_change(made.record)


def test_the_bytecode_names_files_of_the_project_and_of_the_toolkit(project, nvcc):
    data = compiled(project, nvcc, {"k.cu": "kernel\n"}).files[BYTECODE]
    assert data.startswith(b"\x7fTileIR") and str(project).encode() not in data and b"k.cu" in data


def test_the_same_sources_give_the_same_bytes_in_other_folders(tmp_path, nvcc):
    files = {"k.cu": '#include "a.cuh"\n', "a.cuh": "one\n"}
    made = [compiled(tmp_path / name, nvcc, files).files for name in ("first", "second")]
    assert made[0] == made[1]


def test_nothing_changes_where_nothing_changes(project, nvcc):
    made = compiled(project, nvcc, {"k.cu": '#include "a.cuh"\n', "a.cuh": "one\n", "inc/x.h": ""}, flags=("-Iinc",))
    assert change(project, made) is None
    write(project, {"inc/other.h": "unrelated", "other.cuh": ""})
    assert change(project, made) is None


# changed file -> the reported change; {t} is the toolkit's folder
CHANGES = {
    "k.cu": ("other\n", "k.cu changed"),
    "a.cuh": ("other\n", "a.cuh changed"),
    "b.cuh": ("in the file's own folder\n", "files searched for in . changed"),
    "inc/b.cuh": ("earlier in the include path\n", "files searched for in inc changed"),
    "inc/sub/c.cuh": ("in a new folder\n", "files searched for in inc changed"),
    "late/b.cuh": ("in a folder that was not there\n", "files searched for in . changed"),
    "tuned.cuh": ("asked for\n", "files searched for in . changed"),
    "../toolkit/nvvm/bin/cicc": ("cicc 2", "{t}/nvvm/bin/cicc changed"),
    "../toolkit/bin/nvcc": ("#!/bin/sh\n", "{t}/bin/nvcc changed"),
    "../toolkit/bin/nvcc.profile": ("profile 2", "{t}/bin/nvcc.profile changed"),
    "../toolkit/host/cc1plus": ("host compiler 2", "{t}/host/cc1plus changed"),
    "../toolkit/include/crt/cuda_tile.h": ("// more\n", "{t}/include/crt/cuda_tile.h changed"),
    "flags.txt": ("-DN=2", "flags.txt changed"),
}
SOURCES = {
    "k.cu": '#include "a.cuh"\n#include "b.cuh"\n#include <sub/c.cuh>\n#if __has_include("tuned.cuh")\n',
    "a.cuh": "one\n",
    "second/b.cuh": "two\n",
    "second/sub/c.cuh": "three\n",
    "inc/x.h": "",
    "flags.txt": "-DN=1",
}
FLAGS = ("-Ilate", "-Iinc", "-Isecond", "--options-file", "flags.txt")


def test_each_change_is_seen(tmp_path, project, nvcc):
    made = compiled(project, nvcc, SOURCES, flags=FLAGS)
    for path, (text, said) in CHANGES.items():
        with restored(project / path):
            write(project, {path: text})
            assert change(project, made) == said.format(t=tmp_path / "toolkit")
        assert change(project, made) is None, path


@contextmanager
def restored(path: Path) -> Iterator[None]:
    """Afterwards the file is as it was, or gone, with a folder that was not there."""
    before, is_new = path.read_bytes() if path.exists() else None, not path.parent.exists()
    yield
    if before is not None:
        path.write_bytes(before)
        return
    path.unlink()
    if is_new:
        path.parent.rmdir()


def test_a_variable_that_compilers_read_counts(project, nvcc, monkeypatch):
    made = compiled(project, nvcc, {"k.cu": ""})
    monkeypatch.setenv("CPATH", "elsewhere")
    assert change(project, made) == "the variable CPATH changed"


def test_another_program_of_the_name_on_the_path_counts(tmp_path, project, nvcc, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "two/gcc-x").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{tmp_path / 'one'}:{tmp_path / 'two'}:{os.environ['PATH']}")
    made = compiled(project, nvcc, {"k.cu": ""}, flags=("--run", "gcc-x"))
    assert change(project, made) is None
    (tmp_path / "one/gcc-x").symlink_to("/bin/true")
    assert change(project, made) == f"files searched for in {tmp_path / 'one'} changed"
    (tmp_path / "one/gcc-x").unlink()
    monkeypatch.setenv("PATH", f"{tmp_path / 'zero'}:{os.environ['PATH']}")
    assert change(project, made) is None
    (tmp_path / "zero").mkdir()
    (tmp_path / "zero/gcc-x").symlink_to("/bin/true")
    assert change(project, made) == "program gcc-x now resolves to another path"


def after_nvcc(monkeypatch, work):
    """Do ``work`` between nvcc's end and the look at what it has read."""
    real = module._run

    def run(*arguments):
        made = real(*arguments)
        work()
        return made

    monkeypatch.setattr(module, "_run", run)


def test_what_changes_while_nvcc_runs_is_seen(project, nvcc, monkeypatch):
    after_nvcc(monkeypatch, lambda: (project / "a.cuh").write_text("changed meanwhile"))
    with pytest.raises(ReadsChanged, match="a.cuh"):
        compiled(project, nvcc, {"k.cu": '#include "a.cuh"\n', "a.cuh": "one\n"})


def test_what_appears_earlier_in_the_path_while_nvcc_runs_is_seen(project, nvcc, monkeypatch):
    after_nvcc(monkeypatch, lambda: (project / "inc/b.cuh").write_text("appears meanwhile"))
    with pytest.raises(ReadsChanged, match="b.cuh"):
        compiled(project, nvcc, {"k.cu": "#include <b.cuh>\n", "second/b.cuh": "", "inc/x": ""}, flags=FLAGS[1:3])


def test_kernels_to_instantiate_stand_after_the_file(project, nvcc):
    plain = compiled(project, nvcc, {"k.cu": "kernel\n"})
    other = compiled(project, nvcc, {}, instantiate=("scale<float, 8>",))
    assert plain.files != other.files and "k.cu" in str(other.record.reads)
    assert not [read for read in other.record.all_reads() if "tileiras-" in read.name]
    assert b"/tileiras-" not in other.files[BYTECODE]


REFUSALS = {
    "an error of the front end": (
        {"k.cu": "a\n#error-at-5 identifier x is undefined\n"},
        {},
        "k.cu:2:5: error[nvcc]: identifier x is undefined; correct the file",
    ),
    "a header that is not there": (
        {"k.cu": '#include "no.cuh"\n'},
        {},
        "k.cu:1:10: error[nvcc]: no.cuh: No such file or directory; correct the name, or give its folder: "
        "nvcc_flags='-I FOLDER'",
    ),
    "an unknown flag": (
        {"k.cu": ""},
        {"flags": ("--nonsense",)},
        "k.cu: error[nvcc]: nvcc: Unknown option '--nonsense'; correct nvcc_flags=",
    ),
    "a file that is not there": ({}, {}, "{project}/k.cu: error[file-missing]: file not found"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_messages_of_nvcc_are_passed_on(project, nvcc, name):
    files, options, said = REFUSALS[name]
    with pytest.raises(TileirasError) as caught:
        compiled(project, nvcc, files, **options)
    assert str(caught.value) == said.format(project=project)


def test_a_host_compiler_that_is_missing_is_named(tmp_path, project, nvcc):
    (tmp_path / "toolkit/host/cc1plus").unlink()
    with pytest.raises(InvalidInput, match=r"error\[host-compiler\].*gcc: No such file or directory; install g\+\+"):
        compiled(project, nvcc, {"k.cu": ""})


def test_an_old_nvcc_is_refused(tmp_path, project):
    nvcc = str(make_toolkit(tmp_path / "old", "13.2, V13.2.1"))
    with pytest.raises(
        InvalidInput, match=r"error\[nvcc-version\]: .* is nvcc 13.2; CUDA Tile C\+\+ needs 13.3 or newer"
    ):
        compiled(project, nvcc, {"k.cu": ""})


def test_warnings_are_remarks(project, nvcc):
    made = compiled(project, nvcc, {"k.cu": "#warn-at-3 variable was declared but never referenced\n"})
    assert made.remarks == ("k.cu:1:3: warning[nvcc]: variable was declared but never referenced",)


def test_kernels_that_cannot_be_instantiated_are_named():
    request = Request("dir/k.cu", 90, instantiate=("scale<float>", "nosuch<3>"))
    said = '/tmp/k.cu(3): error: identifier "nosuch" is undefined\n\n/tmp/k.cu(2): error: cannot deduce "auto" type\n'
    found = [
        str(error)
        for error in nvcc_diagnostics.nvcc_failure(
            module._without_wrapper_lines(said, "/tmp/k.cu", request), 2, "dir/k.cu", "/"
        ).errors
    ]
    assert found == [
        'dir/k.cu: error[nvcc]: nosuch<3>: identifier "nosuch" is undefined; correct the file',
        "dir/k.cu: error[nvcc]: scale<float>: no kernel of the file takes these template arguments; correct the file",
    ]
