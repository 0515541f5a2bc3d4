"""The proof of conversions accepts what the pipeline makes and refuses a plan that mixes up a tile."""

import pytest

from tests.checkers.lowered_examples import scheduled
from tileiras_build.checkers import conversions
from tileiras_build.errors import InternalError
from tileiras_build.layouts import NoOp

KERNELS = ["attention_f16", "matmul_f16_nn", "matmul_f16_nn_f16", "softmax_f32"]


@pytest.mark.parametrize("sm", ["sm_80", "sm_100"])
@pytest.mark.parametrize("name", KERNELS)
def test_examples_are_proved(name, sm):
    module = scheduled(name, sm)
    converted = {op.name for op in module.walk()} & {conversions.CONVERSION}
    assert bool(conversions.check_conversions(module)) == bool(converted)


def test_a_wrong_plan_names_the_layouts(monkeypatch):
    monkeypatch.setattr(conversions, "conversion_plan", lambda *_: NoOp())
    with pytest.raises(InternalError, match=r"layout-proof.*convert_layout from tensor<.*> to tensor<.*>: register"):
        conversions.check_conversions(scheduled("matmul_f16_nn_f16", "sm_80"))
