"""The GPU benchmark over the strict driver and the emulator: its plan, every phase, a hang, a fault, and the table."""

import ast
import json
import sys
import types

import ml_dtypes
import msgspec
import numpy as np
import pytest

from tests.compiled_once import once, shared_folder
from tests.runtime.fake_driver import RecordingEncoder
from tests.strict_driver import gpu_run
from tests.strict_driver.gpu_run import FAULTS, HANGS, SECONDS
from tests.strict_driver.server import StrictDriver, build
from tileiras_build.launch_manifest import TensorMapRow
from tileiras_build.runtime.tensor_maps import resolve

FOLDER = gpu_run.RUNNER
FP8, GELU, ODD = "matmul_f8e4m3_128x128x64", "matmul_f16_128x128x64_persistent_gelu", "attention_f16_128x128_odd_causal"
RIGHT = ("matmul_f16_128x128x64", "vector_add_f32_1024", FP8, GELU, ODD)


@pytest.fixture(scope="module")
def gpu_modules():
    """The modules of benchmarks/gpu, which stand beside each other on the GPU's machine."""
    sys.path.insert(0, str(FOLDER))
    names = ("build", "case", "clocks", "device", "peers", "problems", "report", "run")
    try:
        yield {name: __import__(name) for name in names}
    finally:
        sys.path.remove(str(FOLDER))
        for name in names:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def plan(gpu_modules):
    return once(("GPU plan",), lambda: _plan(gpu_modules))


