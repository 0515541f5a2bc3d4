"""The driver: stages run in order, options reach those that may read them, faults leave a reproducer."""

import gc
import hashlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import pytest

from tests.examples.example_library import bytecode_of
from tests.fake_stages import TABLE
from tileiras_build import driver
from tileiras_build.core.errors import InternalError, InvalidInput, Unsupported
from tileiras_build.pipeline import opt, stages
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.pipelining_strategies import STRATEGIES
from tileiras_build.pipeline.tileas_to_ll.writer.write_llvm_dialect import write
from tileiras_build.target.targets import find_target


@pytest.fixture(autouse=True)
def dump_here(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEIRAS_DUMP", str(tmp_path / "dump"))


def job(**options) -> Job:
    return Job(find_target("90"), **options)


def lower(text: str, source: str, goal: str, **options) -> dict[str, bytes]:
    return driver.lower(text.encode(), source, goal, job(**options), "k.tilebc", TABLE)


def test_lower_runs_every_stage_between():
    files = lower("kernel a\n", "tileaa", "ptx")
    assert files == {".ptx": b"kernel a\ntileas sm_90 O3\nll sm_90 O3\nptx sm_90 O3\n"}


@pytest.mark.parametrize("name", ["a\0b.tilebc", "x" * 400, "../..", "a\nb", "größe\udcff", "."])
def test_a_fault_leaves_its_dump_whatever_the_input_is_called(name, tmp_path):
    with pytest.raises(InternalError, match="reproduce with") as caught:
        driver.lower(b"kernel a\nll: bug\n", "tileaa", "cubin", job(), name, TABLE)
    assert len(list((tmp_path / "dump").iterdir())) == 1
    inputs = map(str, (tmp_path / "dump").glob("*/input.tileas"))
    assert next(inputs) in shlex.split(str(caught.value).partition("reproduce with: ")[2])


def test_last_stage_gives_the_manifest_too():
    files = lower("kernel a\n", "ptx", "cubin")
    assert files[".cubin"] == b"kernel a\ncubin none\n"
    assert b'"registers": 42' in files[".json"]


def test_what_compiling_leaves_needs_no_collector():
    """Of some 4000 objects of IR and bytecode: else a program that compiles pays for the collector's looking at all of them."""
    compile_to_ptx = partial(driver.compile, bytecode_of("softmax_f32"), "sm_90", stop_at="ptx")
    compile_to_ptx()
    gc.collect()
    gc.disable()
    try:
        compile_to_ptx()
        assert gc.collect() < 400
    finally:
        gc.enable()


def test_stages_in_steps_give_the_same_bytes():
    whole = lower("kernel a\n", "tilebc", "ptx")[".ptx"]
    text = b"kernel a\n"
    for source, goal in (("tilebc", "tileaa"), ("tileaa", "tileas"), ("tileas", "ll"), ("ll", "ptx")):
        text = lower(text.decode(), source, goal)[f".{goal}"]
    assert text == whole


def test_option_that_a_stage_does_not_declare_does_not_reach_it():
    stage = TABLE[1]
    assert stage.job(job(opt_level=1, debug=True, ptxas="p")) == job(opt_level=1)


def test_diagnostics_go_through_unchanged(tmp_path):
    with pytest.raises(Unsupported, match="no row in ll"):
        lower("kernel a\nll: fail\n", "tilebc", "cubin")
    assert not (tmp_path / "dump").exists()


def test_package_that_is_not_installed_is_no_fault_of_ours(tmp_path):
    with pytest.raises(InvalidInput) as caught:
        lower("kernel a\nll: lacking\n", "tilebc", "cubin")
    assert str(caught.value) == (
        "error[package-missing]: cannot import xdsl, required by tileiras_build: No module named 'xdsl.ir'; "
        "reinstall tileiras_build in this environment"
    )
    assert not (tmp_path / "dump").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("contract", "survived pass z"),
        ("broken", "ZeroDivisionError: a bug"),
        ("lost", "No module named 'tileiras_build.gone'"),
    ],
)
def test_fault_of_ours_leaves_a_reproducer(tmp_path, line, said):
    with pytest.raises(InternalError, match=said) as caught:
        lower(f"kernel a\nll: {line}\n", "tilebc", "cubin", opt_level=2)
    command = shlex.split(caught.value.remedy.partition("reproduce with: ")[2])
    assert command[:2] == ["tileiras-build", "lower"]
    assert command[3:] == ["--to", "ll", "--sm", "sm_90", "--opt", "2"]
    assert Path(command[2]).suffix == ".tileas" and f"ll: {line}" in Path(command[2]).read_text()
    assert "Traceback" in (Path(command[2]).parent / "error.txt").read_text()


