"""Launches of a kernel with variants: arrays that keep the promises get the aligned one, others the kernel itself; and grids that
clusters divide the cluster variant.
"""

import sys
from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pytest

from tests.compiled_once import compiled
from tests.pipeline.test_variants import KERNELS, exported
from tests.pipeline.variant_kernels import DEEP
from tests.strict_driver import launch_case, packages
from tests.strict_driver.server import StrictDriver
from tests.strict_driver.test_strict_driver import CLIENT, from_c
from tileiras_build.frontend.export_cutile import load_cases
from tileiras_build.verify import find_faults

pytest.importorskip("cuda.bindings", reason="cuda-python is not installed: pip install 'tileiras-build[runtime]'")
NAME, VARIANT = "matmul", "matmul__aligned"
CLUSTERED, SPLIT = f"{VARIANT}__cluster2", f"{VARIANT}__split4"
CASES = {case.name: case for case in load_cases(KERNELS)}


def for_four_tile_blocks(artifacts):
    """The same with another manifest: only the second row of the split-K variant's grids has four tile blocks, for long loops."""
    manifest = deepcopy(artifacts.manifest)
    grid = manifest["kernels"][SPLIT]["grid"]
    [few] = [row for row in grid["programs"] if row["least"] == 1]
    grid["programs"] = [few | {"most": 3, "minimum": 1}, few | {"least": 4, "minimum": DEEP}]
    return SimpleNamespace(cubin=artifacts.cubin, ptx=artifacts.ptx, manifest=manifest)


def inputs_of(case):
    return case.inputs(np.random.default_rng(3))


def check(gpu, folder, command, case, launched):
    """The kernel NAME with the arguments of ``case``."""
    values = inputs_of(case)
    written = launch_case.write(folder, NAME, case.grid, values.values())
    before = len(gpu.launches)
    done = gpu.run(command(written))
    assert (done.returncode, gpu.refusals()) == (0, []), done.stderr
    launch_case.fetch(written, values.values())
    assert gpu.launches[before:] == [launched] and find_faults(case, inputs_of(case), values) == []


def test_library_takes_the_kernel_that_fits(driver, tmp_path):
    artifacts = for_four_tile_blocks(compiled(exported()[NAME], "sm_90", stop_at="cubin", variants=2))
    package = packages.build(tmp_path, NAME, artifacts)
    with StrictDriver(driver, "sm_90") as gpu:
        gpu.add(artifacts.cubin, artifacts.ptx)
        command = lambda case: [sys.executable, CLIENT, package, case]
        check(gpu, tmp_path / "deep", command, CASES[f"{NAME}_deep"], SPLIT)
        check(gpu, tmp_path / "even", command, CASES[NAME], CLUSTERED)
        check(gpu, tmp_path / "rows", command, CASES[f"{NAME}_three_rows"], VARIANT)
        check(gpu, tmp_path / "odd", command, CASES[f"{NAME}_odd"], NAME)


def test_c_takes_the_kernel_that_fits(driver, tmp_path):
    artifacts = for_four_tile_blocks(compiled(exported()[NAME], "sm_90", stop_at="cubin", variants=2))
    package = packages.build(tmp_path, NAME, artifacts)

    def command(case):
        folder = case.parent
        (folder / "case").symlink_to(case)
        program = from_c(folder, driver, package, "c99")
        return ["sh", "-c", f"cd {case} && {program} {package / packages.NAME}.fatbin"]

    with StrictDriver(driver, "sm_90") as gpu:
        gpu.add(artifacts.cubin, artifacts.ptx)
        check(gpu, tmp_path / "deep/given", command, CASES[f"{NAME}_deep"], SPLIT)
        check(gpu, tmp_path / "even/given", command, CASES[NAME], CLUSTERED)
        check(gpu, tmp_path / "rows/given", command, CASES[f"{NAME}_three_rows"], VARIANT)
        check(gpu, tmp_path / "odd/given", command, CASES[f"{NAME}_odd"], NAME)


def test_after_load_all_launches_of_both_load_nothing(driver, tmp_path):
    artifacts = compiled(exported()[NAME], "sm_90", stop_at="cubin")
    package = packages.build(tmp_path, NAME, artifacts)
    with StrictDriver(driver, "sm_90") as gpu:
        gpu.add(artifacts.cubin, artifacts.ptx)
        command = lambda case: [sys.executable, CLIENT, package, case, "captured"]
        check(gpu, tmp_path / "even", command, CASES[NAME], CLUSTERED)
        check(gpu, tmp_path / "rows", command, CASES[f"{NAME}_three_rows"], VARIANT)
        check(gpu, tmp_path / "odd", command, CASES[f"{NAME}_odd"], NAME)
