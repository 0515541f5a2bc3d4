"""simulate/estimate/concurrent_ctas.py: clocks under load."""

from types import SimpleNamespace

import pytest

from tileiras_build.simulate.estimate.concurrent_ctas import sustained
from tileiras_build.simulate.estimate.constant_bank_values import GlobalBuffer
from tileiras_build.simulate.estimate.cta_work_counts import CtaWork
from tileiras_build.simulate.estimate.occupancy_waves import OccupancyWaves
from tileiras_build.simulate.estimate.roofline import RooflineInputs
from tileiras_build.target.gpu_models import GPUS, dram_efficiency


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
