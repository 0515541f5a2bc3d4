"""A layout between two: a tile that cannot be cut on its way goes there in two steps, each in small parts."""

import pytest
from hypothesis import given, settings

from tileiras_build.ir.layouts import LinearLayout, SharedRoundTrip, coalesced, plan_conversion
from tileiras_build.ir.layouts.intermediate_layout import intermediate_layout
from tileiras_build.pipeline.verifiers.exhaustive_layout_checks import verify_conversion

from .strategies import layout_pairs

PART = 8 * 1024


@settings(max_examples=40)
@given(layout_pairs())
def test_both_steps_keep_the_tile(pair):
    source, target = pair
    between = intermediate_layout(source, target)
    if between is not None and source.is_surjective:
        for step in ((source, between), (between, target)):
            verify_conversion(*step, plan_conversion(*step, 32, max_scratch=64))


def test_a_transpose_is_cut_in_both_steps():
    source, target = coalesced((256, 256), (1, 0), 4, 16), coalesced((256, 256), (0, 1), 4, 16)
    whole = plan_conversion(source, target, 32, max_scratch=PART)
    assert isinstance(whole, SharedRoundTrip) and whole.scratch_bytes == 256 * 1024
    between = intermediate_layout(source, target)
    for step in ((source, between), (between, target)):
        plan = plan_conversion(*step, 32, max_scratch=PART)
        assert plan.scratch_bytes <= 32 * 1024 and len(plan.passes) >= 8


@pytest.mark.parametrize("shape", [(4, 8), (1, 1)])
def test_small_tiles_have_none(shape):
    layout = LinearLayout.replicated(shape, 4)
    assert intermediate_layout(layout, layout) is None
