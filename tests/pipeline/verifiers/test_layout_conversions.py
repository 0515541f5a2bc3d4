"""The verifier of conversions accepts what the pipeline makes and refuses a plan that mixes up a tile."""

import pytest

from tests.pipeline.verifiers.lowered_examples import scheduled
from tileiras_build.core.errors import InternalError
from tileiras_build.ir.layouts import NoOp
from tileiras_build.pipeline.verifiers import layout_conversions


def test_a_wrong_plan_names_the_layouts(monkeypatch):
    monkeypatch.setattr(layout_conversions, "conversion_plan", lambda *_: NoOp())
    with pytest.raises(InternalError, match=r"layout-verifier.*convert_layout from tensor<.*> to tensor<.*>: register"):
        layout_conversions.verify_layout_conversions(scheduled("matmul_f16_nn_f16", "sm_80"))
