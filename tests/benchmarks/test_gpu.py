"""The GPU benchmark over the strict driver and the emulator: its plan, every phase in order, a run that is killed and taken up, a
hang, a fault, refused images, and the table."""

import ast
import json
import sys
import types

import ml_dtypes
import msgspec
import numpy as np
import pytest

from tests.compiled_once import once, shared_folder
from tests.launch.runtime.fake_driver import RecordingEncoder
from tests.strict_driver import gpu_run
from tests.strict_driver.gpu_run import FAULTS, HANGS, PEER_REFUSED, REFUSED, SECONDS
from tests.strict_driver.server import StrictDriver, build
from tileiras_build.frontend.export_cutile import load_cases
from tileiras_build.launch.runtime.encode_tensor_maps import resolve
from tileiras_build.manifest.launch_manifest import TensorMapSpec

FOLDER = gpu_run.RUNNER
FP8, GELU, ODD = "matmul_f8e4m3_128x128x64", "matmul_f16_128x128x64_persistent_gelu", "attention_f16_128x128_odd_causal"
RIGHT = ("matmul_f16_128x128x64", PEER_REFUSED, FP8, GELU, ODD, REFUSED)
FIRST = [FAULTS, REFUSED]  # in this plan
MODULES = ("case", "clocks", "device", "images", "peers", "plan", "problems", "processes", "report", "run", "triton_programs",
           "variants")  # fmt: skip


@pytest.fixture(scope="module")
def gpu_modules():
    """The modules of benchmarks/gpu, which stand beside each other on the GPU's machine."""
    sys.path.insert(0, str(FOLDER))
    before = list(sys.path)
    try:
        yield {name: __import__(name) for name in MODULES}
    finally:
        sys.path[:] = [place for place in before if place != str(FOLDER)]
        for name in MODULES:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def plan(gpu_modules):
    return once(("GPU plan",), lambda: _plan(gpu_modules))


