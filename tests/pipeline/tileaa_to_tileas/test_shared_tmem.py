"""Columns of tensor memory that several dots have: how often operands are written, and correct results without a race."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

KERNELS = Path(__file__).with_name("shared_tmem.py")


def dots_of(text: str) -> list[tuple[str, str]]:
    """The left operand and the accumulator of each MMA."""
    return re.findall(r"async\.umma (%\d+), %\d+, (%\d+),", text)


def test_left_operand_is_written_once():
    text = compiled(KERNELS, "scan", "sm_100").tileas
    (first, total), *scores, (computed, result) = dots_of(text)
    assert {left for left, _ in scores} == {first} != {computed} and total == result
    assert len(re.findall(rf"tmem_store %\d+, {first} ", text)) == 1


def test_accumulators_that_have_space_are_not_shared():
    (first, total), (scores, _), *_, (_, result) = dots_of(compiled(KERNELS, "scan_narrow", "sm_100").tileas)
    assert first == scores and total != result


def test_accumulators_of_zero_are_shared():
    """A barrier stands between the reads of the first result and the second loop's MMAs."""
    text = compiled(KERNELS, "twice", "sm_100").tileas
    (first, total), (second, other) = dots_of(text)
    assert (first, total) == (second, other)
    assert "nv_tileas.barrier" in text[text.index(f"tmem_load {total}") : text.rindex("nv_tileas.async.umma ")]


def test_left_operands_that_differ_are_both_written():
    """Each before its loop, in each iteration of the loop around, as they have the same columns."""
    text = compiled(KERNELS, "differing", "sm_100").tileas
    (first, total), (second, other) = dots_of(text)
    assert (first, total) == (second, other)
    assert len(re.findall(rf"tmem_store %\d+, {first} ", text)) == 2


def matrix(rows, columns, seed):
    return np.random.default_rng(seed).integers(-1, 2, (rows, columns)).astype(np.float16)


def sum_of_slices(array, rows):
    return array.reshape(-1, rows, array.shape[1]).astype(np.float64).sum(axis=0)


@pytest.mark.parametrize("steps", [(1, 1), (2, 2)])
def test_results(steps):
    first, second = steps
    q, states = matrix(256, 128, 1), matrix(128 * first, 256, 2)
    k, v = matrix(64 * second, 128, 3), matrix(64 * second, 256, 4)
    found = run(KERNELS, "scan", "sm_100", [q, k, v, states, np.full((256, 256), np.nan, np.float32)], (1, 1, 1))[4]
    left = q.astype(np.float64)
    np.testing.assert_array_equal(found, left @ sum_of_slices(states, 128) / 2 + left @ k.T @ v)


def test_results_of_two_loops():
    q, states, others = matrix(128, 128, 7), matrix(256, 256, 8), matrix(128, 256, 9)
    outputs = [np.full((128, columns), np.nan, np.float32) for columns in (1, 256)]
    added, out = run(KERNELS, "twice", "sm_100", [q, states, others, *outputs], (1, 1, 1))[3:]
    first, second = (q.astype(np.float64) @ sum_of_slices(right, 128) for right in (states, others))
    np.testing.assert_array_equal(added, first.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(out, second)


def test_results_of_differing():
    q, states = matrix(256, 128, 5), matrix(256, 128, 6)
    outputs = [np.full((128, 128), np.nan, np.float32) for _ in range(2)]
    found = run(KERNELS, "differing", "sm_100", [q, states, *outputs], (1, 1, 1))[2:]
    first, second = (q[rows : rows + 128].astype(np.float64) @ sum_of_slices(states, 128) for rows in (0, 128))
    np.testing.assert_array_equal(found, [2 * first, 3 * second])


def test_results_of_a_shorter_chain():
    """The second of three dots that are added has not the accumulator of the second of two."""
    a, c = matrix(128, 128, 10), matrix(128, 128, 11)
    b, d = matrix(128, 64, 12), matrix(128, 64, 13)
    outputs = [np.full((128, 64), np.nan, np.float32) for _ in range(2)]
    found = run(KERNELS, "shorter", "sm_100", [a, b, c, d, *outputs], (1, 1, 1))[4:]
    left, both = a.astype(np.float64), a.astype(np.float64) @ b + c.astype(np.float64) @ d
    np.testing.assert_array_equal(found, [both + left @ d, both])


def test_verifier_of_pipelines():
    assert verify_pipelines(scheduled_case(KERNELS, "scan", "sm_100")) > 0
