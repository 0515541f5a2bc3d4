"""benchmarks/calibration.py: the form of its rows, and the problems that they are run on."""

import csv
import sys
from pathlib import Path

import pytest

from tileiras_build.simulate.estimate.constant_bank_values import GlobalBuffer
from tileiras_build.target.gpu_models import GPUS

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def calibration():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import calibration

        yield calibration
    finally:
        sys.path.remove(str(BENCHMARKS))


def rows():
    with (BENCHMARKS / "calibration" / "measurements.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


ROWS = rows()


def test_there_are_rows_of_each_kind_and_gpu():
    assert len(ROWS) >= 60 and len({row["id"] for row in ROWS}) == len(ROWS)
    assert {"a100-40gb", "h100", "b200", "rtxpro6000", "rtx5090"} <= {row["gpu"] for row in ROWS} <= set(GPUS)
    assert {"gemm", "attention", "softmax", "layer norm", "copy", "add", "transpose"} <= {row["kind"] for row in ROWS}


def test_the_form_of_the_rows():
    kernels = (BENCHMARKS / "calibration" / "kernels.cu").read_text()
    for row in ROWS:
        assert row["source"].startswith("https://") and row["structure"] and float(row["measured"]) > 0, row["id"]
        assert row["compiler"] in ("nvcc", "tileiras-build", "tileiras"), row["id"]
        assert row["unit"].split(" ")[0] in ("us", "ms", "TFLOP/s", "GB/s"), row["id"]
        assert row["compiler"] != "nvcc" or row["kernel"] in kernels, row["id"]


def test_a_third_is_held_out(calibration):
    found = calibration.read_rows()
    held = [row for row in found if row.is_held_out]
    assert 0.28 < len(held) / len(found) < 0.4
    # A name decides, not a row's place: rows that are added move no other one.
    assert {row.id for row in held} >= {"a100-gemm-v6", "h100-tk-4096", "b200-fa4-causal", "5080-add"}


def test_times_of_measurements(calibration):
    by_id = {row.id: row for row in calibration.read_rows()}
    assert by_id["h100-deepgemm-4096x4096x7168"].microseconds == 293.9
    assert by_id["a100-gemm-v6"].microseconds == pytest.approx(2 * 4096**3 / 220.77e6)
    assert by_id["5080-add"].microseconds == pytest.approx(3 * 4 * 2**27 / 844e3)
    assert by_id["5080-layernorm"].microseconds == pytest.approx(4 * 4 * 4096**2 / 986e3)
    full, causal = by_id["h100-fa2-d128-4096"], by_id["h100-fa2-d128-4096-causal"]
    assert full.microseconds == pytest.approx(4 * 4 * 16 * 4096**2 * 128 / 368e6)
    assert causal.microseconds * 319 == pytest.approx(full.microseconds * 368 / 2)


def test_a_rows_machine_has_its_limits(calibration):
    by_id = {row.id: row for row in calibration.read_rows()}
    assert by_id["maxq-gemm-8192"].machine.watts == 300 and by_id["gh200-fast12"].machine.clock_mhz == 705


def test_problems_of_cuda_kernels(calibration):
    for row in calibration.read_rows():
        if row.compiler == "nvcc":
            grid, threads, values, shared = calibration._cuda_problem(row)
            assert grid[0] >= 1 and threads % 32 == 0 and shared <= 100 << 10
            assert isinstance(values[0], GlobalBuffer)
        else:
            settings, grid = calibration._tile_problem(row)
            assert settings and len(grid) == 3


def test_errors_are_summarized_apart(calibration):
    fitted, held = (next(row for row in calibration.read_rows() if row.is_held_out == which) for which in (False, True))
    results = [
        calibration.Result(fitted, fitted.microseconds * 1.1, "L2"),
        calibration.Result(held, held.microseconds, "L2"),
    ]
    name, *cells = next(iter(calibration.summaries(results)))
    assert name == "all" and cells == ["1", "10%", "10%", "100%", "1", "0%", "0%", "100%"]


# Rows that are quick to compile: a tile program on each of three GPUs, a kernel by nvcc.
QUICK = {
    "h100-tk-4096": 0.10, "a100-add-f32-67108864": 0.05, "b200-gemm-pair-persistent-4096": 0.15,
    "maxq-gemm-2048": 0.10,
}  # fmt: skip


@pytest.mark.parametrize("name", QUICK)
def test_the_error_of_quick_rows(calibration, name, monkeypatch, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp() / "calibration"
    monkeypatch.setattr(calibration, "CACHE", folder)
    [row] = calibration.read_rows([name])
    found = calibration.result(row)
    assert abs(found.error) < QUICK[name], (found.modelled, row.microseconds, found.limit)