def test_full_disk_does_not_hide_the_fault(tmp_path, monkeypatch):
    (tmp_path / "dump").write_text("a file where the folder should be")
    with pytest.raises(InternalError, match="ZeroDivisionError: a bug; no dump: "):
        try:
            lower("kernel a\nll: broken\n", "tilebc", "cubin")
        except InternalError as error:
            raise InternalError(error.id, str(error)) from error


@pytest.mark.parametrize("level", [-1, 4, "3", "fast", True, 3.0, None])
def test_wrong_optimization_level(level):
    with pytest.raises(InvalidInput, match=re.escape(f"invalid LLVM optimization level {level!r}; use one of 0, 1, 2")):
        driver.compile(b"", "sm_90", opt_level=level)


def test_empty_bytecode():
    with pytest.raises(InvalidInput, match="the file is empty"):
        driver.compile(b"", "sm_90")


def test_debug_shows_stages_and_writes_artifacts(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TILEIRAS_DEBUG", "5")
    lower("kernel a\n", "ll", "ptx")
    assert "ms  stage ptx  k.tilebc" in capsys.readouterr().err
    assert (tmp_path / "dump/k-sm_90.ptx").read_text() == "kernel a\nptx sm_90 O3\n"


def test_importing_the_package_loads_no_compiler():
    code = "import tileiras_build, sys; print(sorted({'xdsl', 'numpy', 'llvmlite', 'SCons'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_emulator_is_an_attribute():
    code = "import tileiras_build; print(tileiras_build.emulator.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "tileiras_build.simulate.emulator\n"


BROKEN = b"kernel a\nll: broken\n"


def _plant_link(folder: Path, victim: Path) -> None:
    """What a dump is called, for whoever looks at the source of this project."""
    folder.mkdir(parents=True)
    for name in ("error.txt", "input.tilebc", "input.tileas", "k-sm_90.ptx", "k-sm_90.ll"):
        (folder / name).symlink_to(victim)


@pytest.mark.parametrize("place", ["tileiras_dump", f"tileiras-{os.geteuid()}/dump", f"tileiras-{os.geteuid()}"])
def test_dump_in_the_temporary_folder_is_written_through_nobodys_link(tmp_path, monkeypatch, place):
    victim, temporary = tmp_path / "victim", tmp_path / "temporary"
    victim.write_text("precious")
    name = f"k-{hashlib.sha256(BROKEN).hexdigest()[:10]}"
    _plant_link(temporary / place, victim)
    _plant_link(temporary / place / name, victim)
    monkeypatch.delenv("TILEIRAS_DUMP")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with pytest.raises(InternalError, match="reproduce with") as caught:
        lower(BROKEN.decode(), "tilebc", "cubin")
    monkeypatch.setenv("TILEIRAS_DEBUG", "5")
    lower("kernel a\n", "tilebc", "ptx")
    assert victim.read_text() == "precious"
    dumped = Path(shlex.split(caught.value.remedy.partition("reproduce with: ")[2])[2])
    assert dumped.is_file() and not dumped.is_symlink()


def test_dump_in_a_folder_that_the_user_names_replaces_links(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    name = f"k-{hashlib.sha256(BROKEN).hexdigest()[:10]}"
    _plant_link(tmp_path / "dump" / name, victim)
    for _ in range(2):
        with pytest.raises(InternalError, match="reproduce with"):
            lower(BROKEN.decode(), "tilebc", "cubin")
    assert victim.read_text() == "precious"
    assert "ZeroDivisionError" in (tmp_path / "dump" / name / "error.txt").read_text()


# ---- stopping after a pass -------------------------------------------------------------------------------------------
def until(name: str, last: str, target: str, **options) -> str:
    """The module of an example after the pass ``last``."""
    made = driver.lower_until(bytecode_of(name), "tilebc", last, Job(find_target(target), **options), f"{name}.tilebc")
    return made[".mlir"].decode()


def passes_after(last: str) -> list[str]:
    names = [entry.name for entry in stages.find("ll").passes]
    return names[names.index(last) + 1 :]


@pytest.mark.parametrize("last", ["tileas-cse-arithmetic", "convert-tile-as-to-llvm"])
@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("matmul_f16_nt", "sm_80"), ("matmul_f16_nt", "sm_90"), ("matmul_f16_nt", "sm_100"), ("softmax_f16", "sm_120"),
        ("histogram_i32", "sm_80"), ("gelu_erf_bf16", "sm_90"), ("prefix_sum_f32", "sm_100"), ("transpose_i8", "sm_120"),
    ],
)  # fmt: skip
def test_opt_finishes_what_lower_until_prints(name, target, last):
    job = Job(find_target(target))
    printed = until(name, last, target)
    finished = write(opt.transform(printed, passes_after(last), job))
    whole = driver.lower(bytecode_of(name), "tilebc", "ll", job, f"{name}.tilebc")
    assert finished.encode() == whole[".ll"]


