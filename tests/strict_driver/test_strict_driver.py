"""Library and the C and C++ launcher through a driver that believes nothing, onto the emulator."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.compiled_once import compiled, once
from tests.examples.example_library import CASES, bytecode_of, inputs_of
from tests.launch.runtime.fake_libcuda import compiler, run
from tests.strict_driver import images, kernels, launch_case, packages, wrong_calls
from tests.strict_driver.server import StrictDriver
from tileiras_build.simulate import emulator
from tileiras_build.verify import find_faults

pytest.importorskip("cuda.bindings", reason="cuda-python is not installed: pip install 'tileiras-build[runtime]'")
CLIENT = Path(__file__).with_name("python_client.py")
PLAIN, LARGE, TENSOR, CLUSTER = "vector_add_f32", "matmul_f16_nt_wide", "matmul_f16_nt", "batch_matmul_bf16_pairs"
# Plain loads and stores, cp.async with large shared memory, tensor maps on three generations, clusters.
KERNELS = [
    (PLAIN, "sm_80"), (LARGE, "sm_80"), (TENSOR, "sm_90"), (LARGE, "sm_90"), (CLUSTER, "sm_90"), (TENSOR, "sm_100"),
    (CLUSTER, "sm_100"), (TENSOR, "sm_120"),
]  # fmt: skip


def case_of(folder, name):
    values = inputs_of(name)
    return values, launch_case.write(folder / "case", name, CASES[name].grid(values), values.values())


def check(gpu, done, name, values, case):
    assert (done.returncode, gpu.refusals()) == (0, []), done.stderr
    launch_case.fetch(case, values.values())
    assert gpu.launches == [name] and find_faults(CASES[name], inputs_of(name), values) == []


def from_c(folder, driver, package, language):
    """The program of the case in ``folder``, built as C or C++."""
    source = folder / "main.c"
    source.write_text(launch_case.c_program(packages.NAME, folder / "case"))
    kind = "c++" if language.startswith("c++") else "c"
    options = [f"-std={language}", "-Wall", "-Wextra", "-Werror", "-pedantic-errors", "-x", kind]
    sources = [source, package / f"src/{packages.NAME}.c", "-x", "none"]
    tool = compiler("g++" if kind == "c++" else "gcc")
    run([tool, *options, *sources, *launch_case.c_options(driver, package), "-o", folder / "main"])
    return folder / "main"


@pytest.mark.parametrize(("name", "sm"), KERNELS)
def test_library_launches(driver, tmp_path, name, sm):
    artifacts = compiled(bytecode_of(name), sm, stop_at="cubin")
    package = packages.build(tmp_path, name, artifacts)
    values, case = case_of(tmp_path, name)
    with StrictDriver(driver, sm) as gpu:
        gpu.add(artifacts.cubin, artifacts.ptx)
        check(gpu, gpu.run([sys.executable, CLIENT, package, case]), name, values, case)


@pytest.mark.parametrize(("name", "sm"), [(PLAIN, "sm_80"), (TENSOR, "sm_90")])
def test_after_load_all_the_first_launch_may_be_captured(driver, tmp_path, name, sm):
    """The driver loads nothing while a stream is captured."""
    artifacts = compiled(bytecode_of(name), sm, stop_at="cubin")
    package = packages.build(tmp_path, name, artifacts)
    values, case = case_of(tmp_path, name)
    with StrictDriver(driver, sm) as gpu:
        gpu.add(artifacts.cubin, artifacts.ptx)
        check(gpu, gpu.run([sys.executable, CLIENT, package, case, "captured"]), name, values, case)


def test_ptx_is_compiled_for_a_newer_gpu(driver, tmp_path):
    package = packages.build(tmp_path, PLAIN, compiled(bytecode_of(PLAIN), "sm_80", stop_at="cubin"), ptx=True)
    values, case = case_of(tmp_path, PLAIN)
    with StrictDriver(driver, "sm_100") as gpu:
        check(gpu, gpu.run([sys.executable, CLIENT, package, case]), PLAIN, values, case)


@pytest.mark.parametrize(
    ("name", "sm", "language"),
    [(PLAIN, "sm_80", "c++11"), (LARGE, "sm_80", "c99"), (TENSOR, "sm_90", "c99"), (CLUSTER, "sm_90", "c++17")],
)
def test_c_and_c_plus_plus_launch(driver, tmp_path, name, sm, language):
    artifacts = compiled(bytecode_of(name), sm, stop_at="cubin")
    package = packages.build(tmp_path, name, artifacts)
    values, case = case_of(tmp_path, name)
    program = from_c(tmp_path, driver, package, language)
    with StrictDriver(driver, sm) as gpu:
        gpu.add(artifacts.cubin, artifacts.ptx)
        done = gpu.run(["sh", "-c", f"cd {case} && {program} {package / packages.NAME}.fatbin"])
        check(gpu, done, name, values, case)


@pytest.mark.parametrize(("name", "sm"), [(TENSOR, "sm_90"), (CLUSTER, "sm_100")])
def test_persistent_kernels(driver, tmp_path, name, sm):
    """On a GPU of three SMs, from Python and from C: as many CTAs as are resident, for a grid of more tile blocks."""
    artifacts = compiled(bytecode_of(name), sm, stop_at="cubin", persistent=1)
    package = packages.build(tmp_path, name, artifacts)
    for folder in (tmp_path / "python", tmp_path / "c"):
        values, case = case_of(folder, name)
        program = from_c(folder, driver, package, "c99")
        commands = {"python": [sys.executable, CLIENT, package, case],
                    "c": ["sh", "-c", f"cd {case} && {program} {package / packages.NAME}.fatbin"]}  # fmt: skip
        with StrictDriver(driver, sm) as gpu:
            gpu.add(artifacts.cubin, artifacts.ptx)
            check(gpu, gpu.run(commands[folder.name]), name, values, case)
            assert gpu.grids == [(6, 1, 1)]  # two CTAs of each: for 9 programs, or three clusters of two for 8


WIDE = "matmul_f16_128x256x64"  # 144 KB of shared memory on sm_80


def test_too_much_shared_memory_is_refused_before_the_driver(driver, tmp_path):
    kernel = kernels.find(WIDE)
    artifacts, values = compiled(kernel.bytecode(), "sm_80", stop_at="cubin"), kernel.inputs()
    package = packages.build(tmp_path, WIDE, artifacts)
    case = launch_case.write(tmp_path / "case", WIDE, kernel.grid(values), values)
    program = from_c(tmp_path, driver, package, "c99")
    with StrictDriver(driver, "sm_86") as gpu:
        by_python = gpu.run([sys.executable, CLIENT, package, case])
        by_c = gpu.run(["sh", "-c", f"cd {case} && {program} {package / packages.NAME}.fatbin"])
        assert (
            "needs 147456 bytes of shared memory (built for sm_80); sm_86 allows 101376 per block" in by_python.stderr
        )
        assert by_c.stderr == (
            "launch: 209: no image of kernel matmul_f16_128x256x64 for sm_86; rebuild with sm=86\n"
        )  # CUDA_ERROR_NO_BINARY_FOR_GPU
        assert gpu.refusals() == []


# ---- what it refuses ---------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def refused(driver, tmp_path_factory):
    """Status and reason of each wrong call."""
    return once(("wrong calls",), lambda: _refused(driver, tmp_path_factory.mktemp("wrong")))


def _refused(driver, folder) -> dict:
    cubin, ptx = images.build(folder)
    with StrictDriver(driver, "sm_90") as gpu:
        gpu.add(cubin, ptx)
        done = gpu.run([sys.executable, wrong_calls.__file__, folder])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("wrong", wrong_calls.WRONG, ids=lambda wrong: wrong.name.replace(" ", "_"))
def test_wrong_call_is_refused(refused, wrong):
    status, reason = refused[wrong.name]
    assert status == wrong.status and wrong.reason in reason


ALONE = """
import ctypes, sys
from pathlib import Path
from tests.strict_driver.wrong_calls import Gpu
gpu = Gpu(Path(sys.argv[1]))
sys.exit(gpu("cuInit", 0) or (gpu.start() or gpu.encode()))
"""


def test_a_gpu_without_tensor_maps_encodes_none(driver, tmp_path):
    with StrictDriver(driver, "sm_80") as gpu:
        done = gpu.run([sys.executable, "-c", ALONE, tmp_path])
        assert done.returncode == 801 % 256
        assert gpu.refusals() == ["cuTensorMapEncodeTiled: sm_80 has no tensor maps"]


EARLY = """
import sys
from pathlib import Path
from tests.strict_driver.wrong_calls import Gpu, attribute
gpu = Gpu(Path(sys.argv[1]))
gpu.start()
sys.exit(gpu.launch(gpu.function("other.cubin", "plain"), [8], attributes=[attribute(6, 1)]))
"""


def test_a_gpu_without_programmatic_launches_launches_none(driver, tmp_path):
    images.build(tmp_path)
    with StrictDriver(driver, "sm_80") as gpu:
        assert gpu.run([sys.executable, "-c", EARLY, tmp_path]).returncode == 801 % 256
        assert gpu.refusals() == ["cuLaunchKernelEx: kernel plain: sm_80 has no programmatic dependent launch"]


def test_a_machine_without_a_gpu_is_reported(driver, tmp_path):
    gpu = StrictDriver(driver, "sm_80")
    done = gpu.run([sys.executable, "-c", ALONE, tmp_path])
    assert done.returncode == 100 and "cuInit: STRICT_DRIVER_FOLDER holds no memory" in done.stderr


TILE = """
import ctypes, sys
from pathlib import Path
from tests.strict_driver.wrong_calls import Gpu
from tileiras_build.verify import find_faults
gpu = Gpu(Path(sys.argv[1]))
gpu.start()
function = gpu.function("tile.cubin", "required")
held = ctypes.create_string_buffer(gpu.memory.to_bytes(8, "little"))
status = gpu.launch(function, [8], block=(1, 1, 1), pointers=(ctypes.c_void_p * 1)(ctypes.addressof(held)))
sys.exit(status or gpu("cuCtxSynchronize"))
"""


def test_a_tile_kernel_takes_one_thread_of_its_caller_and_runs_its_own(driver, tmp_path, monkeypatch):
    images.build(tmp_path)
    monkeypatch.setattr(emulator, "run_ptx", lambda ptx, entry, grid, block, *_, **__: blocks.append(block))
    blocks = []
    with StrictDriver(driver, "sm_90") as gpu:
        gpu.add((tmp_path / "tile.cubin").read_bytes(), images.tile_ptx("sm_90a"))
        done = gpu.run([sys.executable, "-c", TILE, tmp_path])
    assert (done.returncode, gpu.refusals(), blocks) == (0, [], [[32, 1, 1]]), done.stderr


def reasons_in_the_source():
    """A pattern for each reason that the driver gives."""
    source = Path(__file__).with_name("strict_driver.c").read_text()
    texts = re.findall(r'(?:REFUSE|REQUIRE|refuse)\((?:[^;"]|\n)*?((?:"[^"\n]*"\s*)+)[,)]', source)
    joined = ["".join(re.findall(r'"([^"\n]*)"', text)) for text in texts]
    return {
        text: re.sub(r"%[#zl]*[a-z]+", ".*", re.escape(text).replace(r"\%", "%").replace(r"\#", "#")) for text in joined
    }


def test_every_refusal_is_made_on_purpose(refused):
    """What the two tests above have is not among them; a PTX that nobody compiles would need a driver alone."""
    seen = "".join(reason for _, reason in refused.values())
    never = [text for text, pattern in reasons_in_the_source().items() if not re.search(pattern, seen)]
    assert never == [
        "STRICT_DRIVER_FOLDER holds no memory", "sm_%d has no tensor maps",
        "kernel %s: sm_%d has no programmatic dependent launch",
    ]  # fmt: skip
