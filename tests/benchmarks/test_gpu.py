"""The GPU benchmark up to the driver: its plan, and the parameters and tensor maps that it launches with."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from tests.runtime.fake_driver import CheckedBindings, RecordingEncoder
from tileiras_build.runtime.tensor_maps import resolve

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "gpu"


def load(name):
    spec = importlib.util.spec_from_file_location(f"gpu_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpu")
    build, arguments = load("build"), sys.argv
    build._build_peer = lambda *_: False
    sys.argv = ["build.py", str(folder), "--only", "matmul_f8e4m3*", "--only", "attention_f16_128x128"]
    try:
        assert build.main() == 0
    finally:
        sys.argv = arguments
    return folder, json.loads((folder / "plan.json").read_text())


def test_the_plan_names_what_to_launch(plan):
    folder, found = plan
    rows = {row["name"]: row for row in found["kernels"]}
    assert rows["matmul_f8e4m3_128x128x64"]["unit_strides"] == [-1, 0, -1]
    assert rows["attention_f16_128x128"]["grid"] == [32, 32, 1]
    assert all((folder / f"{name}.ours.cubin").read_bytes()[:4] == b"\x7fELF" for name in rows)


class Array:
    def __init__(self, address, shape, strides):
        self.address, self.shape, self.strides = address, shape, strides

    def data_ptr(self):
        return self.address

    def stride(self):
        return self.strides


def test_tensor_maps_are_those_of_the_runtime(plan):
    run = load("run")
    [row] = [row for row in plan[1]["kernels"] if row["kind"] == "product"]
    arrays = [Array(0x1000, (4096, 4096), (4096, 1)), Array(0x2000, (4096, 4096), (1, 4096))]
    packed = run.parameters([*arrays, Array(0x3000, (4096, 4096), (4096, 1))], [])
    assert [len(data) for data in packed] == row["launch"]["param_sizes"]
    for index, entry in enumerate(row["launch"]["tensor_maps"]):
        encoder = RecordingEncoder()
        bindings = CheckedBindings({"cuGetProcAddress": encoder.address})
        assert run.tensor_map(bindings, entry, packed) == b"\xab" * 128
        want = resolve(row["name"], index, entry, packed)
        [call] = encoder.calls
        assert (call.rank, call.address, call.place % 64) == (len(want.shape), want.address, 0)
        lists = tuple(map(tuple, (call.shape, call.strides, call.box, call.steps)))
        assert lists == (want.shape, want.strides, want.box, want.element_strides)


def test_parameters_lie_where_tensor_maps_must():
    run = load("run")
    for size in (4, 8, 128):
        held, address = run._aligned(bytes(range(size)))
        assert address % 64 == 0 and held is not None