@pytest.mark.parametrize("last", ["convert-tile-as-to-llvm", "nv-tile-ir-convert-target-to-nvvm"])
@pytest.mark.parametrize("options", [{"lineinfo": True}, {"opt_level": 0, "debug": True}])
def test_places_of_the_source_are_printed_too(options, last):
    job = Job(find_target("sm_90"), **options)
    printed = until("softmax_f16", last, "sm_90", **options)
    assert "loc = #loc" in printed and ("debuginfo.value" in printed) == job.debug and "di_subprogram" in printed
    finished = write(opt.transform(printed, passes_after(last), job))
    whole = driver.lower(bytecode_of("softmax_f16"), "tilebc", "ll", job, "softmax_f16.tilebc")
    assert finished.encode() == whole[".ll"]


def test_lower_until_stops_there():
    printed = until("vector_add_f32", "convert-nv-tile-func-to-llvm", "sm_90")
    assert "func.func @vector_add_f32" in printed and "nv_tileas.tiled_load" in printed
    assert "nvvm.kernel" not in printed
    assert "nvvm.kernel" in until("vector_add_f32", "convert-cute-kernel-to-nvvm", "sm_90")


def test_a_pass_behind_the_source_is_not_on_the_way():
    tileas = driver.lower(bytecode_of("vector_add_f32"), "tilebc", "tileas", job())[".tileas"]
    [first, *_] = stages.find("tileas").passes
    with pytest.raises(InvalidInput, match=r"until-pass.*is not a pass of the pipeline from \.tileas") as caught:
        driver.lower_until(tileas, "tileas", first.name, job())
    assert "convert-tile-as-to-llvm" in caught.value.remedy and first.name not in caught.value.remedy


def test_a_pass_that_the_strategy_leaves_out_is_not_on_the_way():
    strategy, left_out = next(
        (row.name, name)
        for row in STRATEGIES
        for name in names_of(job())
        if name not in names_of(job(strategy=row.name))
    )
    assert "nv_tileaa.func" in until("matmul_f16_nt", left_out, "sm_90")
    with pytest.raises(InvalidInput, match=f"until-pass.*'{left_out}' is not a pass") as caught:
        until("matmul_f16_nt", left_out, "sm_90", strategy=strategy)
    assert left_out not in caught.value.remedy


def names_of(given: Job) -> list[str]:
    """The passes of the scheduling edge for a job."""
    stage = stages.find("tileas")
    return [entry.name for entry in stage.passes_for(stage.job(given))]


def test_a_former_name_of_an_option_is_refused_with_the_new_one():
    with pytest.raises(InvalidInput, match="option-unknown.*tile_group was renamed to grid_swizzle"):
        driver.compile(b"", "sm_90", tile_group=8)
