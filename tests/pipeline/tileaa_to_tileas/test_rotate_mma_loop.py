"""Two dots in flight at once: correct results and no race for every loop length, and in which order they are issued."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import cases, compiled, run, scheduled_case
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines
from tileiras_build.pipeline.verifiers.shared_memory_allocation import verify_shared_memory_allocation

KERNELS = Path(__file__).with_name("rotated_dots.py")
SMS = ("sm_90", "sm_100", "sm_120")
OVERLAPPED = (
    "weighted", "weighted_bf16", "squared", "squared_short", "squared_persistent", "squared_and_numbered", "of_two",
    "squared_triangle",
)  # fmt: skip
LENGTHS = (0, 1, 64, 65, 130, 449)  # keys: no step, one, tails, more steps than a ring has stages


def squared(q, k, v):
    return (q @ k.T) ** 2 @ v


def weighted(q, k, v):
    if not len(k):
        return np.zeros((len(q), v.shape[1]))
    powers = np.exp(q @ k.T - (q @ k.T).max(axis=1, keepdims=True))
    return powers @ v / powers.sum(axis=1, keepdims=True)


def numbered(q, k, v):
    return squared(q, k, v * (1 + np.arange(len(v)) // 64)[:, None])


def triangle(q, k, v):
    (rows, keys), size = np.ogrid[: len(q), : len(k)], 64
    return ((q @ k.T) * ((rows // size != keys // size) | (rows >= keys))) ** 2 @ v


def fed_back(q, k, v):
    total = np.zeros((len(q), v.shape[1]))
    for start in range(0, len(k), 64):
        keys, values = k[start : start + 64], v[start : start + 64]
        total = total + (q @ keys.T + total.max(axis=1, keepdims=True)) @ values
    return total


WANT = {
    "weighted": weighted, "weighted_bf16": weighted, "squared_and_numbered": numbered, "fed_back": fed_back,
    "squared_triangle": triangle, "of_two": lambda q, k, v: (q @ k.T) * (q @ v.T) @ v,
}  # fmt: skip


def operands(name, rows, length):
    dtype = cases(KERNELS)[name].arguments[0].dtype
    rng = np.random.default_rng(length)
    scale = 32 if name == "fed_back" else 4  # what is fed back grows
    counts = (rows, max(length, 1), max(length, 1))
    return [(rng.integers(-2, 3, (count, 64)) / scale).astype(dtype) for count in counts]


# Each kernel on the GPUs with asynchronous instructions, all lengths on each of these; every
# other one where warps multiply.
RESULTS = [
    (LENGTHS[(row * len(SMS) + column + row // 2) % len(LENGTHS)], name, sm)
    for row, name in enumerate([*OVERLAPPED, "fed_back"])
    for column, sm in enumerate(SMS)
    if sm != "sm_120" or row % 2 == 0
]


@pytest.mark.parametrize(("length", "name", "sm"), RESULTS)
def test_results(length, name, sm):
    given = operands(name, 100, length)
    given[1:] = (values[:length] for values in given[1:])
    out = np.full((100, 64), np.nan, np.float32)
    found = run(KERNELS, name, sm, [*given, out], (1 if "persistent" in name else 2, 1, 1))[3]
    want = WANT.get(name, squared)(*(value.astype(np.float64) for value in given))
    digits = 8 if "bf16" in name else 11  # of the left operands of the second dot
    largest = np.abs(want).max(initial=0)
    np.testing.assert_allclose(found, want, atol=2.0 ** -(digits - 2) * largest)


@pytest.mark.parametrize("length", (0, 1, 130))
def test_two_dots_of_one_accumulator_that_threads_wait_for_in_turn(length):
    """A wait for the first one an iteration before it is issued would never end."""
    rng = np.random.default_rng(length)
    left, *others = (rng.integers(-1, 2, (rows, 64)).astype(np.float16) for rows in (100, 449, 449))
    others = [values[:length] for values in others]
    out = np.full((100, 64), np.nan, np.float32)
    found = run(KERNELS, "added_in_turn", "sm_100", [left, *others, out])[3]
    q, k, v = (values.astype(np.float64) for values in (left, *others))
    np.testing.assert_array_equal(found, (q @ k.T * (1 + q @ v.T)) @ v)


@pytest.mark.parametrize("name", [name for name in OVERLAPPED if name != "squared"])  # which has two CTAs instead
def test_both_dots_are_issued_before_the_first_is_waited_for(name):
    text = compiled(KERNELS, name, "sm_90").tileas
    loop = text[text.rindex("nv_tileas.for") :]
    events = [line.split("nv_tileas.", 1)[1].split(" ")[0] for line in loop.splitlines() if "async.dot" in line]
    others = ["async.dot"] if name == "of_two" else []
    assert events[: 4 + len(others)] == ["async.dot", "async.dot", "async.dot_wait", *others, "async.dot_wait"]


@pytest.mark.parametrize("name", ["weighted", "squared_persistent"])
def test_two_warpgroups_alternate(name):
    text = compiled(KERNELS, name, "sm_90").tileas
    turn = text[text.index("async.sequence.wait") : text.index("async.sequence.arrive")]
    assert turn.count("async.dot ") == 2
    assert "async.dot_wait" not in turn


def test_one_warpgroup_does_not_alternate():
    assert "async.sequence" not in compiled(KERNELS, "squared_short", "sm_90").tileas


def test_what_the_early_part_reads_is_not_done_late():
    assert "nv_tileas.if" not in compiled(KERNELS, "fed_back", "sm_90").tileas


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
@pytest.mark.parametrize("name", [*OVERLAPPED, "added_in_turn"])
def test_verifiers_of_pipelines_and_scratch(name, sm):
    module = scheduled_case(KERNELS, name, sm)
    assert verify_pipelines(module) > 0
    assert verify_shared_memory_allocation(module) >= 0


def test_the_only_stage_is_given_back_behind_its_dot():
    assert verify_pipelines(scheduled_case(KERNELS, "crowded", "sm_90")) > 0
