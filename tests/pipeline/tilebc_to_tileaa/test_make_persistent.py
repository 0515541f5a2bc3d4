"""Tile programs that follow each other in a CTA: each runs once, and finds its own place."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import aligned, assembled, cases, compiled, run
from tests.pairwise import alternate
from tileiras_build.frontend.pack_arguments import pack_arguments
from tileiras_build.manifest.launch_manifest import read_launch_manifest
from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator.persistent_grid import MAX_TILE_PROGRAMS, PERSISTENT_CLUSTERS
from tileiras_build.target.occupancy import occupancy
from tileiras_build.target.targets import find_target

PROGRAM_IDS = Path(__file__).with_name("program_id_kernels.py")
KERNELS = Path(__file__).with_name("persistent_programs.py")
GPUS = ["sm_80", "sm_90", "sm_100", "sm_120"]


@pytest.mark.parametrize("group", [1, 4])
@pytest.mark.parametrize("grid", [(1, 1, 1), (1, 7, 2), (4, 3, 2), (5, 9, 2)])
def test_each_place_is_taken_once(grid, group):
    [out] = run(PROGRAM_IDS, "places", "sm_80", [np.zeros(grid, np.int32)], grid, persistent=1, grid_swizzle=group)
    x, y, z = np.indices(grid, np.int32)
    np.testing.assert_array_equal(out, 10000 * x + 100 * y + z + 1)


def places_of(grid, **options):
    """The places in the order in which programs begin, each with a CTA of its own."""
    artifacts, out, seen = compiled(PROGRAM_IDS, "places", "sm_80", **options), aligned(np.zeros(grid, np.int32)), []
    memory = emulator.Memory()
    memory.map(out.ctypes.data, out.nbytes)
    parameters = pack_arguments(cases(PROGRAM_IDS)["places"], [out])
    emulator.launch(artifacts, "places", grid, parameters, memory=memory, started=seen.append)
    assert (out > 0).all()
    return seen


def test_who_watches_programs_learns_their_places():
    assert places_of((3, 2, 2), persistent=1) == places_of((3, 2, 2))


@pytest.mark.parametrize(
    ("name", "sm"), [*alternate(["matmul", "matmul_in_clusters"], GPUS), ("matmul_in_clusters", "sm_100")]
)
def test_matmuls(name, sm):
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((272, 128), (128, 336)))
    found = run(
        PROGRAM_IDS, name, sm, [a, b, np.full((272, 336), np.nan, np.float16)], (3, 6, 1), persistent=1, grid_swizzle=4
    )
    np.testing.assert_array_equal(found[2], a.astype(np.float32) @ b.astype(np.float32))
    artifacts = compiled(PROGRAM_IDS, name, sm, persistent=1, grid_swizzle=4)
    # What fetches, and on sm_100 what multiplies, goes on to the next program while a result leaves.
    assert ("agent_switch" in artifacts.tileas) == (sm != "sm_80")
    assert ("umma_acquire" in artifacts.tileas) == (sm == "sm_100")
    assert (".blocksareclusters" in artifacts.ptx) == (name == "matmul_in_clusters" and sm != "sm_80")


@pytest.mark.parametrize("sm", GPUS)
def test_rows(sm):
    x = np.random.default_rng(5).normal(size=(8, 256)).astype(np.float32)
    found = run(KERNELS, "softmax", sm, [x, np.full_like(x, np.nan)], (8, 1, 1), persistent=1)[1]
    weights = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    # Its number of warps, and so the order of additions, is its own.
    np.testing.assert_allclose(found, weights / weights.sum(axis=1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("sm", GPUS)
def test_atomic_additions(sm):
    grid = (5, 7, 1)
    out, last = run(KERNELS, "counts", sm, [np.zeros(8, np.int32), np.zeros(1, np.int32)], grid, persistent=1)
    x, y, _ = np.indices(grid)
    np.testing.assert_array_equal(out, np.bincount(((3 * x + y) % 8).ravel(), minlength=8))
    assert last[0] == 4


def test_a_program_that_ends_early_is_followed_by_the_next():
    [out] = run(KERNELS, "odd", "sm_90", [np.zeros(11, np.int32)], (11, 1, 1), persistent=1)
    np.testing.assert_array_equal(out, [0, 11] * 5 + [0])


def test_programs_may_wait_for_earlier_ones():
    [out] = run(KERNELS, "handed_on", "sm_90", [np.array([1] + [0] * 9, np.int32)], (9, 1, 1), persistent=1)
    np.testing.assert_array_equal(out, range(1, 11))


STORAGE = """
builtin.module {
  nv_tileaa.func @k {
  ^bb0(%0: !nv_tileaa.ptr<f32>):
    BODY
    nv_tileaa.return
  }
}
"""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "%1 = nv_tileaa.alloca {num_elem = 4 : i64, alignment = 16 : i64} : !nv_tileaa.ptr<f32>",
            "the kernel has storage with the lifetime of a tile program",
        ),
        ("nv_tileaa.loop : () -> () { nv_tileaa.return }", "the kernel returns from within a loop"),
    ],
)
def test_why_a_kernel_stays_one_program(body, reason):
    from tileiras_build.pipeline.job import Job
    from tileiras_build.pipeline.tile_ir_text_format import parse, render
    from tileiras_build.pipeline.tilebc_to_tileaa.make_persistent import MakePersistent

    module = parse(STORAGE.replace("BODY", body).encode())
    MakePersistent().run(module, Job(find_target("sm_80"), persistent=1))
    assert f'persistent_declined = "{reason}"' in render(module).decode()


def test_the_manifest_says_so():
    """Parameters behind the program's own, and how many CTAs an SM holds."""
    launch = read_launch_manifest(assembled(PROGRAM_IDS, "matmul", "sm_90", persistent=1).manifest).kernels["matmul"]
    assert launch.grid.axes == [0, 1] and [param.axis for param in launch.extents] == [0, 1, 2]
    assert [param.role for param in launch.params[15:]] == ["grid"] * 3 + ["tensor_map"] * len(launch.tensor_maps)
    assert len(launch.param_sizes) == len(launch.caller_parameters) == 15 and launch.tensor_maps
    shared = launch.resources["shared"] + launch.shared_memory.dynamic
    fits = occupancy(find_target("sm_90"), launch.threads_per_cta, launch.resources["registers"], shared)
    assert launch.grid.persistent == fits.ctas
    assert launch.blocks((64, 64, 2), 132) == (132 * fits.ctas, 1, 1) and launch.blocks((3, 5, 2), 132) == (30, 1, 1)


