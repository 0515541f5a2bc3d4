"""Warpgroup MMAs in flight beside other work: where they are issued and waited for, and correct results without a race."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case
from tests.pipeline.tileaa_to_tileas.test_overlap_mmas import (
    check_delta_rule,
    check_results,
    linear_attention,
    of_results,
)
from tileiras_build.pipeline.verifiers.cp_async_buffers import verify_cp_async_buffers
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

KERNELS, TILES = (Path(__file__).with_name(f"{name}.py") for name in ("state_dots", "tiles_of_two_dots"))
SHOWN = ("async.dot", "async.dot_wait", "local_store", "barrier", "async.pipeline.consumer_release")


def events(path: Path, name: str) -> list[str]:
    """What the loop of a kernel does with operands and accumulators, in order, with the MMAs that stay in flight."""
    text = compiled(path, name, "sm_90").tileas
    loop = text[text.rindex("nv_tileas.for ") : text.rindex("nv_tileas.continue")]
    lines = [line.strip().partition("nv_tileas.")[2] for line in loop.splitlines()]
    shown = [line for line in lines if line.split(" ")[0] in SHOWN]
    return [_event(line) for line in shown]


def _event(line: str) -> str:
    name = line.split(" ")[0].rpartition(".")[2]
    return name + (f" {line.partition('pending = ')[2][0]}" if "pending = " in line else "")


def test_what_does_not_depend_on_a_dot_comes_before_the_wait_for_it():
    """The state is written behind the scores; the update of the state is issued behind the dot with the values."""
    assert events(TILES, "decayed_state") == [
        *("dot", "dot", "local_store", "dot_wait 1", "dot", "barrier", "dot", "dot_wait 0"),
        *("consumer_release", "consumer_release", "dot_wait 0"),
    ]


def test_dots_that_borrow_a_barrier_follow_it():
    """Tiles of two dots are written once. No wait stands between a dot and the one that adds to its result."""
    assert events(KERNELS, "delta_rule") == [
        *("local_store", "barrier", "dot", "dot", "dot", "dot_wait 2", "local_store", "dot_wait 1", "barrier"),
        *("dot", "dot", "dot_wait 1", "dot_wait 0", "consumer_release"),
    ]


def test_dots_that_only_accumulate_are_in_flight_together_where_there_is_one_warpgroup():
    """With two, the MMAs of one run while the other waits for its own."""
    assert events(TILES, "two_accumulators") == ["dot", "dot", "dot_wait 1", "dot_wait 0", "consumer_release"]
    assert events(TILES, "accumulated_in_turn")[:3] == ["dot", "dot", "dot_wait 0"]
    assert events(TILES, "two_accumulators_of_two_warpgroups")[:2] == ["dot 0", "dot 0"]


def test_a_left_operand_from_a_stage_is_read_as_matrices():
    """Threads multiply the transpose of a tile in the fragments of the instruction, without a conversion."""
    text = compiled(TILES, "decayed_state", "sm_90").tileas
    body = text[text.rindex("nv_tileas.for ") :]
    assert 'local_load' in body and 'copy_atom = "ldmatrix"' in body and "convert_layout" not in body


def test_a_dot_of_the_result_stays_behind_it():
    found = events(KERNELS, "of_results")
    last = len(found) - 1 - found[::-1].index("dot")
    assert found[last - 4 : last] == ["dot_wait 0", "consumer_release", "local_store", "barrier"]


@pytest.mark.parametrize("name", ["scores_of_gathered_rows", "scores_of_copied_tiles"])
def test_a_dot_of_copied_tiles_stays_behind_the_wait_for_them(name):
    """The emulator, as the verifier, refuses to read what is not known to have arrived."""
    assert verify_cp_async_buffers(scheduled_case(TILES, name, "sm_90")) > 0
    rng = np.random.default_rng(0)
    a, b, q, k, v = (
        rng.integers(-1, 2, (64, 128) if name in "aq" else (128, 64)).astype(np.float16) for name in "abqkv"
    )
    out = run(TILES, name, "sm_90", [a, b, q, k, v, np.zeros((64, 64), np.float32)])[5]
    wide = [array.astype(np.float32) for array in (q, k, v)]
    chunks = ([wide[0][:, at : at + 64], *(array[at : at + 64] for array in wide[1:])] for at in (0, 64))
    want = a.astype(np.float32) @ b + sum(np.minimum(left @ right, 2) @ values for left, right, values in chunks)
    np.testing.assert_array_equal(out, want)


def test_a_barrier_that_is_behind_a_wait_for_copies_stays_there():
    """It is that of the dot as well, whose operand threads have written."""
    assert verify_cp_async_buffers(scheduled_case(TILES, "scores_beside_copies", "sm_90")) > 0
    rng = np.random.default_rng(0)
    shapes = ((256, 32), (128, 32), (128, 64), (256, 128), (128, 64))
    q, k, v, a, b = (rng.integers(-1, 2, shape).astype(np.int8) for shape in shapes)
    out = run(TILES, "scores_beside_copies", "sm_90", [q, k, v, a, b, np.zeros((256, 64), np.int32)])[5]
    wide = [array.astype(np.int32) for array in (q, k, v, a, b)]
    np.testing.assert_array_equal(out, np.minimum(wide[0] @ wide[1].T, 1) @ wide[2] + wide[3] @ wide[4])


@pytest.mark.parametrize("reference", [linear_attention, of_results])
@pytest.mark.parametrize("chunks", [1, 4])
def test_results(reference, chunks):
    check_results(reference, chunks, "sm_90")


@pytest.mark.parametrize("chunks, width", [(1, 64), (5, 64), (4, 128)])
def test_results_of_delta_rule(chunks, width):
    check_delta_rule(chunks, width, "sm_90")


@pytest.mark.parametrize("name", ["linear_attention", "of_results", "delta_rule", "delta_rule_wide"])
def test_verifier_of_pipelines(name):
    assert verify_pipelines(scheduled_case(KERNELS, name, "sm_90")) > 0
