"""What every command and every build waits for: modules that start it import no library before they need it."""

import os
import subprocess
import sys

import pytest

from tileiras_build.pipeline.stages import PACKAGE

# Each takes as long to import as a tenth of a build that has nothing to do, or longer.
LIBRARIES = {
    "numpy",
    "ml_dtypes",
    "xdsl",
    "llvmlite",
    "distributed",
    "cuda.pathfinder",
    "cuda.tile",
    "importlib.metadata",
    "rich",
    "jinja2",
    "urllib3",
    "google.protobuf",
    "fsspec",
}
STARTS = (
    "cli.main",
    "cli.dispatch",
    "cli.cmd_as",
    "build",
    "driver",
    "workers.executor.worker",
    "frontend.export_cutile",
)


@pytest.mark.parametrize("module", STARTS)
def test_libraries_are_imported_where_they_are_used(module):
    code = f"import sys, {PACKAGE.name}.{module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert LIBRARIES.intersection(done.stdout.split()) == set()


# What a launch needs, and who imports the runtime does not wait for.
OF_A_LAUNCH = {"msgspec", "numpy", "ctypes", "inspect", "dataclasses", f"{PACKAGE.name}.target.targets"}


def test_the_runtime_is_imported_without_what_a_launch_needs():
    code = f"import sys, {PACKAGE.name}.runtime; print(*sys.modules)"
    # -S: an editable install imports some of them itself.
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert OF_A_LAUNCH.intersection(done.stdout.split()) == set()


# What no command for one kernel of scalars imports, in its own process or in the one that compiles: arrays, the
# network, other processes, OpenSSL, the search for toolkits, what another serializer reads, and what kernels with tensor cores
# or calls of libraries need.
NEEDLESS = {
    "numpy",
    "ml_dtypes",
    "msgspec",
    "cuda.pathfinder",
    "importlib.metadata",
    "asyncio",
    "concurrent.futures",
    "email",
    "hashlib",
    "http",
    "multiprocessing",
    "secrets",
    "socket",
    "ssl",
    "subprocess",
    "sysconfig",
    "unittest",
    f"{PACKAGE.name}.workers.executor.worker_pool",
    f"{PACKAGE.name}.pipeline.ll_to_ptx.link_blob",
    f"{PACKAGE.name}.pipeline.ll_to_ptx.nvvm_ir",
    f"{PACKAGE.name}.pipeline.tileas_to_ll.convert_cute_to_llvm.converted_values",
    f"{PACKAGE.name}.pipeline.tileas_to_ll.convert_nvgpu_and_gpu_to_nvvm.wgmma",
    f"{PACKAGE.name}.pipeline.tileas_to_ll.pipelines.tma_copies",
    f"{PACKAGE.name}.ir.dialects.nvgpu.dialect",
    f"{PACKAGE.name}.core.tracing",
}
_OF_THE_COMPILER = {"xdsl", "llvmlite", "pickle", f"{PACKAGE.name}.ir.dialects", f"{PACKAGE.name}.driver"}
_KERNEL = "examples/prebuilt/vector_add_f32.tilebc"
_COMMANDS = {
    "targets": ("main(['targets'])", NEEDLESS | _OF_THE_COMPILER | {"rich"}),
    "targets --json": ("main(['targets', '--json'])", NEEDLESS | _OF_THE_COMPILER),
    "--version": ("main(['--version'])", NEEDLESS | _OF_THE_COMPILER),
    "as --version": (
        "main(['as', '--version'])",
        {"numpy", "ml_dtypes", "msgspec", "cuda.pathfinder", "xdsl", "llvmlite"},
    ),
    "lower": (f"main(['lower', '{_KERNEL}', '--sm', '90', '--to', 'll', '-o', OUT])", NEEDLESS | {"xdsl"}),
    "lower in process": (
        f"enable(); main(['lower', '{_KERNEL}', '--sm', '90', '--to', 'ptx', '-o', OUT, '--in-process'])",
        NEEDLESS,
    ),
    "as": (f"main(['as', '{_KERNEL}', '--gpu-name=sm_90', '-o', OUT])", NEEDLESS | {"xdsl"}),
    "assemble": (
        f"""
from {PACKAGE.name}.pipeline.job import Job
from {PACKAGE.name}.target.targets import find_target
from {PACKAGE.name}.cli.cmd_as import assemble
enable()
assemble(open("{_KERNEL}", "rb").read(), Job(find_target("sm_90")), "k", {{}})
""",
        NEEDLESS,
    ),
}


@pytest.mark.parametrize("command", _COMMANDS)
def test_a_command_imports_what_it_needs(command, tmp_path):
    call, without = _COMMANDS[command]
    code = f"""
import sys
OUT = {str(tmp_path / "out")!r}
from {PACKAGE.name}.cli.dispatch import main
from {PACKAGE.name}.workers.lazy_class_creation import enable
{call}
print(*sys.modules, sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert without.intersection(done.stdout.splitlines()) == set()


def test_few_classes_are_defined_for_a_small_kernel(tmp_path):
    code = f"""
from {PACKAGE.name}.cli.dispatch import main
from {PACKAGE.name}.workers.lazy_class_creation import enable
enable()
main(["lower", "{_KERNEL}", "--sm", "90", "--to", "ptx", "-o", {str(tmp_path / "out")!r}, "--in-process"])
from {PACKAGE.name}.ir.dialects.lazy_definitions import _pending
print(len(_pending))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) > 400
