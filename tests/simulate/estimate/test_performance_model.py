"""simulate/estimate/performance_model.py: what compiled kernels of known work are counted as, and what bounds them."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests import compiled_once, emulated_kernels
from tests.simulate.estimate.handwritten import code, trace
from tileiras_build.cli.dispatch import main
from tileiras_build.core.errors import InvalidInput, Unsupported
from tileiras_build.manifest.launch_manifest import read_launch_manifest
from tileiras_build.simulate.estimate.cta_work_counts import WorkCounter
from tileiras_build.simulate.estimate.kernel_from_cubin import read_kernels
from tileiras_build.simulate.estimate.performance_model import LATENCY, estimate
from tileiras_build.simulate.estimate.problem_size import launch_of_manifest, read_settings
from tileiras_build.target.gpu_models import DEFAULT_GPUS, GPUS, gpu_model
from tileiras_build.target.gpu_rates import SHARED_BYTES_PER_CLOCK, SM_RATES, TMA_LATENCY
from tileiras_build.target.targets import TARGETS, find_target

KERNELS = Path(__file__).resolve().parents[3] / "benchmarks" / "key_kernels.py"
MATMUL, VECTOR_ADD = "matmul_f16_128x128x64", "vector_add_f32_1024"
CLUSTERED, PAIRED = "matmul_f16_256x128x64_2ctas", "matmul_f16_256x256x64_persistent_2ctas"


@cache
def built(name, sm):
    artifacts = emulated_kernels.assembled(KERNELS, name, sm)
    kernel = compiled_once.once(("kernel", artifacts.cubin), lambda: _disassembled(artifacts.cubin))
    return kernel, read_launch_manifest(artifacts.manifest).kernels[name]


def _disassembled(cubin):
    [kernel] = read_kernels(cubin).values()
    light = replace(kernel, cubin=b"")
    light.__dict__["code"] = kernel.code  # disassembled once for all processes
    return light


@cache
def estimated(name, sm, grid, *settings):
    kernel, row = built(name, sm)
    return estimate(kernel, launch_of_manifest(row, read_settings(settings), grid))


def gemm(sm, side=512):
    return estimated(MATMUL, sm, (side // 128, side // 128, 1), *(f"{name}={side}x{side}" for name in "abc"))


def test_tile_blocks_of_a_persistent_kernel():
    """On a GPU of three SMs: each tile block is counted once, and the CTA with the most tile blocks sets the time."""
    artifacts = emulated_kernels.assembled(KERNELS, MATMUL, "sm_90", persistent=1)
    kernel, row = _disassembled(artifacts.cubin), read_launch_manifest(artifacts.manifest).kernels[MATMUL]
    together = 3 * row.grid.persistent

    def launched(tiles):
        settings = read_settings(f"{name}={128 * tiles}x{128 * tiles}" for name in "abc")
        launch = launch_of_manifest(row, settings, (tiles, tiles, 1), 3)
        assert launch.grid == (min(tiles**2, together), 1, 1) and launch.tile_programs == tiles**2
        return estimate(kernel, launch)

    for tiles in (1, 2, 3):
        assert launched(tiles).multiply_adds == pytest.approx((128 * tiles) ** 3)
    assert together == 3 and launched(2).timeline.clocks > 1.5 * launched(1).timeline.clocks


def test_a_copy_to_tensor_memory_reads_shared_memory_once():
    """For all four warps' lanes together."""
    lines = [
        "UTCCP.T.S.4x32dp128bit tmem[UR9+0x100], gdesc[UR20]",
        "UTCCP.T.S.128dp256bit tmem[UR9], gdesc[UR20]",
        "EXIT",
    ]
    work = WorkCounter(code(*lines), gpu_model(find_target("sm_100"))).block([trace(lines)])
    assert work.shared == (32 * 16 + 128 * 32) / SHARED_BYTES_PER_CLOCK


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_multiply_adds_of_a_gemm(sm):
    """By mma.sync, wgmma and tcgen05, with loops of 4 and 8 steps: nothing is counted that is not executed."""
    for side in (256, 512):
        found = gemm(sm, side)
        assert found.multiply_adds == side**3
        assert found.read == 2 * 2 * side**2 and found.written == 2 * side**2
    assert not found.work.unknown_accesses and not found.timeline.forced_waits
    # What frees tensor memory looks twice whether it was allocated.
    assert len(found.work.unknown_branches) == (2 if sm == "sm_100" else 0)


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_blocks_of_a_cluster_end_each_others_waits(sm):
    """Warps arrive at the barriers of both blocks, the tensor cores of a pair tell both."""
    sizes = [f"{name}=512x512" for name in "abc"]
    found = estimated(CLUSTERED, sm, (4, 4, 1), *sizes)
    assert found.launch.cluster == (2, 1, 1) and found.multiply_adds == 512**3
    assert not found.timeline.forced_waits


