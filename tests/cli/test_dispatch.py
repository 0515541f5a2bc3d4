"""The command line: the output of each command, and one clear sentence for every kind of invalid input."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.examples.example_library import bytecode_of
from tests.frontend.tilecpp.toolkit import make_toolkit
from tileiras_build.cli.dispatch import main
from tileiras_build.pipeline.stages import STAGES
from tileiras_build.pipeline.tileas_to_ll import PASSES
from tileiras_build.target.targets import ALL_TARGETS, TARGETS

KERNEL = r"""target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @store_one(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}

!tileiras.manifest = !{!0}
!0 = !{!"{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22store_one\22: {\22params\22: []}}}"}
"""


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEIRAS_DUMP", str(tmp_path / "dump"))
    Path("k.ll").write_text(KERNEL)


def run(*arguments: str, **more):
    command = [sys.executable, "-m", "tileiras_build", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **more)


def refusal(capsys, *arguments: str, code: int = 1) -> str:
    """The one line that the command answers; it must write no file and no stack trace."""
    before = set(Path().rglob("*"))
    assert main(arguments) == code
    output = capsys.readouterr()
    assert output.out == ""
    lines = output.err.splitlines()
    assert len(lines) == 1, output.err
    assert {path for path in set(Path().rglob("*")) - before if path.parts[0] != "dump"} == set()
    return lines[0]


def lower(*arguments: str) -> list[str]:
    return ["lower", "k.ll", "--to", "cubin", "--sm", "90", *arguments]


def test_lower_writes_the_artifact_and_the_manifest():
    assert main(lower("-o", "out/k90.cubin")) == 0
    assert Path("out/k90.cubin").read_bytes().startswith(b"\x7fELF")
    manifest = json.loads(Path("out/k90.json").read_text())
    assert manifest["target"] == "sm_90a"
    assert manifest["kernels"]["store_one"]["resources"]["registers"] > 0
    assert sorted(path.name for path in Path("out").iterdir()) == ["k90.cubin", "k90.json"]


def test_lower_names_its_output_after_the_input():
    assert main(["lower", "k.ll", "--to", "ptx", "--sm", "sm_90a"]) == 0
    assert ".target sm_90a" in Path("k.ptx").read_text()


def test_lower_starts_from_any_stage():
    main(["lower", "k.ll", "--to", "ptx", "--sm", "80"])
    main(["lower", "k.ptx", "--to", "cubin", "--sm", "80", "-o", "steps.cubin"])
    main(["lower", "k.ll", "--to", "cubin", "--sm", "80", "-o", "whole.cubin"])
    assert Path("steps.cubin").read_bytes() == Path("whole.cubin").read_bytes()


def test_lower_writes_to_standard_output():
    done = run("lower", "k.ll", "--to", "ptx", "--sm", "90", "-o", "-")
    assert done.returncode == 0 and ".visible .entry store_one" in done.stdout
    assert not Path("k.ptx").exists()


def test_output_keeps_the_umask():
    os.umask(0o027)
    try:
        done = run("lower", "k.ll", "--to", "ptx", "--sm", "90")
    finally:
        os.umask(0o022)
    assert done.returncode == 0
    assert Path("k.ptx").stat().st_mode & 0o777 == 0o640


def test_damaged_text_is_refused_at_its_line(capsys):
    Path("k.ll").write_text(KERNEL[:100])
    line = refusal(capsys, *lower())
    assert line.startswith("k.ll:4:3: error[llvm]: ")


def test_text_that_is_no_ptx(capsys):
    Path("k.ptx").write_text("hello\n")
    line = refusal(capsys, "lower", "k.ptx", "--to", "cubin", "--sm", "90")
    assert line.startswith("k.ptx:1:1: error[ptxas]: ") and "Missing .version" in line


def test_binary_file_where_text_belongs(capsys):
    Path("k.ll").write_bytes(b"ab\xff\xfe")
    assert refusal(capsys, *lower()) == "k.ll: byte 0x2: error[not-text]: the file is not UTF-8 text"


@pytest.mark.parametrize("suffix", [stage.suffix for stage in STAGES[:-1]])
def test_empty_file(capsys, suffix):
    Path(f"empty{suffix}").touch()
    line = refusal(capsys, "lower", f"empty{suffix}", "--to", "cubin", "--sm", "90")
    assert line == f"empty{suffix}: error[empty-file]: the file is empty"


@pytest.mark.parametrize("name", ["d", "d.ll"])
def test_directory(capsys, name):
    Path(name).mkdir()
    line = refusal(capsys, "lower", name, "--to", "cubin", "--sm", "90")
    assert line == f"{name}: error[file-is-directory]: this is a directory, not a file"


def test_missing_file(capsys):
    line = refusal(capsys, "lower", "absent.ll", "--to", "cubin", "--sm", "90")
    assert line == "absent.ll: error[file-missing]: file not found"


def test_unreadable_file(capsys, monkeypatch):
    # The superuser can read every file, so the refusal itself is made.
    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert refusal(capsys, *lower()) == "k.ll: error[file-unreadable]: permission denied"


def test_suffix_of_no_stage(capsys):
    Path("k.txt").write_text("x")
    line = refusal(capsys, "lower", "k.txt", "--to", "cubin", "--sm", "90")
    assert line.startswith("k.txt: error[file-suffix]: unknown stage suffix '.txt'; expected one of .tilebc,")


def test_wrong_target_names_the_valid_ones(capsys):
    line = refusal(capsys, "lower", "k.ll", "--to", "cubin", "--sm", "91")
    assert "unknown target sm=91" in line
    assert all(str(target.number) in line for target in TARGETS.values())


def test_unknown_stage_names_the_valid_ones(capsys):
    line = refusal(capsys, "lower", "k.ll", "--to", "object", "--sm", "90")
    assert "'object' is not a stage" in line and all(stage.name in line for stage in STAGES)


@pytest.mark.parametrize("goal", ["tileas", "ll"])
def test_stage_that_does_not_follow(capsys, goal):
    line = refusal(capsys, "lower", "k.ll", "--to", goal, "--sm", "90")
    assert line == f"error[stage-order]: cannot lower .ll to .{goal}; stages after .ll: ptx, cubin"


@pytest.mark.seed("target-and-debug-info", "diag-option")
@pytest.mark.parametrize("given", [[], ["--compute-capability"], ["--compute-capability", "91"]])
def test_a_missing_target_is_one_sentence(capsys, given):
    line = refusal(capsys, "lower", "k.ll", "--to", "ptx", *given)
    assert line.startswith(
        "error[capability-option]: invalid or missing --compute-capability option; use one of 80, 86"
    )


def test_lower_takes_a_capability():
    assert main(["lower", "k.ll", "--to", "ptx", "--compute-capability", "90"]) == 0
    assert ".target sm_90a" in Path("k.ptx").read_text()


def test_wrong_optimization_level(capsys):
    assert "invalid LLVM optimization level '9'; use one of 0, 1, 2, 3, s, z" in refusal(capsys, *lower("--opt", "9"))


def test_missing_ptxas(capsys):
    assert "error[ptxas-missing]: /absent/ptxas is not" in refusal(capsys, *lower("--ptxas", "/absent/ptxas"))


def test_full_disk(capsys):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    line = refusal(capsys, *lower("-o", "/dev/full"))
    assert line == "/dev/full: error[write-failed]: cannot write the file: the disk is full"
    assert not Path("/dev/full").is_file()


def lower_with_small_files(output: str):
    """A disk that takes 100 bytes of each file."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    # Python would leave a cut file of bytecode for the next process.
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    return run("lower", "k.ll", "--to", "ptx", "--sm", "90", "-o", output, preexec_fn=limit, env=environment)


