"""The proof of token order accepts what the pipeline makes and refuses a missing barrier."""

from pathlib import Path

import pytest

from tests.checkers.lowered_examples import NAMES, scheduled
from tests.golden import split_file
from tileiras_build.checkers.barriers import check_barriers
from tileiras_build.errors import InternalError
from tileiras_build.pipeline.text_format import parse

GOLDEN = Path(__file__).parents[1] / "pipeline/tileaa_to_tileas/order_tokens.mlir"
CASES = {case.title: case for case in split_file(GOLDEN.read_text())[1]}
WITHOUT = ("load_after_load_does_not_wait", "accesses_without_a_common_token_do_not_wait")


@pytest.mark.parametrize("title", CASES)
def test_what_the_pass_makes_is_proved(title):
    check_barriers(parse(CASES[title].expected.encode(), title))


@pytest.mark.parametrize("title", [title for title in CASES if title not in WITHOUT])
def test_every_barrier_is_needed(title):
    """Each barrier of each golden module, left out alone."""
    lines = CASES[title].expected.splitlines()
    barriers = [number for number, line in enumerate(lines) if line.strip() == "nv_tileas.barrier"]
    assert barriers
    for number in barriers:
        text = "\n".join(lines[:number] + lines[number + 1 :])
        with pytest.raises(InternalError, match="barrier-proof.*no barrier on a path from nv_tileas"):
            check_barriers(parse(text.encode(), title))


@pytest.mark.parametrize("sm", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", NAMES)
def test_examples_are_proved(name, sm):
    check_barriers(scheduled(name, sm))
