"""Fusing of elementwise lines: native runs have the same values as the lines, for all inputs."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.simulate.emulator.jit.test_vector_vm import can
from tileiras_build.simulate.emulator.codegen import fuse_elementwise
from tileiras_build.simulate.emulator.codegen.fuse_elementwise import FusedRun, Fuser
from tileiras_build.simulate.emulator.codegen.runtime_support import NAMESPACE
from tileiras_build.simulate.emulator.jit import vector_vm
from tileiras_build.simulate.emulator.numerics import float_arithmetic
from tileiras_build.simulate.emulator.numerics.float_formats import NAMESPACE as FORMATS

SHAPE = (16, 128)
KINDS = {"r1": "f32", "r2": "u32", "r3": "f32", "r4": "u32", "r5": "p", "r6": "f32", "r7": "u32", "r8": "u64"}
SPACE = {
    **NAMESPACE, **float_arithmetic.NAMESPACE, **FORMATS, "f32": np.float32, "u32": np.uint32, "u64": np.uint64,
    "k_f32_1": np.float32(1.5), "k_u32_2": np.uint32(16),
}  # fmt: skip
LINES = [
    "t1 = f32x2_operation('fma', r1, k_f32_1, r2.view(f32))",
    "t2 = min_max('max', min_max('max', t1, r1, False, False), r3, False, False)",
    "r3 = approximate_flushed('ex2', t2)",
    "r6 = r3 * r1",
    "t3 = narrow('f16', r3, 'rn', False)",
    "t4 = narrow('f16', r6, 'rn', False)",
    "r4 = t3.astype(u32) | (t4.astype(u32) << k_u32_2)",
    "r2 = r6.view(u32)",
    "r7 = choose(r5, r2, r4)",
]
AFTER = ["R[3] = r3", "R[4] = r4", "R[2] = r2", "R[7] = r7"]


def fuse(lines: list[str]) -> tuple[list[str], list[FusedRun]]:
    """(the lines with calls, the runs)."""
    runs: list[FusedRun] = []

    def name(run: FusedRun) -> str:
        runs.append(run)
        return f"run_{len(runs)}"

    loads = [f"r{i} = R[{i}]" for i in (1, 2, 3, 5)]
    found, pcs = Fuser(KINDS, SPACE, name).fuse(
        [*loads, *lines, *AFTER], list(range(len(loads) + len(lines) + len(AFTER)))
    )
    assert len(found) == len(pcs) and pcs == sorted(pcs)
    return found, runs


def execute(lines: list[str], runs: list[FusedRun], values: dict[int, np.ndarray]) -> list[bytes]:
    """The registers after the lines, broadcast to the group's shape."""
    registers = dict(values)
    scope = {**SPACE, **{f"run_{i + 1}": run for i, run in enumerate(runs)}, "R": registers}
    scope["g"] = SimpleNamespace(shape=SHAPE, size=SHAPE[0] * SHAPE[1])
    with np.errstate(all="ignore"):
        exec("\n".join(lines), scope)
    return [np.broadcast_to(registers[i], SHAPE).tobytes() for i in (3, 4, 2, 7)]


def values_of(rng) -> dict[int, np.ndarray]:
    """Registers of every shape of a value."""
    return {
        1: rng.uniform(-2, 2, SHAPE).astype(np.float32), 2: rng.uniform(-2, 2, (1, SHAPE[1])).astype(np.float32).view(np.uint32),
        3: np.float32(-1), 5: (np.arange(SHAPE[0]) % 2 == 0)[:, None],
    }  # fmt: skip


def run_lines(values: dict[int, np.ndarray]) -> list[bytes]:
    return execute([*(f"r{i} = R[{i}]" for i in (1, 2, 3, 5)), *LINES, *AFTER], [], values)


@pytest.fixture
def bad_counts(monkeypatch):
    """The number of bad strips of each native run."""
    found, run = [], vector_vm.run

    def noted(*arguments):
        found.append(run(*arguments))
        return found[-1]

    monkeypatch.setattr(vector_vm, "run", noted)
    monkeypatch.setattr(vector_vm, "COMPILE_COST", -1)
    return found


def test_lines_are_fused_into_one_run():
    found, runs = fuse(LINES)
    assert len(runs) == 1 and len(found) == 4 + 1 + len(AFTER)
    assert runs[0].inputs == ["r1", "r2", "r3", "r5"] and set(runs[0].outputs) == {"r3", "r4", "r2", "r7"}


@can
def test_run_equals_its_lines(bad_counts):
    values = values_of(np.random.default_rng(0))
    assert execute(*fuse(LINES), values) == run_lines(values)
    assert len(bad_counts) == 1 and not bad_counts[0].all()


@can
def test_bad_strips_are_recomputed_by_the_lines(bad_counts):
    values = values_of(np.random.default_rng(0))
    values[1][3, 5] = np.nan
    values[1][9, 100] = np.inf
    assert execute(*fuse(LINES), values) == run_lines(values)
    assert 0 < bad_counts[0].sum() < len(bad_counts[0]) / 2


HALVES = [
    "t1 = lower_half(r8)", "t2 = upper_half(r8)", "t3 = f32x2_operation('fma', t1.view(f32), k_f32_1, r1)",
    "t4 = f32x2_operation('fma', t2.view(f32), k_f32_1, r1)", "t5 = min_max('max', t3, t4, False, False)",
    "t6 = joined_halves(bits32(t5), t1)", "r9 = joined_halves(lower_half(t6), bits32(t4))",
]  # fmt: skip


