"""The verifier of conversions accepts what the pipeline makes and refuses a plan that mixes up a tile."""

import pytest

from tests.pipeline.verifiers.lowered_examples import scheduled
from tileiras_build.core.errors import InternalError
from tileiras_build.ir.layouts import NoOp
from tileiras_build.pipeline.verifiers import layout_conversions

KERNELS = ["attention_f16", "matmul_f16_nn", "matmul_f16_nn_f16", "softmax_f32"]


@pytest.mark.parametrize("sm", ["sm_80", "sm_100"])
@pytest.mark.parametrize("name", KERNELS)
def test_examples_are_accepted(name, sm):
    module = scheduled(name, sm)
    converted = {op.name for op in module.walk()} & {layout_conversions.CONVERSION}
    assert bool(layout_conversions.verify_layout_conversions(module)) == bool(converted)


def test_a_wrong_plan_names_the_layouts(monkeypatch):
    monkeypatch.setattr(layout_conversions, "conversion_plan", lambda *_: NoOp())
    with pytest.raises(InternalError, match=r"layout-verifier.*convert_layout from tensor<.*> to tensor<.*>: register"):
        layout_conversions.verify_layout_conversions(scheduled("matmul_f16_nn_f16", "sm_80"))
