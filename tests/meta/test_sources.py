"""A stage's signature covers the code that makes the artifact: what it can import, what it executes, whose it is."""

import ast
import json
import pickle
import subprocess
import sys
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.compiled_once import compiled, once
from tests.examples.example_library import bytecode_of
from tests.meta.import_graph import closure, module_files, statements
from tileiras_build import driver
from tileiras_build.build.kernel_package import FATBIN, PACKED
from tileiras_build.build.tilecpp_step import TILECPP
from tileiras_build.build.verify_target import REFERENCE, VERIFIED
from tileiras_build.frontend.export_cutile import export_kernels
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.stages import PACKAGE, STAGES, source_files
from tileiras_build.target.targets import TARGETS

ROOT = PACKAGE.parent
EDGES = [
    *zip((None, *STAGES), STAGES, strict=False),
    (None, FATBIN),
    (None, PACKED),
    (None, VERIFIED),
    (None, REFERENCE),
    (None, TILECPP),
]
# Names and rows only; what they name is looked up here.
TABLE = "tileiras_build.pipeline.stages"


def paths(stage) -> set[str]:
    return {path.relative_to(PACKAGE).as_posix() for path in source_files(stage)}


def functions(source, stage) -> list[str]:
    return [name for name in (stage.edge, stage.render, source.parse if source else None) if name]


@pytest.mark.parametrize(("source", "stage"), EDGES, ids=lambda stage: stage and stage.name)
def test_sources_cover_what_the_edge_can_import(source, stage):
    """By the syntax trees; ``code_digest.py`` reads import statements as text."""
    modules = [name.partition(":")[0] for name in (*functions(source, stage), *stage.modules)]
    needed = {module_files()[module].relative_to(PACKAGE).as_posix() for module in closure(*modules) - {TABLE}}
    assert sorted(needed - paths(stage)) == []


def test_a_stage_is_not_made_by_the_code_of_later_ones():
    """An edit there ends at a stage's artifact where that comes out the same."""
    folders = ["pipeline/tilebc_to_tileaa/", "pipeline/tileaa_to_tileas/", "pipeline/tileas_to_ll/"]
    folders += ["pipeline/ll_to_ptx/", "pipeline/ptx_to_cubin/"]
    for position, stage in enumerate(STAGES[1:]):
        later = tuple(folders[position + 1 :])
        assert not [path for path in paths(stage) if later and path.startswith(later)]
        earlier = [path for path in paths(stage) if path.startswith(tuple(folders[:position]))]
        # What travels in the artifact is read by those that wrote it.
        assert set(earlier) <= {"pipeline/ll_to_ptx/embedded_metadata.py"}


# ---- what runs -----------------------------------------------------------------------------------------------------
LOWER = "tileiras_build.driver:lower"
SOFTMAX = "softmax_f32"
GELU, MATMUL = "gelu_erf_f32", "matmul_f16_nt"
KERNELS = {"gelu.py": [GELU], "matmul.py": [MATMUL], "softmax.py": [SOFTMAX]}
JOBS = [Job(TARGETS[name]) for name in ("sm_80", "sm_90", "sm_100")]
# An artifact is for its job: LLVM IR made without debugging is not serialized for it.
OTHER_JOBS = [replace(JOBS[0], lineinfo=True), replace(JOBS[0], opt_level=0, debug=True)]
LIBNVVM = replace(JOBS[0], serializer="libnvvm")
# Distributions whose functions run and decide nothing of the bytes.
HARMLESS = {
    "cuda-pathfinder": "finds files, whose contents count",
    "cloudpickle": "carries calls",
    "typing_extensions": "the types of other libraries",
    "immutabledict": "a part of xdsl",
    "ordered-set": "a part of xdsl",
    "SCons": "hands the steps out",
    "torch": "cuTile's front end knows its types where it is installed",
    "opt_einsum": "imported by torch",
    "cuda-bindings": "imported by torch",
}


@cache
def _distributions() -> dict[str, list[str]]:
    """The distributions of each package that can be imported."""
    return dict(metadata.packages_distributions())


@pytest.mark.parametrize("stage", [stage for _, stage in EDGES], ids=lambda stage: stage.name)
def test_libraries_are_all_that_the_sources_import(stage):
    """C code is seen nowhere else: a trace hears of Python's functions."""
    owners = _distributions() | {"cuda": ["cuda-pathfinder"]}
    modules = {path: module for module, path in module_files().items()}
    files = [path for path in source_files(stage) if path.suffix == ".py"]
    found = [statements()[modules[path]] for path in files]
    nodes = [node for one in found for node in one.imports if node not in one.type_only]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    tops = {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {PACKAGE.name}
    assert sorted({owners[top][0] for top in tops} - set(stage.libraries) - HARMLESS.keys()) == []


def trace(tmp_path: Path, first: list[str], calls: list) -> dict:
    """What ``calls`` execute: "executed", "imported" and "libraries"; and what each returned."""
    path = tmp_path / "calls"
    path.write_bytes(pickle.dumps((first, calls)))
    command = [sys.executable, "-m", "tests.meta.trace_code", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]) | {"returned": pickle.loads(path.read_bytes())}


def packages_above(path: str) -> set[str]:
    return {parent.as_posix() for parent in Path(path).parents} - {"."}


