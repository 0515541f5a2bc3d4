"""cmd_as.py: a cubin in NVIDIA's program's place, its exit codes, and cuTile Python compiling through it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tileiras_build.cli import cmd_as
from tileiras_build.cli.cmd_as import MAGIC, describe, exit_code, main
from tileiras_build.core.errors import InternalError, InvalidInput, Location, Unsupported
from tileiras_build.ir.bytecode.opcodes import VERSIONS
from tileiras_build.pipeline.ptx_to_cubin import read_cubin

KERNEL = str(Path(__file__).resolve().parents[2] / "examples" / "prebuilt" / "vector_add_f32.tilebc")


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("sm, number", [("sm_80", 80), ("sm_120", 120)])
def test_a_cubin(sm, number):
    assert main([KERNEL, "--gpu-name", sm, "-O3", "--lineinfo", "-o", "k.cubin"]) == 0
    data = Path("k.cubin").read_bytes()
    cubin = read_cubin(data)
    assert cubin.number == number and list(cubin.kernels) == ["vector_add_f32"]
    assert b".debug_line" in data


def test_the_default_output_and_the_alias():
    assert main([KERNEL, "--arch=sm_90"]) == 0
    assert read_cubin(Path("elf.o").read_bytes()).number == 90


def test_device_debug():
    assert main([KERNEL, "--arch=sm_90", "-O0", "-g", "-o", "debug.cubin"]) == 0
    assert read_cubin(Path("debug.cubin").read_bytes()).number == 90


def refused(capsys, *arguments: str) -> tuple[int, str]:
    code = main(arguments)
    assert list(Path().glob("*.o")) == []
    return code, capsys.readouterr().err.strip()


@pytest.mark.parametrize(
    "content, code, text",
    [
        (b"", 3, "error: input does not correspond to Tile IR bytecode"),
        (b"hello", 3, "error: input does not correspond to Tile IR bytecode"),
        (b"ML\xefRxx", 3, "error: input does not correspond to Tile IR bytecode (it looks like MLIR bytecode instead)"),
        (MAGIC + b"\x0d\x09", 3, "error: unsupported Tile IR bytecode version: 13.9"),
    ],
)
def test_files_that_are_not_bytecode(capsys, content, code, text):
    Path("k.bc").write_bytes(content)
    assert refused(capsys, "k.bc", "--arch=sm_90") == (code, text)


def test_damaged_bytecode_names_the_offset(capsys):
    Path("k.bc").write_bytes(Path(KERNEL).read_bytes()[:300])
    code, text = refused(capsys, "k.bc", "--arch=sm_90")
    assert code == 3 and text.startswith('loc("k.bc"): error at offset ')


@pytest.mark.parametrize(
    "arguments, code, text",
    [
        ([KERNEL, "--arch=sm_90", "-O4"], 2, "error: invalid optimization level: 4"),
        ([KERNEL, "--arch=sm_90", "--opt-level=-1"], 2, "error: invalid optimization level: -1"),
        ([KERNEL, "--arch=sm_90", "-g"], 2,
         "error: optimized debugging is currently not supported, change the optimization level to 0 or disable full "
         "debug info"),
        (["none.bc", "--arch=sm_90"], 1, "error: unable to read input file 'none.bc': No such file or directory"),
        ([KERNEL, "--preview=foo"], 1, "tileiras: for the --preview option: unknown preview feature 'foo'; no preview"),
        ([KERNEL], 2, "error: no GPU architecture given (bytecode in file is version 13."),
        ([KERNEL, "--arch=sm_90", "-l", "lib"], 5, "error: libraries require the 'simt' preview feature"),
        ([KERNEL, "--arch=sm_91"], 1, "tileiras: for the --arch option: Cannot find option named 'sm_91'!"),
        ([], 1, "error: no input file provided"),
    ],
)  # fmt: skip
def test_exit_codes(capsys, arguments, code, text):
    found, message = refused(capsys, *arguments)
    assert found == code and message.startswith(text)


def test_an_output_that_cannot_be_written(capsys):
    Path("file").write_text("")
    code, text = refused(capsys, KERNEL, "--arch=sm_90", "-o", "file/k.cubin")
    assert code == 2 and "file/k.cubin" in text


@pytest.mark.parametrize(
    "error, code, text",
    [
        (Unsupported("mma", "no row", location=Location("k.py", 3, 4), remedy="use another"), 5,
         'loc("k.py":3:4): error: no row [mma]; use another'),
        (InvalidInput("bytecode", "bad", location=Location("k.bc", offset=7)), 3,
         'loc("k.bc"): error at offset 7: error: bad [bytecode]'),
        (InvalidInput("ptxas-missing", "no ptxas"), 2, "error: no ptxas [ptxas-missing]"),
        (InternalError("pass", "broken"), 5, "error: internal error: broken [pass]"),
    ],
)  # fmt: skip
def test_diagnostics(error, code, text):
    assert (exit_code(error), describe(error)) == (code, text)


def test_an_unforeseen_failure_is_one_line(capsys, monkeypatch):
    monkeypatch.setattr("tileiras_build.driver.lower", lambda *a, **more: {}["surprise\nof two lines"])
    code, text = refused(capsys, KERNEL, "--arch=sm_90", "-o", "k.cubin")
    assert code == 5 and text.startswith("error: internal error: KeyError:") and "\n" not in text


def test_questions(capsys):
    assert main(["--list-versions"]) == 0
    assert capsys.readouterr().out.split() == [f"{major}.{minor}" for major, minor in VERSIONS]
    assert main(["--version"]) == 0
    assert "tileiras_build" in capsys.readouterr().out
    assert main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("OVERVIEW:")


def test_the_version_changes_with_the_compiler(monkeypatch):
    before = cmd_as.version_text()
    monkeypatch.setattr("tileiras_build.pipeline.stages.source_digest", lambda stage: "changed")
    assert cmd_as.version_text() != before


def test_remarks_as_text_and_yaml(capsys):
    assert main([KERNEL, "--arch=sm_90", "-o", "a.cubin", "--remarks=memory"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("in function: vector_add_f32:") and "remark[passed]: Store instruction selected" in text
    assert main([KERNEL, "--arch=sm_90", "-o", "b.cubin", "--remarks=all", "--remark-format=yaml"]) == 0
    assert capsys.readouterr().out == ""
    assert Path("tileir_remarks.yaml").read_text().count("--- !Passed") == text.count("remark[passed]")
    assert Path("a.cubin").read_bytes() == Path("b.cubin").read_bytes(), "remarks change no code"


def test_remarks_of_one_kind(capsys):
    assert main([KERNEL, "--arch=sm_90", "--remarks-missed=memory", "--remarks=none", "-o", "a.cubin"]) == 0
    text = capsys.readouterr().out
    assert "remark[missed]" in text and "remark[passed]" not in text


def test_memcheck_makes_another_kernel(capsys):
    assert main([KERNEL, "--arch=sm_90", "-o", "plain.cubin"]) == 0
    assert main([KERNEL, "--arch=sm_90", "-o", "checked.cubin", "--sanitize=memcheck", "--remarks=memory"]) == 0
    plain, checked = Path("plain.cubin").read_bytes(), Path("checked.cubin").read_bytes()
    assert b"__assertfail" in checked and b"tile index outside" in checked and b"vector_add.py" in checked
    assert b"__assertfail" not in plain
    assert "remark[passed]" in capsys.readouterr().out


CUTILE = """
import sys
import cuda.tile as ct
import cuda.tile._compile as toolchain
from cuda.tile.compilation import KernelSignature, ScalarConstraint, export_kernel
import cuda.tile.compilation as compilation