@can
def test_64_bit_registers_are_split_into_halves(bad_counts):
    """As inputs, outputs and temporaries of a run."""
    rng = np.random.default_rng(1)
    r1, r8 = rng.uniform(-2, 2, SHAPE).astype(np.float32), rng.uniform(-2, 2, (*SHAPE, 2)).astype(np.float32)
    values, runs = {1: r1, 8: r8.view(np.uint64)[..., 0]}, []
    lines = ["r1 = R[1]", "r8 = R[8]", *HALVES, "R[9] = r9"]
    kinds = {**KINDS, "r9": "u64"}
    found, _ = Fuser(kinds, SPACE, lambda run: (runs.append(run), "run_1")[1]).fuse(lines, [0] * len(lines))
    assert len(runs) == 1 and len(found) == 4
    low, high = (np.float32(1.5) * r8[..., i].astype(np.float64) + r1 for i in (0, 1))
    low, high = low.astype(np.float32), high.astype(np.float32)
    one = SimpleNamespace(shape=SHAPE, size=SHAPE[0] * SHAPE[1])
    (joined,) = runs[0](one, *(values[int(name[1:])] for name in runs[0].inputs))
    expected = np.stack([np.maximum(low, high), high], axis=-1).view(np.uint64)[..., 0]
    np.testing.assert_array_equal(joined, expected)
    assert len(bad_counts) == 1 and not bad_counts[0].any()


@can
def test_stores_move_behind_the_run(bad_counts):
    """Unless a later line assigns a variable that they read."""
    stored: list[tuple[str, np.ndarray]] = []
    sites = {
        f"site_{i}": SimpleNamespace(store=lambda g, a, v, i=i: stored.append((i, v[0].copy()))) for i in (1, 2, 3)
    }
    body = [
        "r3 = approximate_flushed('ex2', r1)", "site_1.store(g, r5, [r3])", "r6 = min_max('max', r1, r3, False, False)",
        "r2 = bits32(f32x2_operation('fma', r6, r3, f32x2_operation('fma', r3, r3, r1)))", "site_2.store(g, r5, [r6])", "r6 = approximate_flushed('ex2', r3)",
        "r9 = f32x2_operation('fma', f32x2_operation('fma', r6, r6, f32x2_operation('fma', r1, r1, r6)), r6, r3)", "site_3.store(g, r5, [r9])",
    ]  # fmt: skip
    lines, runs = ["r1 = R[1]", "r5 = R[5]", *body, "R[2] = r2"], []
    kinds = {**KINDS, "r9": "f32"}
    found, _ = Fuser(kinds, SPACE, lambda run: (runs.append(run), f"run_{len(runs)}")[1]).fuse(lines, [0] * len(lines))
    assert ["run" if "run_" in line else line.split(".")[0] for line in found[2:-1]] == [
        "run",
        "site_1",
        "site_2",
        "run",
        "site_3",
    ]
    results = []
    for some in (lines, found):
        scope = {
            **SPACE,
            **sites,
            **{f"run_{i + 1}": run for i, run in enumerate(runs)},
            "R": values_of(np.random.default_rng(2)),
        }
        scope["g"] = SimpleNamespace(shape=SHAPE, size=SHAPE[0] * SHAPE[1])
        exec("\n".join(some), scope)
        results.append(([(i, value.tobytes()) for i, value in stored], scope["R"][2].tobytes()))
        stored.clear()
    assert results[0] == results[1] and [i for i, _ in results[0][0]] == [1, 2, 3]


@pytest.mark.parametrize("why", ["the process has computed little", "few threads", "another type"])
def test_fallback_to_the_lines(why, bad_counts, monkeypatch):
    values = values_of(np.random.default_rng(0))
    if why == "the process has computed little":
        monkeypatch.setattr(vector_vm, "COMPILE_COST", 1 << 62)
    elif why == "few threads":
        monkeypatch.setattr(fuse_elementwise, "MIN_ELEMENTS", 1 << 20)
    else:
        values[5] = values[5].astype(np.uint8)
    assert execute(*fuse(LINES), values) == run_lines(values) and not bad_counts


@pytest.mark.parametrize(
    "line",
    ["r8 = r8 + r8", "t9 = R[1]", "g.step(r1)", "r1 = rounded('add', 'rz', r1, r3)", "r6 = min_max('max', r1, r3, False, True)",
     "r2 = r4 | r4", "r6 = t99 + r1"],
)  # fmt: skip
def test_line_without_a_vector_operation_is_not_fused(line):
    found, runs = fuse([line, *LINES[:2]])
    assert not runs and line in found


@pytest.mark.parametrize(
    "count, expected", [(fuse_elementwise.MIN_SAVED_PASSES - 1, 0), (fuse_elementwise.MIN_SAVED_PASSES, 1)]
)
def test_minimum_length_of_a_run(count, expected):
    names = [f"r{i}" for i in range(20, 20 + count)]
    lines = ["r1 = R[1]", *(f"{name} = r1 * r1" for name in names), *(f"R[{name[1:]}] = {name}" for name in names)]
    runs: list[FusedRun] = []
    kinds = {**KINDS, **dict.fromkeys(names, "f32")}
    Fuser(kinds, SPACE, lambda run: (runs.append(run), "run")[1]).fuse(lines, [0] * len(lines))
    assert len(runs) == expected