def test_clusters_stay_whole():
    manifest = assembled(PROGRAM_IDS, "matmul_in_clusters", "sm_90", persistent=1).manifest
    launch = read_launch_manifest(manifest).kernels["matmul_in_clusters"]
    assert launch.blocks((64, 64, 1), 133) == (133 * launch.grid.persistent // 2, 1, 1)
    assert launch.blocks((64, 64, 1), 1)[0] >= 1


def test_the_emulator_lets_programs_follow_each_other():
    """Its launches would prove nothing otherwise; and numbers of programs stay in 32 bits."""
    kernel = compiled(PROGRAM_IDS, "places", "sm_80", persistent=1).manifest["kernels"]["places"]
    grid, params, _ = emulator.persistent_grid.expand_persistent(kernel, (5, 9, 2), [b"1234"], 4)
    assert grid == (PERSISTENT_CLUSTERS, 1, 1) and params[1:] == [bytes([n, 0, 0, 0]) for n in (5, 9, 2)]
    with pytest.raises(ValueError, match="exceeds the limit of persistent kernels"):
        emulator.persistent_grid.expand_persistent(kernel, (MAX_TILE_PROGRAMS, 2, 1), [b"1234"], 4)


def test_races_are_looked_for_between_programs():
    """Not only between CTAs that take several in turn: programs 0 and 3 write one place, which one CTA runs."""
    out = aligned(np.zeros(16, np.int32))
    memory = emulator.Memory()
    memory.map(out.ctypes.data, out.nbytes)
    artifacts = compiled(KERNELS, "one_place", "sm_80", persistent=1)
    parameters = pack_arguments(cases(KERNELS)["one_place"], [out])
    with pytest.raises(emulator.EmulatorError, match="with no synchronization between the two accesses"):
        emulator.launch(
            artifacts, "one_place", (PERSISTENT_CLUSTERS + 1, 1, 1), parameters, memory=memory, cta_racecheck=True
        )
