"""STAGES: every artifact of the pipeline, in order, and the function (edge) that produces it from the previous one.

CLI choices, SCons builders, dump names, signatures and tests are derived from these rows. Edges, parsers and writers
are named ``"module:function"`` and imported on first use, so that loading this table is fast.

An artifact is a value in memory (an xDSL module, LLVM IR or PTX text, cubin bytes) and bytes in a file: ``parse``
converts bytes to the value, ``render`` the value to bytes. Edges map a value and a Job to a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.code_digest import PACKAGE, PackageSources, installed, library_version
from ..core.errors import InternalError, InvalidInput, Location, suggest
from ..core.file_io import read_file
from ..target.mma_atoms import MMA_FAMILIES
from .job import Job

if TYPE_CHECKING:
    from .pass_manager import EdgePass

_IR_TEXT = "tileiras_build.pipeline.tile_ir_text_format"
_TEXT = "tileiras_build.pipeline.text_encoding"
_MANIFEST = "tileiras_build.pipeline.launch_manifest_json"
_PTX = "tileiras_build.pipeline.ll_to_ptx"
# The implementation of a stage besides the code of its edge.
_RUN = (
    *(
        "driver.py",
        "core/code_digest.py",
        "core/errors.py",
        "core/file_io.py",
        "core/knobs.py",
        "core/system_limit_errors.py",
    ),
    *("pipeline/job.py", "pipeline/stages.py", "workers/executor/written_modules.py"),
    *(f"target/{name}.py" for name in ("capabilities", "copy_atoms", "mma_atoms", "sm_limits", "targets")),
)
# The families of matrix instructions, which are imported by name.
_MMA = tuple(f"tileiras_build.pipeline.mma.{name}" for name in MMA_FAMILIES)
_IR_LIBRARIES = ("xdsl", "numpy", "ml_dtypes")


@dataclass(frozen=True)
class InputFile:
    """A file besides the artifact that an edge reads, such as ptxas.

    ``option`` is the field of Job with its path; ``find`` the function that locates the file, given that path or None
    for the installed one. ``asked_by`` is a function of the source artifact's bytes (or memory map) that returns the
    artifact's request for this file, or nothing; without it every source needs the file. A build lets the stage ``cut``
    extract the requested part once per request, and the edge reads that instead of the file.
    """

    option: str
    find: str
    requested_by: str | None = None
    extract: Stage | None = None


@dataclass(frozen=True)
class Stage:
    """One artifact and the edge that produces it.

    ``suffix`` is the file name's extension (".tileaa"), ``edge`` the function that computes the artifact's value; the
    first edge computes it from a Python file's path. ``options`` are the fields of Job that the edge may read besides
    the target: all other fields have their defaults, so that a node's signature cannot miss one. ``inputs`` are the
    files that the edge reads besides its artifact. ``side_outputs`` are suffixes of files that are written beside the
    artifact. The artifact depends on the code of ``edge``, of ``render``, of the ``parse`` of the previous stage and of
    ``modules``, with all that they import; on ``sources``, files or folders in the package; and on ``libraries``,
    distributions, and "python" if its version matters.
    ``may_abort``: a library in the edge's process aborts on some inputs; none is known for text from the previous edge.
    """

    suffix: str
    description: str
    edge: str
    parse: str = f"{_TEXT}:decode"
    render: str | None = f"{_TEXT}:encode"
    options: tuple[str, ...] = ()
    inputs: tuple[InputFile, ...] = ()
    modules: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    side_outputs: tuple[str, ...] = ()
    may_abort: bool = False

    def __post_init__(self):
        assert self.suffix.startswith("."), self.suffix
        known = {field.name for field in fields(Job)}
        assert known.issuperset(self.options + self.input_options), self

    @property
    def name(self) -> str:
        """The suffix without its dot: the stage's name in options, builders and dumps."""
        return self.suffix[1:]

    @property
    def input_options(self) -> tuple[str, ...]:
        """The fields of Job that hold the paths of ``inputs``."""
        return tuple(file.option for file in self.inputs)

    @property
    def passes(self) -> tuple[type[EdgePass], ...]:
        """The passes of the edge, in order; empty if the edge does not run passes over our IR."""
        passes = getattr(import_module(self.edge.split(":")[0]), "PASSES", ())
        return tuple(passes) if isinstance(passes, (tuple, list)) else ()

    def passes_for(self, job: Job) -> tuple[type[EdgePass], ...]:
        """The passes that a job runs."""
        choose = getattr(import_module(self.edge.split(":")[0]), "passes_for", None)
        return self.passes if choose is None else tuple(choose(job))

    def job(self, job: Job) -> Job:
        """``job`` with every option that this stage may not read reset to its default."""
        defaults: dict[str, Any] = {field.name: field.default for field in fields(Job)}
        hidden = defaults.keys() - {"target", *self.options, *self.input_options}
        return replace(job, **{name: defaults[name] for name in hidden})


