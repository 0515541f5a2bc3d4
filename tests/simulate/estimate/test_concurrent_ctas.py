"""simulate/estimate/concurrent_ctas.py: CTAs that wait for each other, and clocks under load."""

from types import SimpleNamespace

import pytest

from tileiras_build.simulate.estimate.concurrent_ctas import batch_clocks, sm_clocks, sustained
from tileiras_build.simulate.estimate.constant_bank_values import GlobalBuffer
from tileiras_build.simulate.estimate.cta_work_counts import CtaWork
from tileiras_build.simulate.estimate.occupancy_waves import OccupancyWaves
from tileiras_build.simulate.estimate.roofline import RooflineInputs
from tileiras_build.target.gpu_models import GPUS, dram_efficiency


def test_one_cta_takes_what_it_takes_alone():
    assert batch_clocks(1, 1000, [600]) == 1000
    assert sm_clocks(3, 1, 1000, [600]) == 3000


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


def test_the_last_wave_has_what_is_left():
    assert sm_clocks(5, 2, 1000, [600]) == pytest.approx(2 * batch_clocks(2, 1000, [600]) + 1000)


def inputs(gpu, ctas, read=0, **work):
    waves = OccupancyWaves(1, "registers", ctas, ctas, float(ctas))
    launch = SimpleNamespace(blocks=ctas * gpu.sm_count, buffers={1: GlobalBuffer("x", read)})
    return RooflineInputs(CtaWork(**work), waves, gpu, launch, read, 0)


def test_the_clock_falls_where_tensor_pipes_are_busy():
    h100 = GPUS["h100"]
    busy = sustained(inputs(h100, 4, tensor=950, tensor_load=950), 1000)
    assert busy.clocks == 4000 and busy.clock_mhz == pytest.approx(1500 * 0.95 ** (-1 / 3), rel=0.01)
    idle = sustained(inputs(h100, 4, tensor=300, tensor_load=300), 1000)
    assert idle.clock_mhz == pytest.approx(h100.clock_mhz)


def test_bandwidth_is_one_of_time_not_of_the_clock():
    h100 = GPUS["h100"]
    fast, slow = (sustained(inputs(gpu, 4, read=1 << 30), 10) for gpu in (h100, h100.locked(990)))
    assert fast.clocks / fast.clock_mhz == pytest.approx(slow.clocks / slow.clock_mhz)
    assert fast.clocks / fast.clock_mhz == pytest.approx((1 << 30) / 3352e3 / 0.96)


def test_dram_loses_time_between_reads_and_writes():
    """Measured on H100 SXM: 3240 GB/s read, 3175 written, 3003 copied, of 3352."""
    assert dram_efficiency(1, 0) == dram_efficiency(0, 1) == pytest.approx(3240 / 3352, abs=0.02)
    assert dram_efficiency(1, 1) == pytest.approx(3003 / 3352, abs=0.01)
    assert dram_efficiency(1, 1) < dram_efficiency(2, 1) < dram_efficiency(8, 1)