def test_a_pair_keeps_its_tensor_pipes_busy():
    """Four tiles of 256 x 256 by one pair: loads of the next tile and stores of the accumulators overlap MMAs."""
    sizes = ["a=512x2048", "b=2048x512", "c=512x512"]
    found = estimated(PAIRED, "sm_100", (2, 1, 1), *sizes)
    assert found.launch.blocks == 2 and found.multiply_adds == 512 * 512 * 2048
    assert found.bounds["tensor pipe"] > 0.9 * found.clocks


def test_ctas_share_an_sm_if_its_tensor_memory_has_their_columns():
    """Four CTAs with 128 columns each; shared memory has space for more of them."""
    kernel, row = built(MATMUL, "sm_100")
    launch = launch_of_manifest(row, read_settings([f"{name}=512x512" for name in "abc"]), (4, 4, 1))
    small = replace(kernel, resources=replace(kernel.resources, registers=32, shared=0))
    small.__dict__["code"] = kernel.code
    waves = estimate(small, replace(launch, shared_memory=0)).waves
    assert (waves.resident, waves.limit) == (4, "tensor memory")


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_no_bound_is_below_what_the_rates_allow(sm):
    found = gemm(sm)
    machine = GPUS[DEFAULT_GPUS[int(sm[3:])]]
    fastest = (
        found.multiply_adds / found.launch.blocks * found.waves.busiest_sm_ctas / SM_RATES[int(sm[3:])].tensor["f16"]
    )
    assert found.bounds["tensor pipe"] >= fastest
    assert (
        found.bounds["DRAM"] > (found.read + found.written) / machine.dram_bytes * found.clock_mhz / machine.clock_mhz
    )
    # A single CTA cannot be faster than its work on the SM's pipes.
    assert found.timeline.clocks >= found.work.tensor
    assert found.clocks >= max(found.bounds.values()) and LATENCY in found.bounds