def test_write_that_fails_half_way_leaves_nothing():
    Path("out").mkdir()
    done = lower_with_small_files("out/k.ptx")
    assert done.returncode == 1
    assert done.stderr == "out/k.ptx: error[write-failed]: cannot write the file: File too large\n"
    assert list(Path("out").iterdir()) == []


def test_failed_write_keeps_the_old_artifact():
    Path("k.ptx").write_text("old")
    assert lower_with_small_files("k.ptx").returncode == 1
    assert Path("k.ptx").read_text() == "old"


def test_crash_of_the_compiler_is_a_sentence(capsys, monkeypatch):
    kill = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
    monkeypatch.setattr("tileiras_build.workers.executor.forked_executor.load", lambda name: kill)
    line = refusal(capsys, *lower(), code=3)
    assert line == "internal error[worker-died]: the compiler process was killed by SIGKILL"


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV])
def test_text_that_crashes_the_compiler_is_the_users(capsys, monkeypatch, number):
    """A file of a stage that somebody wrote: LLVM takes for granted what its verifier does not ask."""
    monkeypatch.setattr(
        "tileiras_build.workers.executor.forked_executor.load",
        lambda name: lambda *arguments: os.kill(os.getpid(), number),
    )
    line = refusal(capsys, *lower())
    assert line.startswith("k.ll: error[ll-text]: invalid .ll text: the compiler process was killed")