def dotted(package: str) -> str:
    return f"{PACKAGE.name}.{package.replace('/', '.')}"


# Files that decide where a step runs, where its temporary files are and when garbage is collected, and the finder of aliases; nothing
# of its output.
RUNNERS = ("__init__.py", "core/cpu_count.py", "core/pause_gc.py", "core/user_tmp.py", "core/tracing/", "workers/")


def check(stage, traced: dict) -> None:
    """What was executed is covered; so is what was imported, but for what a package imports for its other modules."""
    own = paths(stage)
    executed, imported = (
        {path for path in traced[how] if not path.startswith(RUNNERS)} for how in ("executed", "imported")
    )
    assert sorted(executed - own) == []
    packages = {package for path in own for package in packages_above(path)}
    reached = {module_files()[name].relative_to(PACKAGE).as_posix() for name in closure(*map(dotted, packages))}
    inits = {f"{package}/__init__.py" for path in reached | own for package in packages_above(path)}
    assert sorted(imported - own - reached - inits - {"__init__.py"}) == []
    assert sorted(set(traced["libraries"]) - set(stage.libraries) - HARMLESS.keys()) == []


Files = dict[tuple[str, str, Job], bytes]  # artifacts by suffix, kernel and job


def bytecode() -> Files:
    """Bytecode of some example kernels: one that asks for libdevice, a matmul for each of JOBS, and one for OTHER_JOBS, too."""
    files = ((ROOT / "examples/kernels" / file, names) for file, names in KERNELS.items())
    made = {name: data for path, names in files for name, data in export_kernels(path, names).items()}
    jobs = {GELU: JOBS[:1], MATMUL: JOBS, SOFTMAX: [*JOBS[:1], *OTHER_JOBS]}
    return {(STAGES[0].suffix, name, job): data for name, data in made.items() for job in jobs[name]}


def lowered(position: int) -> tuple[dict, Files]:
    """What is executed to make a stage's artifacts of those of the stage before it, and the artifacts."""
    return once(("lowered examples", position), lambda: _lowered(position))


def _lowered(position: int) -> tuple[dict, Files]:
    source, stage = STAGES[position - 1 : position + 1]
    given = lowered(position - 1)[1] if position > 1 else bytecode()
    calls = [
        (LOWER, (data, suffix, stage.suffix, each, name))
        for (suffix, name, job), data in given.items()
        if suffix == source.suffix
        for each in (job, *([LIBNVVM] if name == SOFTMAX and job == JOBS[0] else []))
    ]
    with TemporaryDirectory() as folder:
        traced = trace(Path(folder), [LOWER, *functions(source, stage)], calls)
    made: Files = {}
    for (_, (*_, job, name)), files in zip(calls, traced.pop("returned")):
        made |= {(suffix, name, job): data for suffix, data in files.items() if job != LIBNVVM}
    return traced, made


@pytest.mark.parametrize("position", range(1, len(STAGES)), ids=lambda position: STAGES[position].name)
def test_sources_cover_what_is_executed(position):
    check(STAGES[position], lowered(position)[0])


def test_sources_cover_what_an_export_executes(tmp_path):
    function = "tileiras_build.pipeline.export_calls:export_named"
    folder = ROOT / "examples/kernels"
    calls = [(function, (STAGES[0], str(folder / file), tuple(names), str(ROOT))) for file, names in KERNELS.items()]
    check(STAGES[0], trace(tmp_path, [function, STAGES[0].edge], calls))


def softmax(sm: str) -> tuple[bytes, bytes, str]:
    """Bytecode and PTX of an example, and their target."""
    data = bytecode_of(SOFTMAX)
    return data, compiled(data, sm).ptx.encode(), sm


def test_sources_cover_what_a_verification_executes(tmp_path):
    calls = [(VERIFIED.edge, (*softmax(sm), SOFTMAX)) for sm in ("sm_80", "sm_90")]
    check(VERIFIED, trace(tmp_path, [VERIFIED.edge], calls))


def test_sources_cover_what_a_comparison_executes(tmp_path):
    path = str(ROOT / "examples/kernels/softmax.py")
    calls = [(REFERENCE.edge, (*softmax(sm), path, "out")) for sm in ("sm_80", "sm_90")]
    package = "tileiras_build.verify:verify_file"  # which the edge imports a module of; it imports its others
    check(REFERENCE, trace(tmp_path, [package, REFERENCE.edge], calls))


def test_sources_cover_what_a_package_executes(tmp_path):
    made = compiled(bytecode_of(SOFTMAX), "sm_90", stop_at="cubin")
    for suffix, data in driver.render(STAGES[-1], made.binary).items():
        (tmp_path / f"{SOFTMAX}{suffix}").write_bytes(data)
    images = (("cubin", str(tmp_path / f"{SOFTMAX}.cubin")),)
    first = [FATBIN.edge, PACKED.edge]
    traced = trace(tmp_path, first, [("tests.meta.pack_one:make_parts", (images,))])
    check(FATBIN, traced)
    # It must hold the cubin.
    (tmp_path / f"{SOFTMAX}.fatbin").write_bytes(made.cubin)
    arguments = (str(tmp_path / f"{SOFTMAX}.fatbin"), images)
    check(PACKED, trace(tmp_path, first, [("tests.meta.pack_one:pack", arguments)]))
