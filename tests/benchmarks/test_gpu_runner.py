"""The GPU runner's own doings with a stand-in for its cases: budget, signals, refused images, what peers bring down, results."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

from tests.strict_driver import gpu_run

FOLDER = gpu_run.RUNNER
MODULES = ("images", "processes", "report", "run")
# What each case does is in does.json: JSON to print, or {"sleep": seconds}, {"die": why}; by the command's words from the case on.
CASE = """
import json, sys, time
from pathlib import Path
folder, name, what, *more = sys.argv[1:]
does = json.loads(Path(folder, "does.json").read_text())
with Path(folder, "asked").open("a") as file:
    file.write(" ".join([name, what, *more]) + "\\n")
if what == "load":
    for image in more:
        case, by, _ = image.rsplit(".", 2)
        source = next(kind for kind in ("local.cubin", "local.ptx", "cubin") if Path(folder, "images", f"{case}.{by}.{kind}").exists())
        answer = does.get(f"{case}.{by}.{source}", None)
        if answer == "die":
            sys.exit("the driver is gone")
        print(json.dumps({"image": f"{case}.{by}", **({"failed": answer} if answer else {})}), flush=True)
    print("{}")
    sys.exit()
answer = does.get(" ".join([name, what, *more])) or does.get(f"{name} {what}") or {"wrong": []}
if "sleep" in answer:
    Path(folder, "sleeps").write_text("")
    time.sleep(answer["sleep"])
if "die" in answer:
    sys.exit(answer["die"])