def test_assembly_that_ends_llvm_is_refused(capfd):
    body = '  call void asm sideeffect "mov.b32 $0, $7;", "r"(i32 1) #0\n'
    Path("k.ll").write_text(KERNEL.replace("  ret void", f"{body}  ret void") + "attributes #0 = { convergent }\n")
    assert main(lower()) == 1
    assert "k.ll: error[ll-text]: invalid .ll text" in capfd.readouterr().err


def test_several_faults_of_a_given_text_are_the_users(capsys):
    calls = "".join(f"  %{n} = call i32 @llvm.nvvm.no.such{n}()\n" for n in range(2))
    Path("k.ll").write_text("".join(KERNEL.replace("  ret void", f"{calls}  ret void")))
    assert main(lower()) == 1
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in lines] == ["error[intrinsic-unknown]"] * 2
    assert all(line.startswith("k.ll:") for line in lines)


def test_a_pass_that_cannot_take_a_given_text(capsys):
    Path("k.tileas").write_text("builtin.module { nv_tileaa.func @k { nv_tileaa.return } }")
    line = refusal(capsys, "lower", "k.tileas", "--to", "ll", "--sm", "90")
    assert line.startswith("k.tileas: error[") or line.startswith("k.tileas:1:")


def test_lower_ends_at_its_deadline(capsys, monkeypatch):
    monkeypatch.setattr(
        "tileiras_build.workers.executor.forked_executor.load", lambda name: lambda *arguments: time.sleep(600)
    )
    line = refusal(capsys, *lower("--timeout", "0.2"))
    assert line == "k.ll: error[timeout]: timed out after 0.2 s before producing .cubin; raise or drop --timeout"


def test_a_deadline_that_is_not_reached_changes_nothing():
    assert main(lower("--timeout", "600", "-o", "k.cubin")) == 0
    assert Path("k.cubin").read_bytes().startswith(b"\x7fELF")


@pytest.mark.parametrize("word", ["0", "-1", "nan", "inf", "soon"])
def test_a_deadline_is_a_positive_number(capsys, word):
    with pytest.raises(SystemExit):
        main(lower(f"--timeout={word}"))
    assert f"expected a positive number of seconds, got '{word}'" in capsys.readouterr().err


def test_lower_in_this_process_has_no_deadline(capsys):
    with pytest.raises(SystemExit):
        main(lower("--timeout", "3", "--in-process"))
    assert "not allowed with argument" in capsys.readouterr().err


def test_targets_are_listed(capsys):
    assert main(["targets"]) == 0
    output = capsys.readouterr().out
    assert [line.split()[0] for line in output.splitlines()[2:]] == list(ALL_TARGETS)


def test_report_of_a_folder(capsys):
    main(lower("-o", "build/sm_90/k.cubin"))
    assert main(["report", "build"]) == 0
    assert "store_one  sm_90 " in capsys.readouterr().out


