"""target/gpu_models.py: each GPU's row, its clocks under load, and what a wrong name is answered."""

from pathlib import Path

import pytest

from tileiras_build.core.errors import InvalidInput, Unsupported
from tileiras_build.target.gpu_models import DEFAULT_GPUS, GPUS, gpu_model
from tileiras_build.target.gpu_rates import SM_RATES
from tileiras_build.target.targets import find_target


@pytest.mark.parametrize("name", GPUS)
def test_a_row_is_plausible_and_names_its_sources(name):
    row = GPUS[name]
    assert row.source and row.rates.tensor == SM_RATES[row.number].tensor
    assert 1000 <= row.busy_mhz <= row.clock_mhz < 3000 and 50 <= row.watts <= 1500
    # Shared memory answers before L2, L2 before DRAM; L2 delivers more bytes than DRAM, and no more than the SMs take.
    assert row.shared_latency < row.l2_latency < row.dram_latency < 1000
    assert row.dram_bytes < row.l2_rate <= 64 * row.sm_count * 1.2
    assert row.l2_size >= 4 << 20 and row.sm_count <= 192


def test_each_target_has_a_default_gpu_of_its_own():
    assert all(GPUS[name].number == number for number, name in DEFAULT_GPUS.items())
    assert {row.number for row in GPUS.values()} == set(DEFAULT_GPUS) == set(SM_RATES)


def test_geforce_halves_the_rate_of_f32_accumulate():
    assert {name for name, row in GPUS.items() if row.rates.f32_accumulate == 0.5} == {
        "rtx4090", "rtx5090", "rtx5080", "rtx5060ti",
    }  # fmt: skip


def test_a_gpu_is_found_by_name():
    assert gpu_model(find_target("90")).name == "H100 SXM 80 GB"
    assert gpu_model(find_target("90"), "h200").dram_gb_per_s == 4800
    # Code of sm_80 runs on sm_86 and sm_89.
    assert gpu_model(find_target("80"), "rtx4090").number == 89
    with pytest.raises(InvalidInput, match="estimate-gpu.*unknown GPU 'rtx509'") as error:
        gpu_model(find_target("120"), "rtx509")
    assert "did you mean rtx5090?" in str(error.value)
    with pytest.raises(InvalidInput, match="A100 SXM 80 GB is sm_80, which does not run code for sm_90") as error:
        gpu_model(find_target("90"), "a100")
    assert "h100, h100-pcie, h100-nvl, h200" in str(error.value)
    with pytest.raises(Unsupported, match="estimate-no-rates"):
        gpu_model(find_target("88"), "a40")


def test_clocks_fall_under_load_and_only_then():
    """Measured on H100 SXM: 1550 MHz where tensor pipes are busy for 90 % of the time, 1980 where they are for 40 %."""
    h100 = GPUS["h100"]
    assert h100.sustained_mhz(0.90, 0.0) == pytest.approx(1550, rel=0.02)
    assert h100.sustained_mhz(0.36, 0.30) == pytest.approx(1980, rel=0.03)
    assert h100.sustained_mhz(0.0, 0.1) == h100.clock_mhz
    # Where tensor pipes are slow, f32 multiply-adds take as much power as they do.
    assert GPUS["rtxpro6000"].sustained_mhz(0.0, 0.9) == GPUS["rtxpro6000"].sustained_mhz(0.9, 0.0)


def test_power_limits_and_locked_clocks():
    pro, h100 = GPUS["rtxpro6000"], GPUS["h100"]
    # Measured on RTX PRO 6000 Max-Q (300 W): 1520 MHz where tensor pipes are busy for 82 % of the time.
    assert pro.limited(300).sustained_mhz(0.82, 0.0) == pytest.approx(1520, rel=0.02)
    assert pro.limited(600) == pro
    with pytest.raises(InvalidInput, match="estimate-gpu"):
        pro.limited(100)
    locked = h100.locked(990)
    assert locked.sustained_mhz(1.0, 1.0) == 990 and locked.dram_latency == h100.dram_latency / 2


def test_documents_list_the_names():
    text = (Path(__file__).resolve().parents[2] / "docs" / "report.md").read_text()
    assert [name for name in GPUS if f"`{name}`" not in text] == []
