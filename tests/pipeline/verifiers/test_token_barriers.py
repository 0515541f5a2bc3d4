"""The verifier of token order accepts what the pipeline makes and refuses a missing barrier."""

from pathlib import Path

import pytest

from tests.golden import split_file
from tileiras_build.core.errors import InternalError
from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.pipeline.verifiers.token_barriers import verify_token_barriers

GOLDEN = Path(__file__).parents[2] / "pipeline/tileaa_to_tileas/insert_token_barriers.mlir"
CASES = {case.title: case for case in split_file(GOLDEN.read_text())[1]}
WITHOUT = ("load_after_load_does_not_wait", "accesses_without_a_common_token_do_not_wait")


@pytest.mark.parametrize("title", CASES)
def test_what_the_pass_makes_is_proved(title):
    verify_token_barriers(parse(CASES[title].expected.encode(), title))


@pytest.mark.parametrize("title", [title for title in CASES if title not in WITHOUT])
def test_every_barrier_is_needed(title):
    """Each barrier of each golden module, left out alone."""
    lines = CASES[title].expected.splitlines()
    barriers = [number for number, line in enumerate(lines) if line.strip().startswith("nv_tileas.barrier")]
    assert barriers
    for number in barriers:
        text = "\n".join(lines[:number] + lines[number + 1 :])
        with pytest.raises(InternalError, match="barrier-verifier.*no barrier on a path from nv_tileas"):
            verify_token_barriers(parse(text.encode(), title))


# What is stored last may come after the load of the iteration before, which the first barrier parts from it.
LOADED_BEFORE = """
nv_tileaa.func @k {
^bb0(%n: i32, %p: !nv_tileaa.ptr<f32>, %q: !nv_tileaa.ptr<f32>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %x = arith.constant 1.0 : f32
  %t0 = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %a, %b = nv_tileas.for %zero, %n, %one initial(%t0, %t0) : (i32, i32, i32, !nv_tileaa.mem_token, !nv_tileaa.mem_token) -> (!nv_tileaa.mem_token, !nv_tileaa.mem_token) {
  ^bb0(%i: i32, %loaded: !nv_tileaa.mem_token, %stored: !nv_tileaa.mem_token):
    nv_tileas.barrier
    %t1 = nv_tileas.store %p, %x token(%loaded) {mem_semantic = "weak"} : (!nv_tileaa.ptr<f32>, f32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.barrier
    %v, %t2 = nv_tileas.load %p token(%t1) {mem_semantic = "weak"} : (!nv_tileaa.ptr<f32>, !nv_tileaa.mem_token) -> (f32, !nv_tileaa.mem_token)
    %both = nv_tileas.join_mem_token %LAST, %stored : !nv_tileaa.mem_token
    %t3 = nv_tileas.store %q, %v token(%both) {mem_semantic = "weak"} : (!nv_tileaa.ptr<f32>, f32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.continue %t2, %t3 : (!nv_tileaa.mem_token, !nv_tileaa.mem_token) -> ()
  }
  nv_tileaa.return
}
"""


def test_what_the_iteration_before_gave_is_another_token():
    verify_token_barriers(parse(LOADED_BEFORE.replace("LAST", "loaded").encode(), "k"))
    with pytest.raises(InternalError, match="barrier-verifier.*from nv_tileas.load to nv_tileas.store"):
        verify_token_barriers(parse(LOADED_BEFORE.replace("LAST", "t2").encode(), "k"))
