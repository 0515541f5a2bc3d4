"""Every verifier accepts every example: each is scheduled once for all of them, those with dots for each GPU."""

from itertools import product

import pytest

from tests.pairwise import alternate
from tests.pipeline.verifiers.lowered_examples import NAMES, scheduled
from tileiras_build.pipeline.verifiers.cp_async_buffers import verify_cp_async_buffers
from tileiras_build.pipeline.verifiers.layout_conversions import CONVERSION, verify_layout_conversions
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines
from tileiras_build.pipeline.verifiers.shared_memory_allocation import verify_shared_memory_allocation
from tileiras_build.pipeline.verifiers.tma_stores import verify_tma_stores
from tileiras_build.pipeline.verifiers.token_barriers import verify_token_barriers

WITH_TMA = (verify_pipelines, verify_tma_stores)
# The rules of these are the same on each GPU; sm_80 and sm_90 have all the copies that there are.
BY_COPIES = (verify_cp_async_buffers, verify_shared_memory_allocation, verify_token_barriers)
VERIFIERS = {"sm_80": BY_COPIES, "sm_90": (*WITH_TMA, *BY_COPIES), "sm_100": WITH_TMA, "sm_120": WITH_TMA}
CONVERTED = ("attention_f16", "matmul_f16_nn", "matmul_f16_nn_f16", "softmax_f32")
# What has no dot is scheduled for each GPU almost as for sm_90; of what has one, the others see every other.
WITH_DOTS = [name for name in NAMES if any(one in name for one in ("matmul", "attention"))]
OTHERS = alternate(WITH_DOTS, ["sm_80", "sm_120", "sm_100"])
ACCEPTED = dict.fromkeys([*((name, "sm_90") for name in NAMES), *OTHERS, *product(CONVERTED, ["sm_80", "sm_100"])])


@pytest.mark.parametrize(("name", "sm"), ACCEPTED)
def test_examples_are_accepted(name, sm):
    module = scheduled(name, sm)
    for verify in VERIFIERS[sm]:
        verify(module)
    if name in CONVERTED and sm in ("sm_80", "sm_100"):
        converted = any(op.name == CONVERSION for op in module.walk())
        assert bool(verify_layout_conversions(module)) == converted