def _plan(gpu_modules):
    folder = shared_folder()
    wanted = [*RIGHT, HANGS, FAULTS]
    words = ["plan.py", str(folder), "--small", "--no-peer", *(word for name in wanted for word in ("--only", name))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", words)
        assert gpu_modules["plan"].main() == 0
    return folder, json.loads((folder / "plan.json").read_text())


def test_the_plan_names_what_to_launch(plan):
    folder, found = plan
    rows = {row["name"]: row for row in found["kernels"]}
    assert rows[FP8]["unit_strides"] == [-1, 0, -1]
    assert rows[RIGHT[0]]["variants"]["tail"]["grid"] == [2, 2, 1]
    assert rows[RIGHT[0]]["variants"]["tail"]["shapes"] == [[224, 208], [208, 192], [224, 192]]
    assert found["probes"]["cases"] == [[RIGHT[0], "check"]]
    images = [f"{one['case']}.{one['by']}" for one in found["images"]]
    assert all((folder / "images" / f"{name}.cubin").read_bytes()[:4] == b"\x7fELF" for name in images)
    assert all(
        ".visible .entry" in (folder / "images" / f"{name}.ptx").read_text()
        for name in images
        if "tileiras" not in name
    )
    assert {"read_all.probe", "static_shared.probe"} < set(images)


def test_the_plan_begins_with_what_teaches_most(gpu_modules, plan):
    teaches = gpu_modules["plan"].teaches
    assert plan[1]["first"] == FIRST and [row["name"] for row in plan[1]["kernels"]][:2] == FIRST
    names = ["vector_add_f32_1024", "matmul_bf16_128x128x64", "layer_norm_f16_4096", "matmul_f16_128x256x64"]
    assert sorted(names, key=teaches) == names[::-1]


def test_the_plan_of_full_sizes_has_the_model_and_tritons_programs(gpu_modules, tmp_path):
    plan, name = gpu_modules["plan"], "softmax_f16_4096"
    [(case, code)] = plan.kernels([name])
    (tmp_path / "images").mkdir()
    options = types.SimpleNamespace(folder=tmp_path, small=False, no_peer=True)
    row = plan._build(case, code, plan.find_target("90"), options)
    assert 0 < row["modelled_us"] < 1e5
    [program] = json.loads(json.dumps(row))["variants"]["full"]["triton"]
    assert program["kernel"] == "softmax" and program["configurations"] == [[4, 1], [8, 1], [16, 1]]
    assert program["arguments"] == {
        "x": {"array": 0, "shape": [16384, 4096]},
        "out": {"array": 1, "shape": [16384, 4096]},
    }
    assert "triton" not in row["variants"]["small"]


def test_the_folder_has_all_that_runs_beside_a_gpu(plan):
    """Nothing of the checkout is asked for there: what it imports is in the folder, in NumPy or in Python."""
    files = list(plan[0].glob("*.py"))
    known = sys.stdlib_module_names | {"numpy"} | {path.stem for path in files}
    for path in (path for path in files if path.name != "triton_kernels.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            found = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert {name.partition(".")[0] for name in found} <= known, path.name


def problem(variants, name, small=False):
    [case] = [case for path in variants.KERNELS for case in load_cases(path) if case.name == name]
    return variants.problem(case, small), variants.formats(case)


def test_full_sizes_are_those_of_the_table(gpu_modules):
    variants = gpu_modules["variants"]
    attention, _ = problem(variants, "attention_f16_128x128_causal")
    assert attention["kind"] == "attention_causal" and attention["variants"]["full"]["grid"] == [32, 32, 1]
    persistent, _ = problem(variants, "matmul_f16_256x128x64_persistent")
    assert persistent["persistent"] and persistent["variants"]["full"]["grid"] == [512, 1, 1]
    assert persistent["variants"]["full"]["bytes"] == 3 * 2 * 4096**2


def test_odd_sizes_are_multiples_of_nothing(gpu_modules):
    variants = gpu_modules["variants"]
    for small in (False, True):
        attention, _ = problem(variants, ODD, small)
        assert all(one["shapes"][0][1] % 2 and one["shapes"][0][1] % 128 for one in attention["variants"].values())
        matmul, _ = problem(variants, "matmul_f16_128x128x64_odd", small)
        assert all(side % 2 for one in matmul["variants"].values() for shape in one["shapes"] for side in shape)


def test_what_a_matmul_adds_is_an_argument(gpu_modules):
    variants = gpu_modules["variants"]
    gelu, _ = problem(variants, GELU, small=True)
    assert gelu["kind"] == "matmul_gelu" and gelu["variants"]["tail"]["shapes"][2] == [192]
    residual, _ = problem(variants, "matmul_bf16_128x128x64_residual", small=True)
    assert residual["kind"] == "matmul_residual" and residual["variants"]["tail"]["shapes"][2] == [224, 192]


def test_scales_are_values_without_a_sign(gpu_modules):
    found, formats = problem(gpu_modules["variants"], "scaled_nvfp4_128x128x256", small=True)
    assert formats == ["uint8", "scale_e4m3", "uint8", "scale_e4m3", "float16"]
    assert found["variants"]["small"]["shapes"][:2] == [[256, 128], [256, 16]]
    packed, formats = problem(gpu_modules["variants"], "scaled_fp4_128x128x256", small=True)
    assert formats[0] == "float4_e2m1fn" and packed["variants"]["small"]["shapes"][0] == [256, 512]


def test_fp4_elements_are_passed_as_elements(gpu_modules):
    problems = gpu_modules["problems"]
    row = {"dtypes": ["float4_e2m1fn", "float16"], "unit_strides": [-1, -1]}
    array, _ = problems.make_arrays(row, {"shapes": [[4, 64], [4, 4]]})
    assert array.memory.shape == (4, 32) and array.told == ([4, 64], [64, 1]) and array.decoded().shape == (4, 64)


def test_tensor_maps_are_those_of_the_runtime(gpu_modules, plan):
    device, problems = gpu_modules["device"], gpu_modules["problems"]
    [row] = [row for row in plan[1]["kernels"] if row["name"] == FP8]
    variant = row["variants"]["tail"]
    packed = problems.parameters(problems.make_arrays(row, variant), [0x1000, 0x2000, 0x3000], variant["scalars"])
    assert [len(data) for data in packed] == row["launch"]["param_sizes"]
    entries = row["launch"]["tensor_maps"]
    divided = entries[0] | {"shape": [{"param": 2, "over": 2}, *entries[0]["shape"][1:]], "fill": "nan"}
    values = [int.from_bytes(part, "little", signed=True) for part in packed]
    for index, entry in enumerate([*entries, divided]):
        encoder = RecordingEncoder()
        gpu = object.__new__(device.Gpu)
        gpu._library = type("Library", (), {"cuTensorMapEncodeTiled": staticmethod(encoder._function)})
        assert gpu.encode(entry, packed) == b"\xab" * 128
        want = resolve(row["name"], index, msgspec.convert(entry, TensorMapSpec), values)
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
    """The rows of a run with every tool in which one case hangs, one faults and two images are refused: it is killed in the middle, its
    last line is cut off, and a second run takes it up. And the driver's refusals, and the folder's files at the end."""
    return once(("GPU results",), lambda: _results(plan[0], tmp_path_factory.mktemp("driver")))


def _results(folder, driver):
    build(driver)
    gpu_run.write_tools(folder)
    with StrictDriver(driver, "sm_90") as gpu:
        gpu_run.add_images(gpu, folder)
        gpu_run.run_until(gpu, folder, "time", REFUSED)
        results = folder / "results" / "results.jsonl"
        table = (folder / "results" / "table.md").read_text()
        results.write_text(results.read_text() + '{"phase": "check", "ca')
        done = gpu_run.run(gpu, folder, "--resume")
        assert done.returncode == 1, done.stderr
        return results.read_text(), gpu.refusals(), table, (folder / "results" / "table.md").read_text()


def rows_of(text, phase):
    return {(row["case"], row["variant"]): row for row in map(json.loads, text.splitlines()) if row["phase"] == phase}


def test_probes_come_first_and_say_what_works(results):
    probes = rows_of(results[0], "probe")
    clusters = [("clusters_by_directive", f"grid {shape}") for shape in ("3 block 128", "4 block 128", "4 block 1")]
    clusters += [("clusters_by_grid", variant) for _, variant in clusters]
    assert list(probes) == [("static_shared", "not needed"), ("heap", "needed"), *clusters, (RIGHT[0], "check")]
    assert "cuLaunchKernelEx" in probes["static_shared", "not needed"]["failed"]
    assert probes["heap", "needed"]["wrong"] == probes[RIGHT[0], "check"]["wrong"] == []


def test_probes_say_what_a_grid_of_clusters_counts(results):
    probes = rows_of(results[0], "probe")
    directive, grid = (
        {key[1]: row for key, row in probes.items() if key[0] == f"clusters_by_{by}"} for by in ("directive", "grid")
    )
    assert [directive[f"grid {count} block 128"]["ctas"] for count in (3, 4)] == [6, 8]
    assert directive["grid 3 block 128"]["found"] == "6 CTAs ran, of ranks [0, 1], in grids of [6]"
    assert grid["grid 4 block 128"]["ctas"] == 4 and "no whole clusters" not in str(directive)
    assert all("cuLaunchKernelEx" in row["failed"] for row in (directive["grid 4 block 1"], grid["grid 3 block 128"]))


def test_a_refused_image_costs_its_row_or_is_made_anew(results):
    loads = rows_of(results[0], "load")
    assert loads[PEER_REFUSED, "tileiras"]["failed"] == "cuModuleLoadData: CUDA_ERROR (209); there is no PTX of it"
    assert loads[REFUSED, "ours"]["source"] == "ptxas" and "(209)" in loads[REFUSED, "ours"]["refused"]
    assert {row.get("source") for key, row in loads.items() if REFUSED not in key and "tileiras" not in key} == {
        "cubin"
    }
    times = rows_of(results[0], "time")
    assert set(times[PEER_REFUSED, "full"]["ms"]) == {"ours", "copy"}
    assert "(209)" in times[PEER_REFUSED, "full"]["failed_peers"]["tileiras"]
    assert times[REFUSED, "full"]["wrong"] == []


def test_a_killed_run_is_taken_up(results):
    rows = list(map(json.loads, results[0].splitlines()))
    starts = [at for at, row in enumerate(rows) if row["phase"] == "start"]
    assert (
        [rows[at]["resumed"] for at in starts] == [False, True] and rows[-1]["phase"] == "end" and rows[-1]["left"] == 0
    )
    assert not any(row["phase"] == "end" for row in rows[: starts[1]])
    keys = [(row["phase"], row["case"], row["variant"]) for row in rows if "case" in row and row["phase"] != "load"]
    assert len(set(keys)) == len(keys)
    partial, whole = results[2:]
    line = next(line for line in partial.splitlines() if line.startswith(f"| {REFUSED} |"))
    assert "0.0e+00" in line and "no check" in next(one for one in partial.splitlines() if one.startswith(f"| {ODD} |"))
    assert "no check" not in whole


def test_first_kernels_are_checked_and_timed_before_the_others_are_looked_at(results):
    order = [(row["phase"], row["case"]) for row in map(json.loads, results[0].splitlines()) if "case" in row]
    assert list(dict.fromkeys(phase for phase, _ in order))[:4] == ["load", "probe", "check", "time"]
    assert order.index(("time", REFUSED)) < min(order.index(("check", name)) for name in RIGHT if name != REFUSED)
    last = max(at for at, (phase, _) in enumerate(order) if phase in ("check", "time"))
    assert last < min(at for at, (phase, _) in enumerate(order) if phase in ("profile", "sanitize"))


def test_nothing_else_is_wrong(results):
    assert gpu_run.unexpected(list(map(json.loads, results[0].splitlines()))) == []


def test_right_cases_are_right_at_odd_sizes_too(results):
    checks = rows_of(results[0], "check")
    for name in RIGHT:
        assert [checks[name, variant]["wrong"] for variant in ("small", "tail")] == [[], []]
    assert 0 < checks[RIGHT[0], "tail"]["error"] < 1e-3


def test_a_hang_costs_one_row_and_a_fault_those_of_its_case(results):
    checks, times = rows_of(results[0], "check"), rows_of(results[0], "time")
    [hung] = [row for (name, _), row in checks.items() if name == HANGS]
    assert {row["phase"] for row in map(json.loads, results[0].splitlines()) if row.get("case") == HANGS} == {
        "load",
        "check",
    }
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
    by = {}
    for line in results[1]:
        by.setdefault(line.split(": ")[0], set()).add(line)
    assert set(by) == {"cuModuleLoadData", "cuLaunchKernelEx", "launch"}
    assert all("the cubin is for sm_75" in line for line in by["cuModuleLoadData"])
    assert all("static_shared" in line or "clusters_by" in line for line in by["cuLaunchKernelEx"])
    assert all(FAULTS in line for line in by["launch"])


def test_every_tool_of_the_sanitizer_runs_on_what_does_not_hang(results):
    sanitized = rows_of(results[0], "sanitize")
    names = [name for name, variant in rows_of(results[0], "check") if variant == "small" and name != HANGS]
    assert list(sanitized) == [(name, kind) for name in names for kind in ("memcheck", "racecheck", "synccheck")]
    assert all("ERROR SUMMARY" in row["output"] for (name, _), row in sanitized.items())
    assert all(("failed" in row) == (name == FAULTS) for (name, _), row in sanitized.items())


def test_matmuls_and_attention_are_profiled(results, gpu_modules):
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
    assert lines[RIGHT[1]].count("(copy)") == 1 and "GB/s" in lines[RIGHT[1]]
    assert lines[RIGHT[1]].endswith("| tileiras is not compared: cuModuleLoadData: CUDA_ERROR (209) |")
    assert lines[REFUSED].endswith("| made by ptxas |") and lines[FP8].endswith("|  |")
    assert " 3/3 " in lines[GELU] and "TFLOP/s | 1980 |" in lines[GELU]
    assert f"| {GELU} | 152.90 us | 83.75 | 41.02 | 18.61 | 168 |  |" in table


def test_the_table_goes_into_the_documentation(gpu_modules, results, tmp_path, monkeypatch):
    report, page = gpu_modules["report"], FOLDER.parents[1] / "docs" / "measurements.md"
    (tmp_path / "results.jsonl").write_text(results[0])
    (tmp_path / "page.md").write_text(page.read_text())
    monkeypatch.setattr(sys, "argv", ["report.py", str(tmp_path / "results.jsonl"), str(tmp_path / "page.md")])
    for _ in range(2):
        assert report.main() == 0
        made = (tmp_path / "page.md").read_text()
        before, after = page.read_text().split(report.BEGIN)[0], page.read_text().split(report.END)[1]
        table = report.table(results[0].splitlines())
        assert made == f"{before}{report.BEGIN}{table}{report.END}{after}"


# ---- parts -------------------------------------------------------------------------------------------------------
def test_persistent_kernels_fill_the_gpu(gpu_modules):
    case = gpu_modules["case"]

    def grid(cluster, tiles, persistent=True, ctas=False):
        made = object.__new__(case.Prepared)
        made.row = {"persistent": persistent, "launch": {"cluster": [cluster, 1, 1]}}
        made.variant, made.gpu = {"grid": [tiles, 1, 1]}, types.SimpleNamespace(sm_count=132)
        made.counts_ctas = ctas
        return made.grid()

    assert grid(1, 512) == [132, 1, 1] and grid(2, 512) == [66, 1, 1]
    assert grid(1, 16) == [16, 1, 1] and grid(1, 512, persistent=False) == [512, 1, 1]
    assert grid(2, 512, ctas=True) == [132, 1, 1] and grid(2, 16, persistent=False, ctas=True) == [32, 1, 1]


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
