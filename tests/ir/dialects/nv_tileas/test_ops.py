"""Scheduled tile IR has a counterpart of every executable operation, with the same groups and traits."""

import pytest
from xdsl.traits import IsTerminator, Pure

from tileiras_build.ir.dialects.nv_tileaa.ops import OPERATIONS
from tileiras_build.ir.dialects.nv_tileas.ops import COUNTERPARTS, NOT_CONVERTED


@pytest.mark.parametrize("source", [op for op in OPERATIONS if op.name not in NOT_CONVERTED], ids=lambda op: op.name)
def test_counterpart(source):
    target = COUNTERPARTS[source.name]
    assert target.name == source.name.replace("nv_tileaa", "nv_tileas")
    assert (target.operand_groups, target.result_groups) == (source.operand_groups, source.result_groups)
    assert target.region_count == source.region_count and target.__doc__ == source.__doc__
    for trait in (Pure, IsTerminator):
        assert target.has_trait(trait) == source.has_trait(trait)


def test_signatures_have_none():
    assert not NOT_CONVERTED & COUNTERPARTS.keys()