def _plan(gpu_modules):
    folder = shared_folder()
    wanted = [*RIGHT, HANGS, FAULTS]
    words = ["build.py", str(folder), "--small", "--no-peer", *(word for name in wanted for word in ("--only", name))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", words)
        assert gpu_modules["build"].main() == 0
    return folder, json.loads((folder / "plan.json").read_text())


def test_the_plan_names_what_to_launch(plan):
    folder, found = plan
    rows = {row["name"]: row for row in found["kernels"]}
    assert rows[FP8]["unit_strides"] == [-1, 0, -1]
    assert rows[RIGHT[0]]["variants"]["tail"]["grid"] == [2, 2, 1]
    assert rows[RIGHT[0]]["variants"]["tail"]["shapes"] == [[224, 208], [208, 192], [224, 192]]
    assert found["probes"]["cases"] == [[RIGHT[0], "check"]]
    assert all((folder / f"{name}.ours.cubin").read_bytes()[:4] == b"\x7fELF" for name in rows)
    assert all(".visible .entry" in (folder / f"{name}.ours.ptx").read_text() for name in rows)


def problem(build, name, small=False):
    [case] = [case for path in build.KERNELS for case in build.load_cases(path) if case.name == name]
    return build.problem(case, small), build.formats(case)


def test_full_sizes_are_those_of_the_table(gpu_modules):
    build = gpu_modules["build"]
    attention, _ = problem(build, "attention_f16_128x128_causal")
    assert attention["kind"] == "attention_causal" and attention["variants"]["full"]["grid"] == [32, 32, 1]
    persistent, _ = problem(build, "matmul_f16_256x128x64_persistent")
    assert persistent["persistent"] and persistent["variants"]["full"]["grid"] == [512, 1, 1]
    assert persistent["variants"]["full"]["bytes"] == 3 * 2 * 4096**2


def test_odd_sizes_are_multiples_of_nothing(gpu_modules):
    build = gpu_modules["build"]
    for small in (False, True):
        attention, _ = problem(build, ODD, small)
        assert all(one["shapes"][0][1] % 2 and one["shapes"][0][1] % 128 for one in attention["variants"].values())
        product, _ = problem(build, "matmul_f16_128x128x64_odd", small)
        assert all(side % 2 for one in product["variants"].values() for shape in one["shapes"] for side in shape)


def test_what_a_product_adds_is_an_argument(gpu_modules):
    build = gpu_modules["build"]
    gelu, _ = problem(build, GELU, small=True)
    assert gelu["kind"] == "product_gelu" and gelu["variants"]["tail"]["shapes"][2] == [192]
    residual, _ = problem(build, "matmul_bf16_128x128x64_residual", small=True)
    assert residual["kind"] == "product_residual" and residual["variants"]["tail"]["shapes"][2] == [224, 192]


def test_scales_are_numbers_without_a_sign(gpu_modules):
    found, formats = problem(gpu_modules["build"], "scaled_nvfp4_128x128x256", small=True)
    assert formats == ["uint8", "scale_e4m3", "uint8", "scale_e4m3", "float16"]
    assert found["variants"]["small"]["shapes"][:2] == [[256, 128], [256, 16]]
    packed, formats = problem(gpu_modules["build"], "scaled_fp4_128x128x256", small=True)
    assert formats[0] == "float4_e2m1fn" and packed["variants"]["small"]["shapes"][0] == [256, 512]


def test_fp4_elements_are_told_as_elements(gpu_modules):
    problems = gpu_modules["problems"]
    row = {"dtypes": ["float4_e2m1fn", "float16"], "unit_strides": [-1, -1]}
    array, _ = problems.make_arrays(row, {"shapes": [[4, 64], [4, 4]]})
    assert array.memory.shape == (4, 32) and array.told == ([4, 64], [64, 1]) and array.numbers().shape == (4, 64)


def test_tensor_maps_are_those_of_the_runtime(gpu_modules, plan):
    device, problems = gpu_modules["device"], gpu_modules["problems"]
    [row] = [row for row in plan[1]["kernels"] if row["name"] == FP8]
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
        want = resolve(row["name"], index, msgspec.convert(entry, TensorMapRow), packed)
        [call] = encoder.calls
        assert (call.rank, call.address, call.place % 64) == (len(want.shape), want.address, 0)
        lists = tuple(map(tuple, (call.shape, call.strides, call.box, call.steps)))
        assert lists == (want.shape, want.strides, want.box, want.element_strides)
        assert call.modes[-1] == (want.fill == "nan")


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float16"])
def test_formats_are_those_of_ml_dtypes(gpu_modules, dtype):
    known = gpu_modules["problems"].FORMATS[dtype]
    values = np.random.default_rng(3).uniform(-1, 1, 5000).astype(np.float32)
    want = values.astype(getattr(ml_dtypes, dtype, dtype))
    stored = known.encode(values)
    assert stored.tobytes() == want.tobytes()
    assert np.array_equal(known.decode(stored), want.astype(np.float32))
    assert np.isnan(known.decode(np.array([known.nan], known.stored))).all()


def test_scales_and_fp4_are_those_of_ml_dtypes(gpu_modules):
    formats, bits = gpu_modules["problems"].FORMATS, np.arange(256, dtype=np.uint8)
    powers = bits.view(ml_dtypes.float8_e8m0fnu).astype(np.float32)
    np.testing.assert_array_equal(formats["float8_e8m0fnu"].decode(bits), powers)
    nibbles = np.stack([bits & 15, bits >> 4], axis=-1).reshape(-1)
    pairs = nibbles.view(ml_dtypes.float4_e2m1fn).astype(np.float32)
    np.testing.assert_array_equal(formats["uint8"].decode(bits[None, :])[0], pairs)
    values = np.random.default_rng(4).uniform(-1, 1, (3, 500)).astype(np.float32)
    nearest = (6 * values).astype(ml_dtypes.float4_e2m1fn).astype(np.float32)
    np.testing.assert_array_equal(formats["uint8"].decode(formats["uint8"].encode(values)), nearest)
    scales = [formats[name].decode(formats[name].encode(values)) for name in ("float8_e8m0fnu", "scale_e4m3")]
    assert scales[0].min() >= 1 / 8 and scales[0].max() <= 1 and scales[1].min() >= 0


# ---- the whole sequence ----------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def results(plan, tmp_path_factory):
    """The rows of a run in which one case hangs and one faults, with every tool; and the driver's refusals."""
    return once(("GPU results",), lambda: _results(plan[0], tmp_path_factory.mktemp("driver")))


def _results(folder, driver):
    build(driver)
    gpu_run.write_tools(folder)
    with StrictDriver(driver, "sm_90") as gpu:
        gpu_run.add_images(gpu, folder)
        done = gpu_run.run(gpu, folder)
        assert done.returncode == 1, done.stderr
        return (folder / "results.jsonl").read_text(), gpu.refusals()


def rows_of(text, phase):
    return {(row["case"], row["variant"]): row for row in map(json.loads, text.splitlines()) if row["phase"] == phase}


def test_probes_come_first_and_say_what_works(results):
    probes = rows_of(results[0], "probe")
    assert list(probes) == [("static_shared", "not needed"), ("heap", "needed"), (RIGHT[0], "check")]
    assert "cuLaunchKernelEx" in probes["static_shared", "not needed"]["failed"]
    assert probes["heap", "needed"]["wrong"] == probes[RIGHT[0], "check"]["wrong"] == []


def test_nothing_else_is_wrong(results):
    assert gpu_run.unexpected(list(map(json.loads, results[0].splitlines()))) == []


def test_right_cases_are_right_at_odd_sizes_too(results):
    checks = rows_of(results[0], "check")
    for name in RIGHT:
        assert [checks[name, variant]["wrong"] for variant in ("small", "tail")] == [[], []]
    assert 0 < checks[RIGHT[0], "tail"]["error"] < 1e-3


def test_a_hang_costs_one_row_and_a_fault_those_of_its_case(results):
    checks, times = rows_of(results[0], "check"), rows_of(results[0], "time")
    [hung] = [row for row in map(json.loads, results[0].splitlines()) if row.get("case") == HANGS]
    assert (hung["phase"], hung["failed"]) == ("check", f"no end in {SECONDS} s")
    assert "cuCtxSynchronize" in checks[FAULTS, "small"]["failed"]
    assert {name for name, _ in times} == set(RIGHT)
    assert set(times[RIGHT[1], "full"]["ms"]) == {"ours", "copy"}
    assert all(set(one) == {"median", "min", "p90"} for row in times.values() for one in row["ms"].values())


def test_clocks_are_those_under_load(results):
    for row in rows_of(results[0], "time").values():
        assert row["clocks"] == {"SM MHz": [1980] * 3, "memory MHz": [2619] * 3, "degrees": [45] * 3}


@pytest.mark.parametrize("library", ["libm.so.6", "libabsent.so"])
def test_clocks_are_left_out_without_nvml(gpu_modules, monkeypatch, library):
    monkeypatch.setattr(gpu_modules["clocks"], "LIBRARY", library)
    clocks = gpu_modules["clocks"].Clocks("0000:01:00.0")
    clocks.note()
    assert clocks.spans() == {}


def test_the_driver_refuses_the_static_probe_and_reports_the_fault_alone(results):
    assert {line.split(": ")[0] for line in results[1]} == {"cuLaunchKernelEx", "launch"}
    assert all("static_shared" in line or FAULTS in line for line in results[1])


def test_every_tool_of_the_sanitizer_runs_on_what_does_not_hang(results):
    sanitized = rows_of(results[0], "sanitize")
    names = [name for name, variant in rows_of(results[0], "check") if variant == "small" and name != HANGS]
    assert list(sanitized) == [(name, kind) for name in names for kind in ("memcheck", "racecheck", "synccheck")]
    assert all("ERROR SUMMARY" in row["output"] for (name, _), row in sanitized.items())
    assert all(("failed" in row) == (name == FAULTS) for (name, _), row in sanitized.items())


def test_products_and_attention_are_profiled(results, gpu_modules):
    profiled = rows_of(results[0], "profile")
    assert {name for name, _ in profiled} == {RIGHT[0], FP8, GELU, ODD}
    assert all(row["wrong"] == [] for row in profiled.values())
    assert gpu_modules["report"].metrics(profiled[GELU, "full"]["output"])["Compute (SM) Throughput"] == "83.75"


def test_the_table_is_complete(gpu_modules, plan, results):
    table = gpu_modules["report"].table(results[0].splitlines())
    first = table[: table.index("| kernel | time")].splitlines()
    lines = {line.split(" | ")[0].removeprefix("| "): line for line in first if line.startswith("| ")}
    assert table.startswith("strict sm_90, ") and set(lines) - {"kernel", "---"} == {
        row["name"] for row in plan[1]["kernels"]
    }
    assert f"check small: no end in {SECONDS} s |" in lines[HANGS] and "cuCtxSynchronize" in lines[FAULTS]
    assert lines[RIGHT[1]].count("(copy)") == 1 and lines[RIGHT[1]].endswith("|  |") and "GB/s" in lines[RIGHT[1]]
    assert " 3/3 " in lines[GELU] and "TFLOP/s | 1980 |" in lines[GELU]
    assert f"| {GELU} | 152.90 us | 83.75 | 41.02 | 18.61 | 168 |  |" in table


def test_the_table_goes_into_the_documentation(gpu_modules, results, tmp_path, monkeypatch):
    report, page = gpu_modules["report"], FOLDER.parents[1] / "docs" / "performance.md"
    (tmp_path / "results.jsonl").write_text(results[0])
    (tmp_path / "page.md").write_text(page.read_text())
    monkeypatch.setattr(sys, "argv", ["report.py", str(tmp_path / "results.jsonl"), str(tmp_path / "page.md")])
    for _ in range(2):
        assert report.main() == 0
        made = (tmp_path / "page.md").read_text()
        before, after = page.read_text().split(report.BEGIN)[0], page.read_text().split(report.END)[1]
        table = report.table(results[0].splitlines())
        assert made == f"{before}{report.BEGIN}{table}{report.END}{after}"


def test_a_line_cut_off_by_a_crash_is_left_out(gpu_modules, results):
    lines = results[0].splitlines()[:7]
    cut = [*lines, results[0].splitlines()[7][:20]]
    table = gpu_modules["report"].table(cut)
    assert table == gpu_modules["report"].table(lines)
    assert sum("no check; no time" in line for line in table.splitlines()) == len(RIGHT) + 2 - 2


def test_a_later_run_takes_up_what_an_earlier_one_left(gpu_modules, plan, results, tmp_path, monkeypatch):
    run, asked = gpu_modules["run"], []
    lines = results[0].splitlines()
    (tmp_path / "plan.json").write_text((plan[0] / "plan.json").read_text())
    (tmp_path / "results.jsonl").write_text("\n".join(lines[:-3]) + "\n")
    monkeypatch.setattr(run, "run", lambda command, limit: asked.append(command) or {"wrong": []})
    monkeypatch.setattr(run, "find_tool", lambda name: f"/bin/{name}")
    monkeypatch.setattr(sys, "argv", ["run.py", str(tmp_path), "--resume"])
    assert run.main() == 0
    assert [command[-3] for command in asked if "once" in command] == [
        json.loads(line)["case"] for line in lines[-3:-1]
    ]
    merged = gpu_modules["report"].last_run((tmp_path / "results.jsonl").read_text().splitlines())[1]
    assert {(row["phase"], row.get("case")) for row in merged} == {
        (row["phase"], row.get("case")) for row in map(json.loads, lines)
    }
    (tmp_path / "plan.json").write_text(json.dumps({**plan[1], "flush_bytes": 1}))
    assert run.main() == 2


def test_the_machine_with_the_gpu_needs_numpy_alone():
    """Nothing else is imported by name; peers look for libraries themselves."""
    files = [path for path in FOLDER.glob("*.py") if path.name != "build.py"]
    known = sys.stdlib_module_names | {"numpy"} | {path.stem for path in files}
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            found = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert {name.partition(".")[0] for name in found} <= known, path.name


# ---- parts -------------------------------------------------------------------------------------------------------
def test_a_tool_that_is_not_there_is_said(gpu_modules, plan, tmp_path, monkeypatch):
    run, report = gpu_modules["run"], gpu_modules["report"]
    monkeypatch.setattr(run, "find_tool", lambda name: None)
    with (tmp_path / "log").open("a") as log:
        assert run.run_phase("sanitize", run.Work(plan[1], plan[1]["kernels"], [], 1), 1, log) == 0
    assert "- sanitize: compute-sanitizer is not installed" in report.table((tmp_path / "log").read_text().splitlines())


def test_tools_are_found_beside_the_toolkit(gpu_modules, tmp_path, monkeypatch):
    run = gpu_modules["run"]
    for version in ("12.9", "13.0"):
        (tmp_path / f"cuda-{version}").mkdir()
        gpu_run.write_tools(tmp_path / f"cuda-{version}", ["ncu"])
    monkeypatch.setattr(run, "TOOLS", {"ncu": (f"{tmp_path}/cuda*",)})
    monkeypatch.setenv("PATH", "/nonexistent")
    assert run.find_tool("ncu") == str(tmp_path / "cuda-13.0" / "ncu")


# A case that says so, then hangs, or leaves a child that keeps its output open.
LINGERS = (
    "import os, subprocess, sys, time; subprocess.Popen(['sleep', '600'], start_new_session=True); time.sleep(600)"
)


def test_a_case_that_cannot_be_ended_is_left(gpu_modules, monkeypatch):
    run = gpu_modules["run"]
    monkeypatch.setattr(run, "LONGEST_DEATH", 0.2)
    found = run.run([sys.executable, "-c", LINGERS], 0.5)
    assert found["failed"] == "no end in 0.5 s, still there 0.2 s after it was killed" and found["hung"]


def test_what_is_no_result_is_a_failure(gpu_modules):
    run = gpu_modules["run"].run
    assert run([sys.executable, "case.py", "-c"], 60)["failed"].startswith(sys.executable[:1])
    assert run([sys.executable, "-c", "print('{cut')"], 60)["failed"] == "exit status 0"
    found = run([sys.executable, "-c", "print('==ERROR== ERR_NVGPUCTRPERM'); print('{}')"], 60)
    assert found["failed"] == "ERROR== ERR_NVGPUCTRPERM; ERROR== ERR_NVGPUCTRPERM"


def test_peers_that_bring_a_case_down_cost_no_time_of_ours(gpu_modules, tmp_path):
    program = tmp_path / "case.py"
    program.write_text("import sys\nprint('{\"ms\": 1}') if 'alone' in sys.argv else sys.exit('peer fault')")
    found = gpu_modules["run"]._timed([sys.executable, str(program)], 60, "time")
    assert found["ms"] == 1 and found["failed_peers"] == {"all": "peer fault"}
    row = {"phase": "time", "case": "k", "variant": "full", **found, "ms": {}}
    start = {"phase": "start", "kernels": [{"name": "k", "work": 0, "bytes": 1}]}
    assert "all is not compared: peer fault" in gpu_modules["report"].table(map(json.dumps, [start, row]))


def test_a_peer_that_is_wrong_is_not_compared_with(gpu_modules):
    one = {"median": 2.0, "min": 1.0, "p90": 3.0}
    times = {"ours": one, "torch": one | {"median": 1.0}, "cupy": one | {"median": 3.0}}
    row = {"phase": "time", "case": "k", "variant": "full", "ms": times, "failed_peers": {"torch": "error 1"}}
    start = {"phase": "start", "kernels": [{"name": "k", "work": 4e9, "bytes": 1}]}
    table = gpu_modules["report"].table(map(json.dumps, [start, row]))
    assert "| 2 TFLOP/s |  |  |  | 3.000 (cupy) | 1.50x | torch is not compared: error 1; no check |" in table


def test_persistent_kernels_fill_the_gpu(gpu_modules):
    case = gpu_modules["case"]

    def grid(cluster, tiles, persistent=True):
        made = object.__new__(case.Prepared)
        made.row = {"persistent": persistent, "launch": {"cluster": [cluster, 1, 1]}}
        made.variant, made.gpu = {"grid": [tiles, 1, 1]}, types.SimpleNamespace(multiprocessors=132)
        return made.grid()

    assert grid(1, 512) == [132, 1, 1] and grid(2, 512) == [66, 1, 1]
    assert grid(1, 16) == [16, 1, 1] and grid(1, 512, persistent=False) == [512, 1, 1]


class Fake:
    """What ``case.check`` asks of a prepared case."""

    def __init__(self, row, variant, arrays, results, guards=True, inputs=True):
        self.row, self.variant, self.arrays, self.results = row, variant, arrays, list(results)
        self.guards, self.inputs = guards, inputs

    def launcher(self, by):
        return None

    def result(self, launch):
        return self.results.pop(0)

    def guards_hold(self):
        return self.guards

    def inputs_hold(self):
        return self.inputs


def test_wrong_results_are_named(gpu_modules):
    check, problems = gpu_modules["case"].check, gpu_modules["problems"]
    row = {"kind": "vector_add", "dtypes": ["float32"] * 3, "unit_strides": [-1] * 3}
    variant = {"shapes": [[64]] * 3, "scalars": [], "grid": [1, 1, 1]}
    arrays = problems.make_arrays(row, variant)
    right = arrays[0].view + arrays[1].view
    shifted, unwritten = right + np.float32(1e-6), arrays[2].view

    def wrong(results, **more):
        return check(Fake(row, variant, arrays, results, **more))["wrong"]

    assert wrong([right] * 3) == []
    assert "error" in wrong([shifted] * 3)[0]
    assert [fault[:9] for fault in wrong([unwritten] * 3)] == ["error inf", "64 elemen"]
    assert wrong([right, shifted, right]) == ["3 launches differ"]
    assert wrong([right] * 3, guards=False) == ["memory beside an array was written"]
    assert wrong([right] * 3, inputs=False) == ["an input was written"]


def test_a_tile_that_nobody_samples_is_looked_at(gpu_modules):
    problems = gpu_modules["problems"]
    row = {"kind": "transpose", "dtypes": ["float16"] * 2, "unit_strides": [-1] * 2}
    variant = {"shapes": [[8, 512], [512, 8]], "scalars": []}
    arrays = problems.make_arrays(row, variant)
    reference, result = problems.Reference(row, variant, arrays), arrays[0].view.T.copy()
    assert reference.faults(result) == []
    [unsampled, *_] = set(range(512)) - set(reference.where)
    result[unsampled] = np.nan
    assert reference.faults(result) == ["8 elements are NaN or were never written"]
    assert all(set(range(start, start + 64)) & set(reference.where) for start in range(0, 512, 64))
