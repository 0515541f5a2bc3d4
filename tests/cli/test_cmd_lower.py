"""``lower``: the files that it writes, the message that names them, and the disassembly as a last stage."""

import shutil
from pathlib import Path

import pytest

from tests.compiled_once import CUTILE_FOLDER
from tileiras_build.cli.dispatch import main
from tileiras_build.reports import compiler_warnings

BYTECODE = Path(__file__).resolve().parents[2] / "examples" / "prebuilt" / "vector_add_f32.tilebc"


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return shutil.copy(BYTECODE, "k.tilebc")


def run(*arguments: str) -> int:
    return main(["lower", *arguments, "--in-process"])


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ([], "wrote k.ptx\n"),
        (["-o", "a.txt"], "wrote a.txt\n"),
        (["-o", "new/"], "wrote new/k.ptx\n"),
        (["-o", "there"], "wrote there/k.ptx\n"),
    ],
)
def test_the_written_file_is_named(file, capsys, output, message):
    Path("there").mkdir()
    run(file, "--to", "ptx", "--sm", "90", *output)
    assert capsys.readouterr().out == message
    assert Path(message.split()[1]).read_text().startswith("//")


def test_several_targets_go_into_the_folder(file, capsys):
    run(file, "--to", "ptx", "--sm", "a100,h100", "-o", "all")
    assert capsys.readouterr().out == "wrote all/k.sm_80.ptx, all/k.sm_90.ptx\n"
    assert ".target sm_80" in Path("all/k.sm_80.ptx").read_text()


def test_only_the_first_of_many_files_are_named(file, capsys):
    run(file, "--to", "tileaa", "--sm", "80,86,87,88,89,90,100,103")
    assert capsys.readouterr().out.endswith("k.sm_90.tileaa and 2 more\n")


def test_two_files_are_not_printed(file, capsys):
    assert run(file, "--to", "ptx", "--sm", "80,90", "-o", "-") == 1
    assert "error[output-not-single]: k.tilebc produces 2 files" in capsys.readouterr().err


def test_the_last_stage_is_disassembly(file, capsys):
    run(file, "--to", "cubin", "--sm", "90")
    assert capsys.readouterr().out == "wrote k.cubin, k.json\n"
    run("k.cubin", "--to", "sass", "--sm", "90")
    from_cubin = Path("k.sass").read_bytes()
    run(file, "--to", "sass", "--sm", "90")
    assert Path("k.sass").read_bytes() == from_cubin
    assert b"sm_90a" in from_cubin and b"EXIT" in from_cubin


MATMUL = BYTECODE.with_name("matmul_f16_nt.tilebc")


def test_warnings_are_selected_as_in_a_c_compiler(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(MATMUL, "k.tilebc")
    assert run("k.tilebc", "--to", "tileas", "--sm", "80", "-Wall", "-Wno-tma") == 0
    assert "warning[" not in (plain := capsys.readouterr()).err or "warning[tma]" not in plain.err
    assert run("k.tilebc", "--to", "tileas", "--sm", "90", "--strategy", "none", "-Wmma") == 0
    first = capsys.readouterr()
    assert "warning[mma]: MMA operation does not use wgmma" in first.err and first.out == "wrote k.tileas\n"
    Path("k.tileas").unlink()
    assert run("k.tilebc", "--to", "tileas", "--sm", "90", "--strategy", "none", "-Wmma", "-Werror") == 1
    assert "error[mma]: MMA operation" in capsys.readouterr().err and not Path("k.tileas").exists()
    Path("pyproject.toml").write_text('[tool.tileiras]\nwarnings = "mma"\nwerror = true\n')
    assert run("k.tilebc", "--to", "tileas", "--sm", "90", "--strategy", "none", "-Wno-error") == 0
    assert "warning[mma]" in capsys.readouterr().err


def test_disassembly_warns_as_a_cubin(file, monkeypatch):
    seen = []
    monkeypatch.setattr(
        compiler_warnings, "of_manifest", lambda data, target, classes: seen.append((target, classes)) or []
    )
    run(file, "--to", "sass", "--sm", "90", "-Wspill")
    run(file, "--to", "cubin", "--sm", "90", "-Wspill")
    assert seen == [("sm_90", ("spill",))] * 2
    run("k.cubin", "--to", "sass", "--sm", "90", "-Wspill")
    assert len(seen) == 2


def test_an_unknown_stage_is_refused_with_all_of_them(file, capsys):
    main(["lower", file, "--to", "machine", "--sm", "90"])
    text = capsys.readouterr().err
    assert "'machine' is not a stage" in text and "cubin, sass" in text.replace(" and ", ", ").replace(" or ", ", ")


def test_an_unknown_warning_is_refused(file, capsys):
    assert run(file, "--to", "ptx", "--sm", "90", "-Wspil") == 1
    assert "error[option-value]: -Wspil names no class of warnings; did you mean spill?" in capsys.readouterr().err


SOURCE = """
import cuda.tile as ct
from sizes import TILE
from tileiras_build.cases import Array, Case


@ct.kernel
def scale(x, tile: ct.Constant[int]):
    ct.store(x, (ct.bid(0),), ct.load(x, (ct.bid(0),), (tile,)) * 2.0)


CASES = [Case("scale", scale, (Array("float32", 1), TILE))]
"""


def test_a_dependency_file_names_what_an_export_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(CUTILE_FOLDER, str(tmp_path))  # there already: what an export creates is no dependency
    Path("my kernels").mkdir()
    Path("my kernels/k.py").write_text(SOURCE)
    Path("my kernels/sizes.py").write_text("TILE = 128\n")
    assert run("my kernels/k.py", "--to", "tileaa", "--sm", "80", "-o", "out/", "-MD") == 0, capsys.readouterr().err
    inputs = ["my\\ kernels/k.py", "my\\ kernels/sizes.py"]
    rules = f"out/scale.tileaa: {' '.join(inputs)}\n{inputs[0]}:\n{inputs[1]}:\n"
    assert Path("out/scale.d").read_text() == rules


def test_a_dependency_file_has_another_name(file, capsys):
    assert run(file, "--to", "ptx", "--sm", "90", "-o", "-", "-MF", "deps") == 0
    assert Path("deps").read_text() == "deps: k.tilebc\nk.tilebc:\n"
    assert run(file, "--to", "ptx", "--sm", "90", "-o", "-", "-MD") == 1
    assert "error[option-value]: -MD has no output to stand beside; name the file with -MF" in capsys.readouterr().err
