"""CTAs that share an SM wait for each other."""

import pytest

from tileiras_build.target.shared_sm import batch_clocks


def test_one_cta_takes_what_it_takes_alone():
    assert batch_clocks(1, 1000, [600]) == 1000


def test_two_ctas_overlap_where_neither_needs_the_busiest_resource():
    together = batch_clocks(2, 1000, [600])
    assert 2 * 600 < together < 2 * 1000 and together == pytest.approx(1360)
    assert batch_clocks(2, 1000, [10]) == pytest.approx(1000, rel=0.01)
    assert batch_clocks(2, 1000, [1000]) == 2000


def test_ctas_wait_for_each_other_at_each_resource():
    """Where the rest of a CTA's time is another resource's, two of them overlap less than where it is nobody's."""
    assert batch_clocks(2, 1000, [600]) < batch_clocks(2, 1000, [600, 400]) < 2 * 1000
    assert batch_clocks(2, 1000, [600, 400, 400]) < batch_clocks(2, 1000, [600, 400])
    assert batch_clocks(1, 1000, [600, 600, 600]) == 1000


def test_many_ctas_keep_the_busiest_resource_busy():
    assert batch_clocks(16, 2500, [884]) == pytest.approx(16 * 884, rel=0.001)
    each = [batch_clocks(count, 1000, [300]) / count for count in range(1, 9)]
    assert each == sorted(each, reverse=True)