@pytest.mark.parametrize(("folder", "id"), [("absent", "report-no-folder"), (".", "report-no-cubins")])
def test_report_without_cubins(capsys, folder, id):
    assert f"error[{id}]" in refusal(capsys, "report", folder)


def test_report_of_a_cubin_without_manifest(capsys):
    Path("k.cubin").touch()
    assert refusal(capsys, "report", ".").startswith("k.cubin: error[report-manifest]: missing launch manifest k.json")


def test_reader_that_closes_early_is_no_error():
    done = subprocess.run(
        f"{sys.executable} -m tileiras_build targets | true", shell=True, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


def test_cache_is_shown_checked_and_trimmed(tmp_path, capsys):
    from tileiras_build.workers.executor.cache import BuildCache, open_store

    BuildCache(open_store(str(tmp_path))).keep("ab" * 32, {".ll": b"x" * 1000})
    assert main(["cache", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("1 step, 1 file, 1.15 KiB")
    (tmp_path / "ac/ab" / ("ab" * 32)).write_bytes(b"damaged")
    record = f"{tmp_path}/ac/ab/{'ab' * 32}"
    assert main(["cache", str(tmp_path), "--verify"]) == 1
    said = capsys.readouterr()
    assert said.out.splitlines() == [f"damaged {record}: not an ActionResult", "1 step, 1 file, 1007 B"]
    assert said.err == f"{tmp_path}: error[cache-damaged]: 1 damaged entry; delete them with --repair\n"
    assert main(["cache", str(tmp_path), "--verify", "--repair"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"removed {record}: not an ActionResult",
        "0 steps, 1 file, 1000 B",
    ]
    assert main(["cache", str(tmp_path), "--verify"]) == 0
    assert main(["cache", str(tmp_path), "--trim", "much"]) == 1
    assert "error[cache-size]: invalid size 'much'" in capsys.readouterr().err


def test_passes_are_listed_with_their_contracts(capsys):
    assert main(["passes"]) == 0
    listed = capsys.readouterr().out
    start = listed.index("convert-nvgpu-and-gpu-to-nvvm")
    assert "In:  gpu.*, nvgpu.*, cf.assert" in listed[start:] and "Out: llvm.*, nvvm.*" in listed[start:]
    places = [re.search(rf"^ *{re.escape(entry.name)}\b", listed, re.MULTILINE).start() for entry in PASSES]
    assert places == sorted(places)


# ---- stopping after a pass
def test_lower_until_prints_text_that_opt_finishes(capsys):
    Path("k.tilebc").write_bytes(bytecode_of("vector_add_f32"))
    names = [entry.name for entry in PASSES]
    last = "convert-tile-as-to-llvm"
    assert main(["lower", "k.tilebc", "--to", "ll", "--sm", "90", "--in-process"]) == 0
    assert main(["lower", "k.tilebc", "--until", last, "--sm", "90", "--in-process"]) == 0
    assert Path("k.mlir").read_text().count("gpu.module") == 1
    rest = [word for name in names[names.index(last) + 1 :] for word in ("--pass", name)]
    capsys.readouterr()
    assert main(["opt", "k.mlir", "--sm", "90", *rest, "--ll"]) == 0
    assert capsys.readouterr().out.encode() == Path("k.ll").read_bytes()


@pytest.mark.parametrize("option", ["--opt", "--opt-level"])
@pytest.mark.parametrize(("level", "small"), [("s", True), ("z", True), ("2", False)])
def test_lower_for_size(option, level, small):
    Path("k.tilebc").write_bytes(bytecode_of("vector_add_f32"))
    for goal in ("ll", "ptx", "cubin"):
        source = "k.ll" if goal == "cubin" else "k.tilebc"
        assert main(["lower", source, "--to", goal, "--sm", "90", option, level, "--in-process"]) == 0
    note = next(line for line in Path("k.ll").read_text().splitlines() if "sm_90 -opt=2" in line)
    assert (f"-O{level}" in note) == small
    assert Path("k.cubin").read_bytes().startswith(b"\x7fELF")


def test_lower_until_an_unknown_pass_names_those_on_the_way(capsys):
    Path("k.tilebc").write_bytes(bytecode_of("vector_add_f32"))
    line = refusal(capsys, "lower", "k.tilebc", "--until", "no-such-pass", "--sm", "90", "--in-process")
    assert "error[until-pass]: 'no-such-pass' is not a pass of the pipeline from .tilebc" in line
    assert "convert-tile-as-to-llvm" in line and "tileas-cse-arithmetic" in line


def test_lower_has_one_goal(capsys):
    for goals in ([], ["--to", "ll", "--until", "tileas-cse-arithmetic"]):
        with pytest.raises(SystemExit):
            main(["lower", "k.ll", "--sm", "90", *goals])
    assert "not allowed with argument" in capsys.readouterr().err


# ---- kernel files
TILECPP_KERNELS = Path(__file__).parents[1] / "frontend/tilecpp/kernels.tilebc"


def test_lower_takes_several_targets(tmp_path):
    assert main(["lower", str(TILECPP_KERNELS), "--sm", "80,90", "--to", "ptx", "-o", str(tmp_path / "out")]) == 0
    texts = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert texts.keys() == {"kernels.sm_80.ptx", "kernels.sm_90.ptx"}
    assert all(f".target {name.split('.')[1]}" in text for name, text in texts.items())


def test_lower_of_several_files_needs_a_folder(capsys):
    line = refusal(capsys, "lower", str(TILECPP_KERNELS), "--sm", "80,90", "--to", "tileaa", "-o", "-")
    assert "error[output-not-single]: " in line and "produces 2 files; use -o FOLDER" in line


def test_lower_takes_cuda_tile_cpp(tmp_path, monkeypatch, capsys):
    nvcc = make_toolkit(tmp_path / "toolkit")
    (tmp_path / "k.cu").write_text("#warn-at-3 never used\n")
    monkeypatch.chdir(tmp_path)
    assert main(["lower", "k.cu", "--sm", "90", "--to", "tileaa", "--nvcc", str(nvcc)]) == 0
    assert "k.cu:1:3: warning[nvcc]: never used" in capsys.readouterr().err
    assert "negate" in (tmp_path / "k.tileaa").read_text()


def test_export_takes_cuda_tile_cpp(tmp_path, monkeypatch):
    nvcc = make_toolkit(tmp_path / "toolkit")
    (tmp_path / "k.cu").write_text("kernel\n")
    monkeypatch.chdir(tmp_path)
    assert main(["export", "k.cu", "-o", "out", "--nvcc", str(nvcc), "--instantiate", "scale<float, 8>"]) == 0
    assert (tmp_path / "out/k.tilebc").read_bytes().startswith(b"\x7fTileIR")


PYTHON_KERNELS = """import cuda.tile as ct
from tileiras_build.frontend.export_cutile import Array, Case

@ct.kernel
def copy(x, y, TILE: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (TILE,)))

CASES = [Case(f"copy_{size}", copy, (Array("float32", 1), Array("float32", 1), size)) for size in (16, 32)]
"""


def test_lower_takes_a_python_file_and_several_targets(tmp_path):
    Path("k.py").write_text(PYTHON_KERNELS)
    assert main(["lower", "k.py", "--sm", "90,100", "--to", "ptx"]) == 0
    made = {path.name for path in tmp_path.glob("*.ptx")}
    assert made == {f"copy_{size}.sm_{sm}.ptx" for size in (16, 32) for sm in (90, 100)}


def test_lower_takes_one_kernel_of_a_python_file():
    Path("k.py").write_text(PYTHON_KERNELS)
    assert main(["lower", "k.py", "--kernel", "copy_16", "--sm", "90", "--to", "tileaa", "-o", "one.tileaa"]) == 0
    assert "copy_16" in Path("one.tileaa").read_text()