print(json.dumps(answer))
"""
KERNELS = ("a", "b")


@pytest.fixture(scope="module")
def gpu_modules():
    sys.path.insert(0, str(FOLDER))
    try:
        yield {name: __import__(name) for name in MODULES}
    finally:
        sys.path.remove(str(FOLDER))
        for name in (*MODULES, "clocks"):
            sys.modules.pop(name, None)


@pytest.fixture
def folder(tmp_path):
    """A plan of two kernels, whose cases do nothing wrong, and the runner."""
    for path in FOLDER.glob("*.py"):
        shutil.copy(path, tmp_path)
    (tmp_path / "case.py").write_text(CASE)
    (tmp_path / "images").mkdir()
    variants = {name: {"work": 1, "bytes": 1, "at": name} for name in ("small", "full")}
    rows = [{"name": name, "kind": "copy", "variants": variants, "images": ["ours"]} for name in KERNELS]
    for name in KERNELS:
        (tmp_path / "images" / f"{name}.ours.cubin").write_text("cubin")
    images = [{"case": name, "by": "ours", "dynamic": 0, "ptxas": ["-O3"]} for name in KERNELS]
    probes = {"launches": [], "cases": []}
    plan = {"versions": {}, "first": ["a"], "images": images, "probes": probes, "kernels": rows}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    does(tmp_path, {})
    return tmp_path


def does(folder, content):
    (folder / "does.json").write_text(json.dumps(content))


def command(folder, *words):
    return [sys.executable, str(folder / "run.py"), "--phases", "load,probe,check,time", *words]


def run(folder, *words):
    return subprocess.run(command(folder, *words), capture_output=True, text=True, timeout=300, check=False)


def rows(folder):
    return [json.loads(line) for line in (folder / "results" / "results.jsonl").read_text().splitlines()]


def keys(folder):
    return [(row["phase"], row["case"], row["variant"]) for row in rows(folder) if "case" in row]


def wait_for(path, seconds=120):
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} was never made"
        time.sleep(0.02)


LOADS = [("load", name, "ours") for name in KERNELS]
OF_A = [("check", "a", "small"), ("check", "a", "full"), ("time", "a", "full")]
OF_B = [("check", "b", "small"), ("check", "b", "full"), ("time", "b", "full")]


def test_first_kernels_come_first(folder):
    assert run(folder).returncode == 0
    assert keys(folder) == [*LOADS, *OF_A, *OF_B]
    assert rows(folder)[-1] == {"phase": "end", "failures": 0, "left": 0}


# ---- the budget and what cuts a run off --------------------------------------------------------------------------------
def test_the_budget_ends_the_running_case_and_the_next_run_takes_it_up(folder):
    does(folder, {"b check full": {"sleep": 600}})
    assert run(folder, "--seconds", "8").returncode == 0
    first = rows(folder)
    assert first[-1]["phase"] == "end" and first[-1]["left"] >= 2 and not any("failed" in row for row in first)
    found = [key for key in keys(folder) if key[0] in ("check", "time")]
    assert OF_B[1] not in found and set(found) < {*OF_A, *OF_B}  # a busy machine comes less far
    does(folder, {})
    assert run(folder, "--resume").returncode == 0
    assert sorted(key for key in keys(folder) if key[0] in ("check", "time")) == sorted([*OF_A, *OF_B])


def test_a_case_that_was_cut_off_is_not_done(gpu_modules, folder, monkeypatch):
    run, budget = gpu_modules["run"], types.SimpleNamespace(left=iter([5.0, 5.0, 0.0]).__next__)
    monkeypatch.setattr(
        run.processes, "run", lambda command, limit, by_tool: {"failed": f"no end in {limit} s", "hung": True}
    )
    job = run.Job("check", "b", "full", ("check", "full"))
    assert run.run_one(run.Work(folder, {}, [], 1), job, 60, budget) == {
        "phase": "cut",
        "case": "b",
        "variant": "check full",
    }


def test_nothing_is_begun_that_there_is_no_time_for(folder):
    assert run(folder, "--seconds", "2").returncode == 0
    assert [key for key in keys(folder) if key[0] != "load"] == [] and rows(folder)[-1]["left"] == 6


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_case_ends_with_the_run(folder, number):
    does(folder, {"a check full": {"sleep": 600}})
    process = subprocess.Popen(command(folder), stdout=subprocess.DEVNULL)
    wait_for(folder / "sleeps")
    children = _children(process.pid)
    process.send_signal(number)
    assert process.wait(120) == (143 if number == signal.SIGTERM else -number)
    end = time.monotonic() + 120
    while any(map(_lives, children)):
        assert time.monotonic() < end, "a case is still there"
        time.sleep(0.02)
    assert children and keys(folder) == [*LOADS, OF_A[0]]


def _children(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_line_that_was_cut_off_is_run_again(folder):
    assert run(folder).returncode == 0
    results = folder / "results" / "results.jsonl"
    lines = results.read_text().splitlines()
    kept = [line for line in lines if json.loads(line)["phase"] != "end"]
    results.write_text("\n".join([*kept[:-1], kept[-1][:20]]))
    table = (folder / "results" / "table.md").read_text()
    assert run(folder, "--resume").returncode == 0
    assert keys(folder)[-3:] == [*LOADS, ("time", "b", "full")]
    assert (folder / "results" / "table.md").read_text() == table


def test_results_of_another_plan_are_not_taken_up(folder):
    assert run(folder).returncode == 0
    plan = json.loads((folder / "plan.json").read_text())
    (folder / "plan.json").write_text(json.dumps({**plan, "more": 1}))
    assert run(folder, "--resume").returncode == 2
    assert run(folder).returncode == 0 and keys(folder)[8:] == [*LOADS, *OF_A, *OF_B]


def test_results_go_where_they_are_asked_for(folder, tmp_path):
    place = tmp_path / "elsewhere"
    assert run(folder, "--results", str(place)).returncode == 0
    assert {path.name for path in place.iterdir()} == {"results.jsonl", "table.md"} and not (
        folder / "results"
    ).exists()


# ---- images ------------------------------------------------------------------------------------------------------------
def test_an_image_that_brings_the_process_down_costs_its_row(folder):
    does(folder, {"a.ours.cubin": "die"})
    assert run(folder).returncode == 1
    first = [row for row in rows(folder) if row["phase"] == "load"]
    assert [row.get("source") for row in first] == ["cubin", None] and "the driver is gone" in first[1]["failed"]
    assert keys(folder) == [LOADS[1], LOADS[0], *OF_B]


@pytest.fixture
def ptxas(folder, monkeypatch):
    """A ptxas that knows PTX 9.0 and no arch-specific target."""
    program = folder / "ptxas"
    program.write_text(
        "#!/bin/sh\nfor word; do case $word in *.source) source=$word;; sm_*) arch=$word;; -o) shift;; esac; last=$word; done\n"
        "case $arch in *a) echo \"ptxas fatal   : Value '$arch' is not defined for option 'gpu-name'\" >&2; exit 255;; esac\n"
        'grep -q ".version 9.0" $source || '
        "{ echo \"fatal   : Unsupported .version 9.4; current version is '9.0'\" >&2; exit 255; }\n"
        "grep -q wgmma $source && { echo \"error   : Feature 'wgmma' not supported on .target 'sm_90'\" >&2; exit 255; }\n"
        "cp $source $last\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return program


PTX = ".version 9.4\n.target sm_90a\n.address_size 64\n.visible .entry a() { ret; }\n"


def test_ptxas_makes_a_refused_image_anew_of_what_it_knows(folder, ptxas):
    (folder / "images" / "a.ours.ptx").write_text(PTX)
    does(folder, {"a.ours.cubin": "CUDA_ERROR_NO_BINARY_FOR_GPU"})
    assert run(folder).returncode == 0
    [row] = [row for row in rows(folder) if "refused" in row]
    assert (row["source"], row["refused"]) == ("ptxas", "CUDA_ERROR_NO_BINARY_FOR_GPU")
    made = (folder / "images" / "a.ours.local.cubin").read_text()
    assert made == PTX.replace("9.4", "9.0").replace("sm_90a", "sm_90")
    table = (folder / "results" / "table.md").read_text()
    assert "- load: 1 of 2 images as they are" in table and "made here by ptxas" in table


def test_what_ptxas_does_not_take_the_driver_compiles(folder, ptxas):
    text = PTX.replace("ret", "wgmma.fence; ret")
    (folder / "images" / "a.ours.ptx").write_text(text)
    does(folder, {"a.ours.cubin": "CUDA_ERROR_NO_BINARY_FOR_GPU"})
    assert run(folder).returncode == 0
    [row] = [row for row in rows(folder) if "refused" in row]
    assert row["source"] == "the driver's compiler" and keys(folder)[2:] == [*OF_A, *OF_B]
    assert (folder / "images" / "a.ours.local.ptx").read_text() == text
    does(folder, {})
    assert run(folder).returncode == 0 and not (folder / "images" / "a.ours.local.ptx").exists()


def test_what_nobody_compiles_says_all_reasons(folder, ptxas):
    (folder / "images" / "a.ours.ptx").write_text(PTX.replace("ret", "wgmma.fence; ret"))
    does(folder, {"a.ours.cubin": "NO_BINARY", "a.ours.local.ptx": "INVALID_PTX"})
    assert run(folder).returncode == 1
    [row] = [row for row in rows(folder) if "refused" in row]
    assert row["failed"].startswith("NO_BINARY; ") and "Feature 'wgmma' not supported" in row["failed"]
    assert row["failed"].endswith("INVALID_PTX") and keys(folder)[2:] == OF_B
    assert not list((folder / "images").glob("*.local.*"))


def test_the_image_that_is_read_is_the_one_that_was_loaded(gpu_modules, tmp_path):
    read, folder = gpu_modules["images"].read, tmp_path / "images"
    folder.mkdir()
    (folder / "a.ours.cubin").write_bytes(b"cubin")
    assert read(tmp_path, "a", "ours") == b"cubin"
    (folder / "a.ours.local.ptx").write_bytes(b"ptx")
    assert read(tmp_path, "a", "ours") == b"ptx\0"
    (folder / "a.ours.local.cubin").write_bytes(b"made here")
    assert read(tmp_path, "a", "ours") == b"made here"


# ---- cases -------------------------------------------------------------------------------------------------------------
def test_a_grid_counts_ctas_where_the_probe_says_so(folder):
    plan = json.loads((folder / "plan.json").read_text())
    launch = {"entry": "clusters_by_directive", "kind": "clusters", "grid": 4, "threads": 128, "needed": True}
    plan["probes"]["launches"] = [launch]
    (folder / "plan.json").write_text(json.dumps(plan))
    does(folder, {"clusters_by_directive probe": {"ctas": 4, "wrong": ["4 CTAs ran"]}})
    assert run(folder).returncode == 1
    asked = [line for line in (folder / "asked").read_text().splitlines() if " check " in line or " time " in line]
    assert all(line.endswith("grid=ctas") for line in asked) and len(asked) == 6


def test_peers_that_bring_a_case_down_are_left_out(folder):
    does(
        folder,
        {"a time full 50": {"die": "peer fault"}, "a time full 50 without=tileiras,triton": {"ms": {}, "wrong": []}},
    )
    assert run(folder).returncode == 0
    row = next(row for row in rows(folder) if row["phase"] == "time" and row["case"] == "a")
    assert row["failed_peers"] == {"tileiras, triton": "peer fault"}
    assert "tileiras, triton is not compared: peer fault" in (folder / "results" / "table.md").read_text()
    does(folder, {"a time": {"die": "peer fault"}, "a time full 50 without=all": {"ms": {}, "wrong": []}})
    assert run(folder).returncode == 0
    last = [row for row in rows(folder) if row["phase"] == "time" and row["case"] == "a"][-1]
    assert last["failed_peers"] == {"all": "peer fault"}


def test_what_hangs_is_not_run_again_and_what_is_wrong_is_not_timed(folder):
    does(folder, {"a check small": {"sleep": 600}, "b check small": {"wrong": ["error 1"]}})
    plan = json.loads((folder / "plan.json").read_text())
    plan["kernels"][0]["limit"] = 3
    (folder / "plan.json").write_text(json.dumps(plan))
    assert run(folder).returncode == 1
    assert keys(folder) == [*LOADS, OF_A[0], *OF_B[:2]]
    assert next(row for row in rows(folder) if row["phase"] == "check")["failed"] == "no end in 3 s"


def test_a_tool_that_is_not_there_is_reported(folder, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    done = subprocess.run([sys.executable, folder / "run.py", "--phases", "sanitize"], capture_output=True, check=False)
    assert done.returncode == 0
    assert "- sanitize: compute-sanitizer is not installed" in (folder / "results" / "table.md").read_text()


def test_ncu_leaves_the_clocks_alone(gpu_modules):
    run, row = gpu_modules["run"], {"name": "k", "kind": "matmul"}
    [job] = run.profiles(run.Work(Path(), {}, [row], 1), [row])
    assert job.tool[1:3] == ("--clock-control", "none")


def test_tools_are_found_beside_the_toolkit(gpu_modules, tmp_path, monkeypatch):
    processes = gpu_modules["processes"]
    for version in ("12.9", "13.0"):
        (tmp_path / f"cuda-{version}").mkdir()
        gpu_run.write_tools(tmp_path / f"cuda-{version}", ["ncu"])
    monkeypatch.setattr(processes, "TOOLS", {"ncu": (f"{tmp_path}/cuda*",)})
    monkeypatch.setenv("PATH", "/nonexistent")
    assert processes.find_tool("ncu") == str(tmp_path / "cuda-13.0" / "ncu")


# A case that leaves a child which keeps its output open, and hangs.
LINGERS = (
    "import os, subprocess, sys, time; subprocess.Popen(['sleep', '600'], start_new_session=True); time.sleep(600)"
)


def test_a_case_that_cannot_be_ended_is_left(gpu_modules, monkeypatch):
    processes = gpu_modules["processes"]
    monkeypatch.setattr(processes, "MAX_EXIT_SECONDS", 0.2)
    found = processes.run([sys.executable, "-c", LINGERS], 0.5)
    assert found["failed"] == "no end in 0.5 s, still there 0.2 s after it was killed" and found["hung"]


def test_what_is_no_result_is_a_failure(gpu_modules):
    run = gpu_modules["processes"].run
    assert run([sys.executable, "case.py", "-c"], 60)["failed"].startswith(sys.executable[:1])
    assert run([sys.executable, "-c", "print('{cut')"], 60, by_tool=True)["failed"] == "exit status 0"
    found = run([sys.executable, "-c", "print('==ERROR== ERR_NVGPUCTRPERM'); print('{}')"], 60, by_tool=True)
    assert found["failed"] == "ERROR== ERR_NVGPUCTRPERM; ERROR== ERR_NVGPUCTRPERM"


# ---- the table ---------------------------------------------------------------------------------------------------------
def table(gpu_modules, kernel, row):
    kernel = {"name": "k", "work": 0, "bytes": 1, **kernel}
    row = {"phase": "time", "case": "k", "variant": "full", **row}
    return gpu_modules["report"].table(map(json.dumps, [{"phase": "start", "kernels": [kernel]}, row]))


ONE = {"median": 2.0, "min": 1.0, "p90": 3.0}


def test_a_peer_that_is_wrong_is_not_compared_with(gpu_modules):
    times = {"ours": ONE, "torch": ONE | {"median": 1.0}, "cupy": ONE | {"median": 3.0}}
    made = table(gpu_modules, {"work": 4e9}, {"ms": times, "failed_peers": {"torch": "error 1"}})
    assert "| 2 TFLOP/s |  |  |  | 3.000 (cupy) | 1.50x | torch is not compared: error 1; no check |" in made


def test_what_was_measured_stands_beside_what_was_modelled(gpu_modules):
    row = {"ms": {"ours": ONE, "triton": ONE}, "notes": {"triton": "matmul 128x128x64 warps 8 stages 3"}}
    made = table(gpu_modules, {"modelled_us": 1600.0}, row)
    assert "| 2.000 (1.000, 3.000) | 1.600 | 1.25x |" in made and "triton: matmul 128x128x64 warps 8 stages 3" in made
