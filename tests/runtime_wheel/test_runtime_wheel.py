"""The wheel of the runtime alone: what is in it, what it brings, and launches without a compiler."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from tests import fresh_environment
from tests.compiled_once import compiled
from tests.examples.example_library import CASES, bytecode_of, inputs_of
from tests.strict_driver import launch_case, packages, python_client, server
from tileiras_build.core.code_digest import PackageSources
from tileiras_build.core.version import __version__
from tileiras_build.verify import find_faults

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "runtime_wheel/pyproject.toml").read_text())
COMPILERS = ("xdsl", "llvmlite", "SCons", "tileiras_build.")
PACKAGES = {f"{name}/__init__.py" for name in ("core", "core/symbols", "launch", "manifest", "target")}
COPIED = {"core/errors.py", "launch/runtime/kernel_library.py", "target/targets.py", "py.typed"}


def modules() -> set[str]:
    """The files of the compiler's package that the wheel's settings list."""
    listed = SETTINGS["tool"]["tileiras-build-runtime"]["modules"]
    found = [path for name in listed for path in [ROOT / "tileiras_build" / name]]
    files = [file for path in found for file in ([path] if path.is_file() else path.rglob("*.py"))]
    return {file.relative_to(ROOT / "tileiras_build").as_posix() for file in files}


def test_the_wheel_lists_what_the_runtime_imports_and_no_more():
    inner = [
        f"tileiras_build.launch.runtime.{path.stem}"
        for path in (ROOT / "tileiras_build/launch/runtime").glob("[!_]*.py")
    ]
    needed = PackageSources().code_of(["tileiras_build.launch.runtime", *inner]) - {"__init__.py"}
    assert modules() == needed | {"core/version.py", "py.typed", *PACKAGES}


def test_the_wheel_has_them_and_shares_no_file_with_the_compilers():
    runtime, compiler = (zipfile.ZipFile(fresh_environment.wheel(name)) for name in ("runtime_wheel", "."))
    with runtime, compiler:
        inside = {name for name in runtime.namelist() if name.startswith("tileiras_build_runtime/")}
        assert inside == {f"tileiras_build_runtime/{name}" for name in {*modules(), "__init__.py"}}
        assert not set(runtime.namelist()) & set(compiler.namelist())
        assert any(name.endswith("licenses/LICENSE") for name in runtime.namelist())
        for name in COPIED:
            assert runtime.read(f"tileiras_build_runtime/{name}") == compiler.read(f"tileiras_build/{name}")


def test_both_wheels_have_the_projects_version():
    assert [fresh_environment.wheel(name).name.split("-")[1] for name in ("runtime_wheel", ".")] == [__version__] * 2


@pytest.mark.parametrize("hook", ["get_requires_for_build_wheel", "get_requires_for_build_sdist"])
def test_a_clean_clone_is_asked_what_it_needs_first(tmp_path, hook):
    """pip does, in an environment of its own, before it builds anything: nothing is copied then."""
    pytest.importorskip("setuptools", reason="no setuptools to build a wheel with")
    copied = shutil.ignore_patterns("*.egg-info", "__pycache__", "build", "core", "launch", "manifest", "target")
    shutil.copytree(ROOT / "runtime_wheel", tmp_path / "runtime_wheel", ignore=copied)
    (tmp_path / "tileiras_build").symlink_to(ROOT / "tileiras_build")
    (tmp_path / "LICENSE").symlink_to(ROOT / "LICENSE")
    script = f"import sys; sys.path.insert(0, '.'); import backend; print('needs', backend.{hook}())"
    said = fresh_environment.run([sys.executable, "-c", script], tmp_path / "runtime_wheel")
    assert said.splitlines()[-1] == "needs []"


@pytest.fixture(scope="module")
def environment():
    pytest.importorskip("cuda.bindings", reason="cuda-python is not installed")
    pytest.importorskip("cuda.core", reason="cuda-core is not installed")
    return fresh_environment.shared(["runtime_wheel"])


def test_it_brings_no_compiler(environment):
    installed = {found.name.lower() for found in metadata.distributions(path=[str(environment.site)])}
    assert installed == {"tileiras-build-runtime", "msgspec", "cuda-bindings", "cuda-core", "cuda-pathfinder", "numpy"}


@pytest.mark.parametrize(("name", "sm"), [("vector_add_f32", "sm_80"), ("matmul_f16_nt", "sm_90")])
def test_a_package_is_launched_through_the_strict_driver(environment, driver, tmp_path, name, sm):
    artifacts = compiled(bytecode_of(name), sm, stop_at="cubin")
    package = packages.build(tmp_path, name, artifacts)
    values = inputs_of(name)
    case = launch_case.write(tmp_path / "case", name, CASES[name].grid(values), values.values())
    with server.StrictDriver(driver, sm) as gpu:
        gpu.add(artifacts.cubin, artifacts.ptx)
        variables = gpu.environment()
        del variables["PYTHONPATH"]
        command = [environment.python, "-X", "importtime", python_client.__file__, package, case]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=False)
        assert (done.returncode, gpu.refusals()) == (0, []), done.stderr
        launch_case.fetch(case, values.values())
        assert gpu.launches == [name] and find_faults(CASES[name], inputs_of(name), values) == []
    imported = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]
    assert "tileiras_build_runtime" in imported
    assert [module for module in imported if module.startswith(COMPILERS)] == []


def test_a_package_of_kernels_imports_it(environment, tmp_path):
    """As a build makes it: the folder is a Python package whose library is the runtime's."""
    package = packages.build(
        tmp_path, "vector_add_f32", compiled(bytecode_of("vector_add_f32"), "sm_80", stop_at="cubin")
    )
    script = f"from {package.name} import library; import sys; print(type(library).__module__, library.targets)"
    said = environment.run([environment.python, "-c", script], tmp_path, PYTHONPATH=str(package.parent))
    assert said == "tileiras_build_runtime.launch.runtime.kernel_library ('sm_80',)\n"


def test_beside_the_compiler_there_is_one_runtime(environment, tmp_path):
    """What either name gives is the same class, so that an Address of one is an Address to the other."""
    script = "import tileiras_build_runtime as a, tileiras_build.launch.runtime as b, tileiras_build as c\n"
    script += "print(a.Address is b.Address, a.Library is b.Library, a.InvalidInput is c.InvalidInput)"
    said = environment.run([environment.python, "-c", script], tmp_path, PYTHONPATH=str(ROOT))
    assert said == "True True True\n"


def test_a_missing_module_of_the_compiler_is_no_missing_compiler(environment, tmp_path):
    (tmp_path / "tileiras_build").mkdir()
    (tmp_path / "tileiras_build/__init__.py").write_text("import what_is_not_there\n")
    script = "try:\n import tileiras_build_runtime\nexcept ModuleNotFoundError as error:\n print(error.name)"
    said = environment.run([environment.python, "-c", script], tmp_path, PYTHONPATH=str(tmp_path))
    assert said == "what_is_not_there\n"