@pytest.mark.parametrize("sm", ["sm_80", "sm_90"])
def test_vector_add_is_bound_by_dram(sm):
    length = 1 << 24
    found = estimated(VECTOR_ADD, sm, (length // 1024, 1, 1), *(f"{name}={length}" for name in "abc"))
    assert found.limit == "DRAM" and found.reached > 0.99
    assert (found.read, found.written) == (8 * length, 4 * length)
    assert found.bounds["issue slots"] < 0.1 * found.clocks


def test_few_blocks_wait_for_latency():
    """One block of a vector cannot fill the memory's pipe: its time is that of a load and a store."""
    found = estimated(VECTOR_ADD, "sm_90", (1, 1, 1), *(f"{name}=1024" for name in "abc"))
    assert found.limit == LATENCY and found.clocks > GPUS["h100"].dram_latency


def test_geforce_multiplies_f16_into_f32_at_half_the_rate():
    kernel, row = built(MATMUL, "sm_120")
    launch = launch_of_manifest(row, read_settings([f"{name}=512x512" for name in "abc"]), (4, 4, 1))
    pro, geforce = (estimate(kernel, launch, gpu=GPUS[name]) for name in ("rtxpro6000", "rtx5090"))
    assert geforce.work.tensor == 2 * pro.work.tensor and geforce.multiply_adds == pro.multiply_adds


def test_the_first_mma_waits_for_tma():
    prologue = gemm("sm_90").timeline.prologue
    assert prologue > GPUS["h100"].l2_latency + TMA_LATENCY


def test_time_grows_with_the_problem():
    small, large = (gemm("sm_90", side) for side in (512, 1024))
    # The small one uses an eighth of the SMs, the large one half of them: each CTA has twice the steps.
    assert 1.2 < large.clocks / small.clocks < 2.5


def test_a_target_without_published_rates_is_refused():
    without = [target for target in TARGETS.values() if target.number not in DEFAULT_GPUS]
    assert [target.number for target in without] == [88, 107]
    for target in without:
        with pytest.raises(Unsupported, match="estimate-no-rates"):
            gpu_model(target)
    assert all(gpu_model(find_target(str(number))).rates for number in DEFAULT_GPUS)


# ---- the command -------------------------------------------------------------------------------------------------------
@pytest.fixture
def folder(tmp_path):
    artifacts = emulated_kernels.assembled(KERNELS, VECTOR_ADD, "sm_90")
    (tmp_path / "k.cubin").write_bytes(artifacts.cubin)
    (tmp_path / "k.json").write_text(json.dumps(artifacts.manifest))
    return tmp_path


SIZES = [word for name in "abc" for word in ("--set", f"{name}=1048576")]


def test_the_command_prints_bounds_and_says_that_it_is_a_model(folder, capsys):
    cubin = str(folder / "k.cubin")
    assert main(["estimate", cubin, *SIZES, "--grid", "1024", "--against", cubin]) == 0
    out = capsys.readouterr().out
    assert "limited by DRAM" in out and "ratio: 1.00" in out and "modelled, not measured" in out
    assert main(["estimate", cubin, *SIZES, "--grid", "1024", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (
        found["limit"] == "DRAM"
        and found["bounds"]["DRAM"] == pytest.approx(found["clocks"], rel=1e-3)
        and found["dram_read"] == 8 << 20
    )


def test_the_command_asks_about_another_gpu(folder, capsys):
    """H200 has the SMs of H100 and 4800 GB/s of DRAM in place of 3352."""
    times = {}
    for gpu in ("h100", "h200"):
        assert main(["estimate", str(folder / "k.cubin"), *SIZES, "--grid", "1024", "--json", "--gpu", gpu]) == 0
        times[gpu] = json.loads(capsys.readouterr().out)["microseconds"]
    assert times["h100"] / times["h200"] == pytest.approx(4800 / 3352, rel=0.01)


def test_a_cubin_without_a_manifest_takes_parameters_by_index(folder, capsys):
    (folder / "k.json").unlink()
    cubin = str(folder / "k.cubin")
    values = [word for n in range(3) for word in (f"{3 * n}=@4194304", f"{3 * n + 1}=1048576", f"{3 * n + 2}=1")]
    words = ["estimate", cubin, "--grid", "1024", "--json", *(word for value in values for word in ("--set", value))]
    status = main(words)
    assert status == 0, capsys.readouterr().err
    assert json.loads(capsys.readouterr().out)["limit"] == "DRAM"


@pytest.mark.parametrize(
    ("words", "id"),
    [
        ([], "estimate-set"),
        (["--set", "a"], "estimate-set"),
        (["--set", "a=1x2", *SIZES[2:]], "estimate-set"),
        (["--set", "d=1", *SIZES], "estimate-set"),
        (["--set", "a=many", *SIZES[2:]], "estimate-set"),
        ([*SIZES, "--grid", "0"], "estimate-set"),
        ([*SIZES, "--grid", "1,2,3,4"], "estimate-set"),
        ([*SIZES, "--kernel", "other"], "estimate-kernel"),
        ([*SIZES, "--trips", "x=2"], "estimate-trips"),
        ([*SIZES, "--trips", "0x10=0"], "estimate-trips"),
        ([*SIZES, "--gpu", "h10"], "estimate-gpu"),
        ([*SIZES, "--gpu", "a100"], "estimate-gpu"),
        ([*SIZES, "--power", "10"], "estimate-gpu"),
        ([*SIZES, "--against", "missing.cubin"], "file"),
    ],
)
def test_wrong_options_are_one_sentence(folder, capsys, words, id):
    assert main(["estimate", str(folder / "k.cubin"), "--grid", "1024", *words]) == 1
    err = capsys.readouterr().err
    assert id in err and err.count("\n") == 1 and "Traceback" not in err


@pytest.mark.parametrize("keep", [0, 100, 1500])
def test_damaged_cubins_are_refused(folder, capsys, keep):
    path = folder / "k.cubin"
    path.write_bytes(path.read_bytes()[:keep])
    assert main(["estimate", str(path), *SIZES, "--grid", "1024"]) == 1
    assert "Traceback" not in capsys.readouterr().err


def test_a_damaged_manifest_is_refused(folder, capsys):
    (folder / "k.json").write_text('{"version": 2, "kernels": 3}')
    assert main(["estimate", str(folder / "k.cubin"), *SIZES, "--grid", "1024"]) == 1
    assert "report-manifest" in capsys.readouterr().err


def test_a_block_that_does_not_fit_is_refused():
    kernel, row = built(VECTOR_ADD, "sm_90")
    launch = launch_of_manifest(row, read_settings([f"{name}=1024" for name in "abc"]), (1, 1, 1))
    with pytest.raises(InvalidInput, match="estimate-too-large"):
        estimate(kernel, replace(launch, shared_memory=1 << 20))