# As where NVIDIA's wheel is not installed: the compiler is searched on PATH.
toolchain._find_pip_tileiras = lambda: None

@ct.kernel
def scale(x, y):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(128,)) * 2.0)

import inspect
array = compilation.ArrayConstraint(ct.float32, 1, index_dtype=ct.int32, stride_lower_bound_incl=0,
                                    alias_groups=(), may_alias_internally=False)
signature = KernelSignature([array, array], compilation.CallingConvention.cutile_python_v1(), symbol="scale")
export_kernel(scale, [signature], "scale.cubin", gpu_code="sm_90", output_format="cubin")
assert toolchain._find_compiler_bin().path == sys.argv[1], toolchain._find_compiler_bin().path
"""


def test_cutile_compiles_through_a_link_on_path(tmp_path):
    link = tmp_path / "bin" / "tileiras"
    link.parent.mkdir()
    link.symlink_to(Path(sys.executable).parent / "tileiras-build")
    Path("k.py").write_text(CUTILE)
    environment = os.environ | {
        "PATH": f"{link.parent}{os.pathsep}{os.environ['PATH']}",
        "CUDA_TILE_CACHE_DIR": str(tmp_path / "cache"),
        "XDG_CACHE_HOME": str(tmp_path / "xdg"),
    }
    done = subprocess.run(
        [sys.executable, "k.py", str(link)], env=environment, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    cubin = read_cubin(Path("scale.cubin").read_bytes())
    assert cubin.number == 90 and list(cubin.kernels) == ["scale"]