TILEBC = Stage(
    ".tilebc",
    "Tile IR bytecode, one kernel per file",
    "tileiras_build.frontend.export_cutile:export_with_variants",
    parse="tileiras_build.ir.bytecode.reader:read_module",
    render=None,
    modules=("tileiras_build.frontend.cases_api",),  # imported by kernel files
    sources=(
        "pipeline/stages.py",
        "pipeline/export_calls.py",
        "build/python_to_bytecode_step.py",
        "core/code_digest.py",
    ),
    libraries=("cuda-tile", "numpy", "ml_dtypes", "python"),
)

_LIBDEVICE = InputFile("libdevice", "tileiras_build.libdevice:find_libdevice")
# The request of an artifact for a file that its stage reads, and the part of the file for that request.
REQUEST = Stage(".request", "an artifact's request for part of a file", f"{_PTX}.libdevice_request:request_of")
LIBDEVICE = Stage(
    ".libdevice.bc",
    "the libdevice functions that kernels call: LLVM bitcode",
    f"{_PTX}.cut_libdevice:cut",
    render=f"{_PTX}.cut_libdevice:render",
    inputs=(_LIBDEVICE,),
    sources=_RUN,
    libraries=("llvmlite",),
    may_abort=True,
)

STAGES: tuple[Stage, ...] = (
    TILEBC,
    Stage(
        ".tileaa",
        "alias-aware tiles: MLIR text",
        "tileiras_build.pipeline.tilebc_to_tileaa:lower",
        parse=f"{_IR_TEXT}:parse",
        render=f"{_IR_TEXT}:render",
        options=("opt_level", "lineinfo", "debug", "grid_swizzle", "persistent", "variants"),
        sources=_RUN,
        libraries=_IR_LIBRARIES,
    ),
    Stage(
        ".tileas",
        "assigned and scheduled tiles: MLIR text",
        "tileiras_build.pipeline.tileaa_to_tileas:lower",
        parse=f"{_IR_TEXT}:parse",
        render=f"{_IR_TEXT}:render",
        options=(
            "opt_level",
            "lineinfo",
            "debug",
            "strategy",
            "schedule",
            "serializer",
            "fp8_promotion_interval",
            "variants",
        ),
        modules=tuple(f"{family}.family" for family in _MMA),
        sources=_RUN,
        libraries=_IR_LIBRARIES,
    ),
    Stage(
        ".ll",
        "LLVM IR text",
        "tileiras_build.pipeline.tileas_to_ll:lower",
        options=("opt_level", "lineinfo", "debug", "exp2_polynomial"),
        modules=tuple(f"{family}.{part}" for family in _MMA for part in ("family", "emission")),
        sources=_RUN,
        libraries=_IR_LIBRARIES,
    ),
    Stage(
        ".ptx",
        "PTX text",
        f"{_PTX}:lower",
        options=("opt_level", "debug", "serializer", "llvm_pipeline"),
        inputs=(replace(_LIBDEVICE, requested_by=f"{_PTX}.libdevice_request:request_of", extract=LIBDEVICE),),
        sources=_RUN,
        libraries=("llvmlite", "nvidia-nvvm"),
        may_abort=True,
    ),
    Stage(
        ".cubin",
        "SASS for one SM, and its launch manifest",
        "tileiras_build.pipeline.ptx_to_cubin:lower",
        parse=f"{_MANIFEST}:parse_cubin",
        render=f"{_MANIFEST}:render_cubin",
        options=("opt_level", "debug"),
        inputs=(InputFile("ptxas", "tileiras_build.pipeline.ptx_to_cubin:find_ptxas"),),
        sources=_RUN,
        side_outputs=(".json",),
    ),
)


