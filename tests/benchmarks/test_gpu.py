"""The GPU benchmark over the strict driver and the emulator: its plan, every phase, a hang, a fault, and the table."""

import json
import os
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.runtime.fake_driver import RecordingEncoder
from tests.strict_driver.server import StrictDriver, build
from tileiras_build.runtime.tensor_maps import resolve

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "gpu"
HANGS, FAULTS, RIGHT = "vector_add_f16_4096", "softmax_f16_4096", ("matmul_f16_128x128x64", "vector_add_f32_1024")
TOOL = '#!/bin/sh\nwhile [ "$1" != "{python}" ]; do shift; done\nexec "$@"\n'  # leaves out its own options


@pytest.fixture(scope="module")
def gpu_modules():
    """The modules of benchmarks/gpu, which stand beside each other on the GPU's machine."""
    sys.path.insert(0, str(FOLDER))
    names = ("build", "case", "device", "problems", "report", "run")
    try:
        yield {name: __import__(name) for name in names}
    finally:
        sys.path.remove(str(FOLDER))
        for name in (*names, "peers"):
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def plan(gpu_modules, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    wanted = [*RIGHT, HANGS, FAULTS, "matmul_f8e4m3*"]
    words = ["build.py", str(folder), "--small", *(word for name in wanted for word in ("--only", name))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu_modules["build"], "_build_peer", lambda *_: False)
        patch.setattr(sys, "argv", words)
        assert gpu_modules["build"].main() == 0
    return folder, json.loads((folder / "plan.json").read_text())


def test_the_plan_names_what_to_launch(plan):
    folder, found = plan
    rows = {row["name"]: row for row in found["kernels"]}
    assert rows["matmul_f8e4m3_128x128x64"]["unit_strides"] == [-1, 0, -1]
    assert rows[RIGHT[0]]["variants"]["tail"]["grid"] == [2, 2, 1]
    assert rows[RIGHT[0]]["variants"]["tail"]["shapes"] == [[224, 208], [208, 192], [224, 192]]
    assert found["probes"]["cases"] == [[RIGHT[0], "check"]]
    assert all((folder / f"{name}.ours.cubin").read_bytes()[:4] == b"\x7fELF" for name in rows)
    assert all(".visible .entry" in (folder / f"{name}.ours.ptx").read_text() for name in rows)


def test_full_sizes_are_those_of_the_table(gpu_modules):
    build = gpu_modules["build"]
    cases = {case.name: case for case in build.load_cases(build.KERNELS)}
    attention = build.problem(cases["attention_f16_128x128_causal"], small=False)
    assert attention["kind"] == "attention_causal" and attention["variants"]["full"]["grid"] == [32, 32, 1]
    persistent = build.problem(cases["matmul_f16_256x128x64_persistent"], small=False)
    assert persistent["persistent"] and persistent["variants"]["full"]["grid"] == [512, 1, 1]


def test_tensor_maps_are_those_of_the_runtime(gpu_modules, plan):
    device, problems = gpu_modules["device"], gpu_modules["problems"]
    [row] = [row for row in plan[1]["kernels"] if row["name"].startswith("matmul_f8")]
    variant = row["variants"]["tail"]
    packed = problems.parameters(problems.make_arrays(row, variant), [0x1000, 0x2000, 0x3000], variant["scalars"])
    assert [len(data) for data in packed] == row["launch"]["param_sizes"]
    entries = row["launch"]["tensor_maps"]
    divided = entries[0] | {"shape": [{"param": 2, "over": 2}, *entries[0]["shape"][1:]], "fill": "nan"}
    for index, entry in enumerate([*entries, divided]):
        encoder = RecordingEncoder()
        gpu = object.__new__(device.Gpu)
        gpu._library = type("Library", (), {"cuTensorMapEncodeTiled": staticmethod(encoder._function)})
        assert gpu.encode(entry, packed) == b"\xab" * 128
        want = resolve(row["name"], index, entry, packed)
        [call] = encoder.calls
        assert (call.rank, call.address, call.place % 64) == (len(want.shape), want.address, 0)
        lists = tuple(map(tuple, (call.shape, call.strides, call.box, call.steps)))
        assert lists == (want.shape, want.strides, want.box, want.element_strides)
        assert call.modes[-1] == (want.fill == "nan")


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float16"])
def test_formats_are_those_of_ml_dtypes(gpu_modules, dtype):
    problems = gpu_modules["problems"]
    values = np.random.default_rng(3).uniform(-1, 1, 5000).astype(np.float32)
    want = values.astype(getattr(ml_dtypes, dtype, dtype))
    stored = problems.encode(values, dtype)
    assert stored.tobytes() == want.tobytes()
    assert np.array_equal(problems.decode(stored, dtype), want.astype(np.float64))
    assert np.isnan(problems.decode(np.array([problems._NAN[dtype]]), dtype)).all()


# ---- the whole sequence ----------------------------------------------------------------------------------------------
def launch(gpu, folder, *words, hangs="", tools=()):
    """run.py's end; ``tools`` lie in the folder."""
    for name in tools:
        (folder / name).write_text(TOOL.format(python=sys.executable))
        (folder / name).chmod(0o755)
    path = os.pathsep.join([str(folder), os.environ["PATH"]])
    return gpu.run(
        ["env", f"STRICT_DRIVER_HANGS={hangs}", f"PATH={path}", sys.executable, FOLDER / "run.py", folder, *words]
    )


@pytest.fixture(scope="module")
def results(plan, tmp_path_factory):
    """The rows of a run in which one case hangs and one faults, and the driver's refusals."""
    folder, content = plan
    for row in content["kernels"]:
        row |= {"limit": 3} if row["name"] == HANGS else {}
    (folder / "plan.json").write_text(json.dumps(content))
    text = (folder / f"{FAULTS}.ours.ptx").read_text()
    driver = tmp_path_factory.mktemp("driver")
    build(driver)
    with StrictDriver(driver, "sm_90") as gpu:
        gpu.add_folder(folder)
        gpu.add((folder / f"{FAULTS}.ours.cubin").read_bytes(), text.replace("ret;", "trap;"))
        words = ["--runs", "2", "--limit", "300", "--phases", "probe,check,time"]
        done = launch(gpu, folder, *words, hangs=HANGS)
        assert done.returncode == 1, done.stderr
        first = (folder / "results.jsonl").read_text()
        more = launch(
            gpu, folder, "--phases", "sanitize,profile", "--only", RIGHT[0], tools=("compute-sanitizer", "ncu")
        )
        assert more.returncode == 0, more.stdout + more.stderr
        second = (folder / "results.jsonl").read_text()[len(first) :]
        return first, second, gpu.refusals()


def rows_of(text, phase):
    return {(row["case"], row["variant"]): row for row in map(json.loads, text.splitlines()) if row["phase"] == phase}


def test_probes_come_first_and_say_what_works(results):
    probes = rows_of(results[0], "probe")
    assert list(probes) == [("static_shared", "not needed"), ("heap", "needed"), (RIGHT[0], "check")]
    assert "cuLaunchKernelEx" in probes["static_shared", "not needed"]["failed"]
    assert probes["heap", "needed"]["wrong"] == probes[RIGHT[0], "check"]["wrong"] == []


def test_right_cases_are_right_at_odd_sizes_too(results):
    checks = rows_of(results[0], "check")
    for name in RIGHT:
        assert [checks[name, variant]["wrong"] for variant in ("small", "tail")] == [[], []]
    assert 0 < checks[RIGHT[0], "tail"]["error"] < 4e-3


def test_a_hang_and_a_fault_cost_their_rows(results):
    checks, times = rows_of(results[0], "check"), rows_of(results[0], "time")
    assert checks[HANGS, "small"]["failed"] == "no end in 3 s"
    assert "cuCtxSynchronize" in checks[FAULTS, "small"]["failed"]
    assert {name for name, _ in times} == {*RIGHT, "matmul_f8e4m3_128x128x64"}
    assert set(times[RIGHT[1], "full"]["ms"]) == {"ours", "copy"}
    assert all(set(one) == {"median", "min", "p90"} for row in times.values() for one in row["ms"].values())


def test_the_driver_refuses_the_static_probe_and_reports_the_fault_alone(results):
    assert {line.split(": ")[0] for line in results[2]} == {"cuLaunchKernelEx", "launch"}
    assert all("static_shared" in line or FAULTS in line for line in results[2])


def test_tools_are_used_where_they_are(results):
    assert [variant for _, variant in rows_of(results[1], "sanitize")] == ["memcheck", "racecheck", "synccheck"]
    [profiled] = rows_of(results[1], "profile").values()
    assert profiled["wrong"] == [] and "output" in profiled


def test_the_table_is_complete(gpu_modules, plan, results):
    table = gpu_modules["report"].table(results[0].splitlines(), {RIGHT[0]: 1e9})
    lines = {line.split(" | ")[0].removeprefix("| "): line for line in table.splitlines() if line.startswith("| ")}
    assert table.startswith("strict sm_90, ") and set(lines) - {"kernel"} == {row["name"] for row in plan[1]["kernels"]}
    assert "no end in 3 s" in lines[HANGS] and "cuCtxSynchronize" in lines[FAULTS]
    assert lines[RIGHT[1]].count("(copy)") == 1 and lines[RIGHT[1]].endswith("|  |")


def test_a_line_cut_off_by_a_crash_is_left_out(gpu_modules, results):
    lines = results[0].splitlines()[:6]
    cut = [*lines, results[0].splitlines()[6][:20]]
    assert gpu_modules["report"].table(cut, {}) == gpu_modules["report"].table(lines, {})


def test_wrong_results_are_named(gpu_modules):
    case, problems = gpu_modules["case"], gpu_modules["problems"]
    row = {"kind": "vector_add", "dtypes": ["float32"] * 3, "unit_strides": [-1] * 3}
    variant = {"shapes": [[64]] * 3, "scalars": [], "grid": [1, 1, 1]}
    arrays = problems.make_arrays(row, variant)
    right = arrays[0].view + arrays[1].view
    shifted, unwritten = right + np.float32(0.1), arrays[2].view

    class Fake(case.Prepared):
        def __init__(self, results, guards):
            self.row, self.variant, self.arrays, self.results, self.guards = row, variant, arrays, list(results), guards

        def launcher(self, by="ours"):
            return None

        def result(self, launch):
            return self.results.pop(0)

        def guards_hold(self):
            return self.guards

    assert case.check(Fake([right] * 3, True))["wrong"] == []
    assert "error" in case.check(Fake([shifted] * 3, True))["wrong"][0]
    assert "error inf" in case.check(Fake([unwritten] * 3, True))["wrong"][0]
    assert case.check(Fake([right, shifted, right], True))["wrong"] == ["3 launches differ"]
    assert case.check(Fake([right] * 3, False))["wrong"] == ["memory beside an array was written"]
