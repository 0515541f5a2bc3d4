"""Kernels of every release of cuda-tile that is there, on a GPU: the strict driver's."""

import json
import sys
from pathlib import Path

import pytest

from tests.compiled_once import once, shared_folder
from tests.cutile.cached_ptx import CachedDriver
from tests.cutile.releases import INSTALLED, found, names
from tests.strict_driver.server import build

pytest.importorskip("cuda.bindings", reason="cuda-python is not installed: pip install 'tileiras-build[runtime]'")
pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")
CLIENT, ROOT = Path(__file__).with_name("gpu_client.py"), Path(__file__).resolve().parents[2]
CHECKS = ["arrays", "streams", "specialization", "constants_and_scalars", "lists", "tuples", "tensor_maps", "hints",
          "graphs", "threads", "tuning", "exports", "errors"]  # fmt: skip


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    folder = tmp_path_factory.mktemp("driver")
    build(folder)
    return folder


def run(driver, kept, release, checks, sm="sm_90"):
    """What the client says at its end."""
    there = found()
    if release not in there:
        pytest.skip(f"cuda-tile {release} is not there: see docs/testing.md")
    first = [str(there[release])] if there[release] else []
    with CachedDriver(driver, sm, kept) as gpu:
        done = gpu.run([sys.executable, CLIENT, *checks], python_path=[*first, str(ROOT)])
        assert (done.returncode, gpu.refusals()) == (0, []), done.stderr
        return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("release", names())
def test_launches_of_every_kind(driver, tmp_path, release):
    more = [] if release[:3] in ("1.3", "1.4", "1.5") else ["programmatic"]
    more += ["persistent", "many_tensor_maps"] if release == INSTALLED else []
    said = run(driver, tmp_path, release, [*CHECKS, *more])
    assert said["compilations"] > 5 and (release == "installed" or said["release"].startswith(release[:3]))
    again = run(driver, tmp_path, release, ["arrays", "lists", "tensor_maps"])
    assert again["compilations"] == 0


@pytest.mark.parametrize("release", names())
def test_launches_by_python(driver, tmp_path, release):
    """What cuTile's launcher cannot launch, and everything before 1.4."""
    run(driver, tmp_path, release, ["--by-python", *CHECKS[: CHECKS.index("hints")], "graphs", "threads"])


def test_cutile_may_have_asked_the_driver_before(driver, tmp_path):
    run(driver, tmp_path, INSTALLED, ["--late", "arrays", "tensor_maps"])


@pytest.mark.parametrize("way", [(), ("--by-python",)])
def test_grids_that_clusters_divide_take_the_variant(driver, way):
    with CachedDriver(driver, "sm_90", once(("cluster variants",), shared_folder)) as gpu:
        done = gpu.run([sys.executable, CLIENT, *way, "cluster_variants"], python_path=[str(ROOT)])
        assert (done.returncode, gpu.refusals()) == (0, []), done.stderr
        assert [name.endswith("__cluster2") for name in gpu.launches] == [False, True, True, False, True, False]


@pytest.mark.parametrize("way", [(), ("--by-python",)])
def test_grids_of_few_tile_blocks_take_a_split_k_variant(driver, way):
    with CachedDriver(driver, "sm_90", once(("split-K variants",), shared_folder)) as gpu:
        done = gpu.run([sys.executable, CLIENT, *way, "split_variants"], python_path=[str(ROOT)])
        assert (done.returncode, gpu.refusals()) == (0, []), done.stderr
        taken = [name.rpartition("__")[2] if "__" in name else None for name in gpu.launches]
        assert taken == ["split4", None, "split2", "cluster2", "split4", None, "split4", None]


@pytest.mark.parametrize("way", [(), ("--by-python",)])
def test_more_parameters_than_cubins_tell_of_in_their_older_way(driver, way):
    """Compiling 300 arrays takes longer than all else: one way leaves the kernel to the other."""
    run(driver, once(("many parameters",), shared_folder), INSTALLED, [*way, "many_parameters"])


def test_prints_are_shown_where_the_gpu_is_waited_for(driver, tmp_path):
    with CachedDriver(driver, "sm_90", tmp_path) as gpu:
        done = gpu.run([sys.executable, CLIENT, "prints"], python_path=[str(ROOT)])
        assert (done.returncode, gpu.refusals()) == (0, []), done.stderr
        assert done.stdout.splitlines()[:3] == ["launched", "first of 3", "waited"]


WITHOUT = "import tileiras_build.cutile as hook; hook.enable()"


def test_no_driver_is_reported_in_a_sentence_with_the_way_out(tmp_path):
    import os
    import subprocess

    environment = os.environ | {"LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", WITHOUT], env=environment, capture_output=True, text=True, check=False)
    line = done.stderr.splitlines()[-1]
    if "driver-missing" not in line:
        pytest.skip("this machine has a driver")
    assert "cannot load the CUDA driver" in line
    assert "use enable('sm_90', device='cpu'), or --device cpu --sm sm_90 of tileiras-build run" in line