def find(name: str, table: tuple[Stage, ...] = STAGES, more: tuple[str, ...] = ()) -> Stage:
    """The stage ``name`` ("ll" or ".ll"); raises InvalidInput with the valid names, ``more`` of which the caller knows."""
    for stage in table:
        if stage.name == name.removeprefix("."):
            return stage
    remedy = suggest(name, [*(stage.name for stage in table), *more])
    raise InvalidInput("stage-unknown", f"{name!r} is not a stage", remedy=remedy)


def stage_of_file(path: str) -> Stage:
    """The stage of a file's suffix; raises InvalidInput for a suffix of no stage."""
    for stage in STAGES:
        if stage.suffix == Path(path).suffix:
            return stage
    # Report a missing file or a directory first: the suffix would only distract.
    read_file(path)
    raise InvalidInput(
        "file-suffix",
        f"unknown stage suffix {Path(path).suffix!r}",
        location=Location(path),
        remedy=f"expected one of {', '.join(stage.suffix for stage in STAGES)}",
    )


def between(source: str, target: str, table: tuple[Stage, ...] = STAGES) -> tuple[Stage, ...]:
    """The stages from the artifact ``source`` to ``target``, in order.

    Raises InvalidInput if ``target`` is not a later stage than ``source``.
    """
    first, last = table.index(find(source, table)), table.index(find(target, table))
    if first < last:
        return table[first + 1 : last + 1]
    later = ", ".join(stage.name for stage in table[first + 1 :]) or "none: it is the last stage"
    raise InvalidInput(
        "stage-order",
        f"cannot lower {table[first].suffix} to {table[last].suffix}",
        remedy=f"stages after {table[first].suffix}: {later}",
    )


@cache
def load(name: str) -> Callable:
    """The function named ``"module:function"``."""
    module, function = name.split(":")
    try:
        return getattr(import_module(module), function)
    except AttributeError:
        raise InternalError("stage-missing", f"{module} has no function {function}") from None


@cache
def source_digest(stage: Stage, package: Path = PACKAGE) -> str:
    """SHA-256 (hex) over the code of ``stage``: its source files, and the versions of its libraries."""
    if package != PACKAGE:
        return _source_digest(stage, package)
    row = repr(stage)
    if row not in _digests:
        _digests[row] = _source_digest(stage, package)
    return _digests[row]


_digests: dict[str, str] = {}  # of stages of the installed package, by row


def known_digests() -> dict[str, str]:
    """The results of ``source_digest`` in this process, by row."""
    return dict(_digests)


def adopt_digests(known: Mapping[str, str]) -> None:
    """Adopt the digests of another process with the same package, libraries and interpreter.

    The package must have been noted before they were computed (``sources.installed().note()``).
    """
    _digests.update(known)


def _source_digest(stage: Stage, package: Path) -> str:
    code = _package(package)
    import hashlib  # loads OpenSSL, which a command on one kernel does not need

    digest = hashlib.sha256(code.digest(_source_paths(stage, code)))
    for library in stage.libraries:
        digest.update(f"{library}={library_version(library)}\0".encode())
    return digest.hexdigest()


def source_files(stage: Stage, package: Path = PACKAGE) -> list[Path]:
    """The files of the code of ``stage``, sorted."""
    return [Path(package, path) for path in sorted(_source_paths(stage, _package(package)))]


def _package(folder: Path) -> PackageSources:
    return installed() if folder == PACKAGE else PackageSources(folder)


def _source_paths(stage: Stage, code: PackageSources) -> set[str]:
    reader = next((before.parse for before, row in pairwise(STAGES) if row == stage), None)
    paths = set(code.code_of(filter(None, (stage.edge, stage.render, reader, *stage.modules))))
    for entry in stage.sources:
        if entry in code.files:
            paths.add(entry)
        else:
            paths.update(path for path in code.files if path.startswith(f"{entry}/"))
    return paths
