"""``tileiras-build run script.py``: scripts that launch kernels, unchanged, with their arguments and exit codes."""

import gc
import json
import subprocess
import sys

import pytest

from tileiras_build.cli.dispatch import main
from tileiras_build.core.knobs import CUTILE_INHERITED
from tileiras_build.cutile.child_processes import environment
from tileiras_build.cutile.run_script_settings import Settings

pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")

SCRIPT = """
import sys, subprocess
import numpy as np
import cuda.tile as ct

@ct.kernel
def doubled(x, offset):
    i = ct.arange(16, dtype=ct.int32) + offset
    ct.store(x, (0,), 2 * ct.gather(x, i, check_bounds=False))

def run(offset):
    x = np.arange(16, dtype=np.float32)
    ct.launch(0, (1,), doubled, (x, offset))
    print(__name__, sys.argv[1:], x[3])

if "child" in sys.argv:
    sys.exit(subprocess.run([sys.executable, __file__, "grandchild"]).returncode)
if "fail" in sys.argv:
    run(1000)
if "raise" in sys.argv:
    raise KeyError("of the script")
run(0)
sys.exit(7)
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def test_a_script_gets_its_arguments_and_its_exit_code_is_kept(script, capsys):
    assert main(["run", str(script), "--device", "cpu", "--sm", "90", "--", "--flag", "x"]) == 7
    assert capsys.readouterr().out == "__main__ ['--flag', 'x'] 6.0\n"


def test_a_fault_is_one_line_under_a_traceback_without_frames_of_ours(script, capsys):
    assert main(["run", str(script), "--", "fail"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith(f"{script}:9:") and "error[kernel-out-of-bounds]: kernel doubled, block" in lines[-1]
    assert not any("tileiras_build" in line for line in lines)


def test_an_error_of_the_script_is_shown_as_python_shows_it(script, capsys):
    assert main(["run", str(script), "--", "raise"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback") and shown.endswith("KeyError: 'of the script'\n")
    assert "tileiras_build" not in shown


def test_processes_that_a_script_starts_are_under_the_device(script):
    command = [sys.executable, "-m", "tileiras_build", "run", str(script), "--", "child"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, "__main__ ['grandchild'] 6.0\n"), done.stderr


def test_the_compiler_s_parameters_are_theirs_too(script, monkeypatch):
    told = []
    monkeypatch.setattr(
        "tileiras_build.cutile.run_script.run_program", lambda _, settings, end: told.append(settings) or 0
    )
    assert main(["run", str(script), "--grid-swizzle", "8", "--keep", "2"]) == 0
    inherited = Settings(**json.loads(environment(told[0])[CUTILE_INHERITED.name]))
    assert told[0].options()["grid_swizzle"] == inherited.options()["grid_swizzle"] == 8
    assert told[0].options()["keep"] == inherited.options()["keep"] == inherited.keep == 2
    assert "fp8_promotion_interval" not in inherited.options()
    assert Settings("gpu", None, tuning={"grid_swizzle": 8}).options() == {"grid_swizzle": 8}


def test_a_gpu_refuses_what_only_the_emulator_does(script, capsys):
    assert main(["run", str(script), "--device", "gpu", "--race-check"]) == 1
    assert "option 'race_check' is for the CPU device only" in capsys.readouterr().err
    assert "race_check" not in Settings("gpu", None).options()
    assert json.loads(environment(Settings("gpu", None))[CUTILE_INHERITED.name])["jobs"] is None


def test_a_profile_of_an_init_check_is_refused(script, capsys):
    assert main(["run", str(script), "--init-check", "--profile"]) == 1
    assert "run them separately" in capsys.readouterr().err


def test_they_leave_the_cores_to_each_other():
    told = [json.loads(environment(Settings("cpu", "sm_90", jobs=jobs))[CUTILE_INHERITED.name]) for jobs in (None, 3)]
    assert [settings["jobs"] for settings in told] == [1, 3]


def test_a_script_s_own_garbage_is_collected_and_what_was_imported_before_is_left_alone(tmp_path, capsys):
    path = tmp_path / "script.py"
    path.write_text("import gc; print(gc.isenabled(), gc.get_freeze_count() > 10_000)")
    try:
        main(["run", str(path), "--device", "cpu", "--sm", "90"])
    finally:
        gc.unfreeze()
    assert capsys.readouterr().out == "True True\n"


def test_a_script_is_known_by_its_first_line_too(tmp_path, capsys):
    (tmp_path / "script").write_text("#!/usr/bin/env python\nprint(__file__)\n")
    assert main(["run", str(tmp_path / "script")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'script'}\n"


@pytest.mark.parametrize("words", [["--size", "3"], ["three"]])
def test_arguments_before_the_two_dashes_are_refused_with_the_remedy(script, words, capsys):
    with pytest.raises(SystemExit):
        main(["run", str(script), *words])
    assert "; put the script's own arguments after --" in capsys.readouterr().err


def test_a_script_that_is_not_there_is_reported(tmp_path, capsys):
    assert main(["run", str(tmp_path / "none.py")]) == 1
    assert "error[run-script]" in capsys.readouterr().err


def test_a_notebook_is_refused_with_the_command_that_runs_it(capsys):
    assert main(["run", "notebook.ipynb", "--device", "cpu"]) == 1
    assert "run -m nbconvert -- --to notebook --execute notebook.ipynb" in capsys.readouterr().err


LATE = """
import atexit, sys, threading
import numpy as np
from script import doubled, ct

def launch(name):
    x = np.ones(16, np.float32)
    ct.launch(0, (1,), doubled, (x, 0))
    print(name, x[0], flush=True)

main_is_over = threading.Event()
atexit.register(launch, "at exit")
threading.Thread(target=lambda: (main_is_over.wait(), launch("thread"))).start()
launch("main")
main_is_over.set()
"""


def test_a_module_runs_by_its_name_and_what_outlives_it_is_under_the_device(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT.partition("def run")[0])
    (tmp_path / "part").mkdir()
    (tmp_path / "part/__main__.py").write_text(LATE.replace("from script", "from .script"))
    (tmp_path / "script.py").rename(tmp_path / "part/script.py")
    command = [sys.executable, "-m", "tileiras_build", "run", "-m", "part", "--json", "profile.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "main 2.0\nthread 2.0\nat exit 2.0\n"), done.stderr
    [row] = json.loads((tmp_path / "profile.json").read_text())["kernels"]
    assert row["launches"] == 3


def test_threads_and_interrupted_scripts_show_where_they_were(tmp_path, capsys):
    path = tmp_path / "script.py"
    path.write_text("import threading\ndef fail(): raise KeyError('here')\n"
                    "t = threading.Thread(target=fail); t.start(); t.join()\nraise KeyboardInterrupt\n")  # fmt: skip
    assert main(["run", str(path)]) == 130
    shown = capsys.readouterr().err
    assert "KeyError: 'here'" in shown and shown.endswith("KeyboardInterrupt\n") and "tileiras_build" not in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--grid", "2"], "--grid applies to bytecode kernels"),
        (["--json", "none/profile.json"], "folder none does not exist"),
    ],
)
def test_what_a_script_would_not_notice_is_refused_before_it_runs(script, words, message, capsys):
    assert main(["run", str(script), *words]) == 1
    assert message in capsys.readouterr().err
