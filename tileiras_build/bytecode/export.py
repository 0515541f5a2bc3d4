"""Turn a cuTile Python file into Tile IR bytecode: one ``.tilebc`` for each row of its ``CASES`` table.

A kernel file says at module level which kernels it exports, and for which argument types:

    CASES = [
        Case("vector_add_f32", vector_add, (Array("float32", 1), Array("float32", 1), Array("float32", 1), 256)),
        ...
    ]

The names are string literals, so ``list_cases`` reads them from the syntax tree and a build graph needs neither
cuda-tile nor the file's imports. ``export_file`` imports the file and calls cuda-tile's public ``export_kernel``.

Same sources, same bytes, on any machine and in any folder:
- the bytecode version is fixed (``BYTECODE_VERSION``) and never asked of an installed compiler;
- no target is named (``gpu_code=None``, bytecode 13.3 and newer): hints per target stay keyed in the bytecode;
- file names in debug info are made relative (``source_names.make_portable``): to ``source_root`` for the kernel file
  and the modules beside it, to the package for functions that cuTile inlines from installed ones. Lines are kept.
"""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import io
import os
import re
import sys
import threading
import traceback
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  (registers bfloat16, float8_e4m3fn, … as NumPy type names)
import numpy as np

from tileiras_build.bytecode.source_names import make_portable
from tileiras_build.errors import InvalidInput, Location
from tileiras_build.files import read_file, write_files
from tileiras_build.names import KERNEL, check_names, quoted_name
from tileiras_build.reads.watch import watch

BYTECODE_VERSION = "13.4"
"""Version of the bytecode written: the newest that cuda-tile 1.7 calls released."""

TABLE = "CASES"
CASE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
INDEX_DTYPES = ("int32", "int64")
INSTALL = "install it with: pip install 'cuda-tile==1.7.0'"

_own_package = __name__.partition(".")[0]
_import_lock = threading.RLock()  # loading a file rearranges sys.modules


# ---- what a kernel file declares ---------------------------------------------------------------------------------
@dataclass(frozen=True)
class Array:
    """An array parameter and what the compiler may assume about it.

    ``dtype`` is a NumPy or ml_dtypes name that cuTile shares ("float16", "float8_e4m3fn", …). ``unit_stride`` is the
    axis whose stride is known to be 1 (None: unknown). Strides and shapes are counted in elements; a single number
    in ``stride_divisible_by`` holds for every axis but ``unit_stride``. ``alignment`` of the base is in bytes.
    """

    dtype: str
    ndim: int
    unit_stride: int | None = -1
    stride_divisible_by: int | tuple[int, ...] = 1
    shape_divisible_by: int | tuple[int, ...] = 1
    alignment: int = 16
    index_dtype: str = "int32"

    def __post_init__(self):
        np.dtype(self.dtype)
        if self.index_dtype not in INDEX_DTYPES:
            raise ValueError(f"index_dtype is one of {', '.join(INDEX_DTYPES)}, not {self.index_dtype!r}")
        if self.unit_stride is not None and not -self.ndim <= self.unit_stride < self.ndim:
            raise ValueError(f"unit_stride {self.unit_stride} is no axis of a {self.ndim}-d array")
        for name in ("stride_divisible_by", "shape_divisible_by"):
            given = getattr(self, name)
            if isinstance(given, tuple) and len(given) != self.ndim:
                raise ValueError(f"{name} has {len(given)} entries for a {self.ndim}-d array")

    @property
    def known_strides(self) -> tuple[int | None, ...]:
        """Per axis: 1 where the stride is known, else None."""
        unit = None if self.unit_stride is None else self.unit_stride % self.ndim
        return tuple(1 if axis == unit else None for axis in range(self.ndim))

    @property
    def stride_factors(self) -> tuple[int, ...]:
        """Per axis: what its stride is divisible by, in elements."""
        if isinstance(self.stride_divisible_by, tuple):
            return self.stride_divisible_by
        return tuple(1 if known else self.stride_divisible_by for known in self.known_strides)

    @property
    def shape_factors(self) -> tuple[int, ...]:
        """Per axis: what its length is divisible by."""
        given = self.shape_divisible_by
        return given if isinstance(given, tuple) else (given,) * self.ndim


@dataclass(frozen=True)
class Scalar:
    """A scalar parameter of a NumPy type name, passed by value."""

    dtype: str

    def __post_init__(self):
        np.dtype(self.dtype)


Argument = Array | Scalar | bool | int | float


@dataclass(frozen=True)
class Case:
    """One kernel to export: ``name`` becomes the entry point's symbol and the file's stem.

    ``arguments`` has one entry per parameter of ``kernel``, a function decorated with ``@ct.kernel``; a plain number
    or bool is a compile-time constant, absent from the launch arguments.
    """

    name: str
    kernel: Any
    arguments: tuple[Argument, ...]

    @property
    def launch_arguments(self) -> tuple[Array | Scalar, ...]:
        """The arguments that a launch passes, in order."""
        return tuple(argument for argument in self.arguments if isinstance(argument, Array | Scalar))


# ---- reading the table without importing -------------------------------------------------------------------------
@dataclass(frozen=True)
class CaseRow:
    """A row of the table as written: its name and where it stands (line and column from 1)."""

    name: str
    line: int
    column: int


def list_cases(path: str | os.PathLike) -> list[str]:
    """Names of the ``.tilebc`` files (without suffix) that ``export_file`` writes for ``path``, in table order.

    Reads the syntax tree only. Raises InvalidInput[export-cases] where the table is missing or not literal.
    """
    return [row.name for row in read_table(path)]


def read_table(path: str | os.PathLike) -> list[CaseRow]:
    """The rows of the file's ``CASES`` table; each is a call whose first argument is the name."""
    table = _find_table(_parse(path), os.fspath(path))
    rows = [_read_row(element, os.fspath(path)) for element in table.elts]
    seen: set[str] = set()
    for row in rows:
        if row.name in seen:
            raise _bad_table(path, f"case {row.name!r} appears twice", row.line, row.column)
        seen.add(row.name)
    return rows


def _parse(path) -> ast.Module:
    try:
        return ast.parse(read_file(path), filename=os.fspath(path))
    except (SyntaxError, ValueError) as error:
        raise _python_error(error, _folder_of(path), Location(os.fspath(path))) from None


def _find_table(tree: ast.Module, path: str) -> ast.List | ast.Tuple:
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if not any(isinstance(target, ast.Name) and target.id == TABLE for target in targets):
            continue
        if not isinstance(statement.value, ast.List | ast.Tuple):
            raise _bad_table(path, f"{TABLE} is not a literal list", statement.lineno, statement.col_offset + 1)
        return statement.value
    raise _bad_table(path, f"no {TABLE} table at module level")


def _read_row(element: ast.expr, path: str) -> CaseRow:
    line, column = element.lineno, element.col_offset + 1
    first = element.args[0] if isinstance(element, ast.Call) and element.args else None
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        raise _bad_table(path, f"a row of {TABLE} is not a call whose first argument is a literal name", line, column)
    if not CASE_NAME.fullmatch(first.value):
        raise _bad_table(path, f"case name {quoted_name(first.value)} is not an identifier", line, column)
    check_names([(KERNEL, first.value, lambda: Location(path, line, column))])
    return CaseRow(first.value, line, column)


def _bad_table(path, found: str, line: int = 0, column: int = 0) -> InvalidInput:
    return InvalidInput(
        "export-cases",
        found,
        location=Location(os.fspath(path), line, column),
        remedy=f'write {TABLE} = [Case("name", kernel, (…)), …] with one row per kernel to export',
    )


def find_imports(path: str | os.PathLike) -> list[Path]:
    """The ``.py`` files beside ``path`` that it imports, directly or through each other, sorted.

    What a build tool must watch besides the file itself. Reads syntax trees only.
    """
    folder, found, waiting = Path(path).parent, set(), [Path(path)]
    while waiting:
        for name in _imported_names(_parse(waiting.pop())):
            sibling = folder / f"{name}.py"
            if sibling not in found and sibling != Path(path) and sibling.is_file():
                found.add(sibling)
                waiting.append(sibling)
    return sorted(found)


def _imported_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


# ---- importing a kernel file -------------------------------------------------------------------------------------
class _SourceLoader(importlib.machinery.SourceFileLoader):
    """Always compiles the source: a ``.pyc`` is checked by whole seconds, and builds are faster than that."""

    def get_code(self, fullname):
        return compile(self.get_data(self.path), self.path, "exec", dont_inherit=True)


class _SiblingFinder:
    """Finds modules beside the kernel file, as Python does for a script, except this package itself.

    Folders without an ``__init__.py`` are packages too, but come after all others: those are the ``last`` finder's.
    """

    def __init__(self, folder: str, last: bool = False):
        self.folder, self.last = folder, last

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == _own_package:
            return None
        for folder in [self.folder] if path is None else [entry for entry in path if _is_below(entry, self.folder)]:
            watch().search(name.rpartition(".")[2], folder)
            spec = importlib.machinery.FileFinder(folder, (_SourceLoader, [".py"])).find_spec(name)
            if spec is not None and (spec.loader is None) == self.last:
                return spec
        return None


def _is_below(path: str | None, folder: str) -> bool:
    return path is not None and Path(path).is_relative_to(folder)


@contextmanager
def _isolated(folder: str):
    """Import modules beside the file afresh, and leave ``sys.modules`` as it was."""
    watch().precede(folder)
    with watch().aside():
        entries = [Path(folder, entry) for entry in os.listdir(folder)]
        siblings = {entry.stem for entry in entries if entry.suffix == ".py" or entry.is_dir()} - {_own_package}
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in siblings}
    first, last = _SiblingFinder(folder), _SiblingFinder(folder, last=True)
    sys.meta_path.insert(0, first)
    sys.meta_path.append(last)
    try:
        yield
    finally:
        sys.meta_path.remove(first)
        sys.meta_path.remove(last)
        for name, module in list(sys.modules.items()):
            if _is_sibling(module, folder):
                del sys.modules[name]
        sys.modules.update(hidden)


def _is_sibling(module: types.ModuleType, folder: str) -> bool:
    if isinstance(getattr(module, "__loader__", None), _SourceLoader):
        return True
    is_namespace = getattr(module, "__file__", None) is None
    return is_namespace and any(_is_below(path, folder) for path in getattr(module, "__path__", ()))


def load_cases(path: str | os.PathLike) -> list[Case]:
    """Import the kernel file and return its table's rows, in order.

    Raises InvalidInput[export] naming the Python line where the import fails, InvalidInput[export-cases] where the
    table is not as ``list_cases`` reads it, InvalidInput[export-no-cutile] without cuda-tile.
    """
    rows = read_table(path)
    cases = list(getattr(_load_module(path), TABLE))
    for row, case in zip(rows, cases, strict=True):
        if not isinstance(case, Case):
            raise _bad_table(path, f"row {row.name!r} is a {type(case).__name__}, not a Case", row.line, row.column)
        if case.name != row.name:
            raise _bad_table(path, f"row {row.name!r} builds case {case.name!r}", row.line, row.column)
    return cases


def _load_module(path) -> types.ModuleType:
    folder, file_name = _folder_of(path), os.path.basename(path)
    name = file_name.removesuffix(".py")
    loader = _SourceLoader(name, os.path.join(folder, file_name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, loader.path, loader=loader))
    with _import_lock, _isolated(folder):
        sys.modules[name] = module  # dataclasses look their module up by name
        try:
            loader.exec_module(module)
        except Exception as error:
            raise _python_error(error, folder, Location(os.fspath(path))) from error
    return module


def _folder_of(path) -> str:
    return os.path.dirname(os.path.realpath(path))


# ---- exporting ---------------------------------------------------------------------------------------------------
def export_kernels(
    path: str | os.PathLike, names: Sequence[str] | None = None, *, source_root: str | os.PathLike | None = None
) -> dict[str, bytes]:
    """The bytecode of the file's cases, or of those in ``names``, by case name.

    ``source_root`` is what file names in debug info are relative to: the file's own folder by default, a project's
    top folder in a build. Raises InvalidInput as ``load_cases`` does, and [export] at the Python line cuTile rejects.
    """
    rows = {row.name: row for row in read_table(path)}
    if unknown := sorted(set(names or ()) - rows.keys()):
        raise _bad_table(path, f"no case named {unknown[0]!r}")
    chosen = [case for case in load_cases(path) if names is None or case.name in names]
    root = source_root or _folder_of(path)
    made = {case.name: _export(case, rows[case.name], path) for case in chosen}
    with watch().aside():
        return {name: make_portable(data, root) for name, data in made.items()}


def export_file(
    path: str | os.PathLike,
    out_dir: str | os.PathLike,
    names: Sequence[str] | None = None,
    *,
    source_root: str | os.PathLike | None = None,
) -> list[Path]:
    """Write ``<case>.tilebc`` into ``out_dir`` (made if missing) for each case; the paths, in table order.

    Each file appears whole or not at all, and none appears if any case fails.
    """
    kernels = export_kernels(path, names, source_root=source_root)
    files = {Path(out_dir, f"{name}.tilebc"): data for name, data in kernels.items()}
    write_files(files)
    return list(files)


def _export(case: Case, row: CaseRow, path) -> bytes:
    from cuda.tile.compilation import CallingConvention, KernelSignature, export_kernel

    at_row, buffer = Location(os.fspath(path), row.line, row.column), io.BytesIO()
    _check_arity(case, at_row)
    try:
        signature = KernelSignature(
            [_make_constraint(argument) for argument in case.arguments],
            CallingConvention.cutile_python_v2(),
            symbol=case.name,
        )
        export_kernel(
            case.kernel,
            [signature],
            buffer,
            gpu_code=None,
            output_format="tileir_bytecode",
            bytecode_version=BYTECODE_VERSION,
        )
    except Exception as error:
        raise _python_error(error, _folder_of(path), at_row, f"case {case.name!r}: ") from error
    return buffer.getvalue()


def _check_arity(case: Case, at_row: Location) -> None:
    function = getattr(case.kernel, "_pyfunc", None)  # cuda-tile names the kernel's function nowhere public
    if function is None:
        found = type(case.kernel).__name__
        raise InvalidInput("export-cases", f"case {case.name!r}: a {found} is no @ct.kernel function", location=at_row)
    given, expected = len(case.arguments), function.__code__.co_argcount
    if given != expected:
        raise InvalidInput(
            "export-cases",
            f"case {case.name!r} describes {given} arguments of {function.__name__}, which has {expected}",
            location=at_row,
            remedy="describe each parameter once, constants included",
        )


def _make_constraint(argument: Argument):
    import cuda.tile as ct

    if isinstance(argument, Scalar):
        return ct.compilation.ScalarConstraint(getattr(ct, argument.dtype))
    if not isinstance(argument, Array):
        return argument
    return ct.compilation.ArrayConstraint(
        getattr(ct, argument.dtype),
        argument.ndim,
        index_dtype=getattr(ct, argument.index_dtype),
        stride_lower_bound_incl=0,  # cuTile has no negative strides
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=argument.known_strides,
        stride_divisible_by=argument.stride_factors,
        shape_divisible_by=argument.shape_factors,
        base_addr_divisible_by=argument.alignment,
    )


# ---- errors ------------------------------------------------------------------------------------------------------
def _python_error(error: Exception, folder: str, fallback: Location, prefix: str = "") -> InvalidInput:
    """What a Python failure says, at the deepest line below ``folder`` that took part in it."""
    if isinstance(error, InvalidInput):
        return error
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "cuda":
        message = f"exporting cuTile kernels needs the package cuda-tile: {error.msg}"
        return InvalidInput("export-no-cutile", message, location=fallback, remedy=INSTALL)
    return InvalidInput(
        "export",
        f"{prefix}{_first_line(error)}",
        location=_locate(error, folder) or fallback,
        remedy="correct the kernel file",
    )


def _first_line(error: Exception) -> str:
    text = getattr(error, "message", None) or getattr(error, "msg", None) or str(error)
    return f"{type(error).__name__}: {(text.splitlines() or [''])[0]}"


def _locate(error: Exception, folder: str) -> Location | None:
    if isinstance(error, SyntaxError) and error.filename:
        return Location(_shown_to_user(error.filename), error.lineno or 0, error.offset or 0)
    loc = getattr(error, "loc", None)  # of cuda-tile's errors: line from 1, column from 0, then who called
    while loc is not None:
        if _is_below(loc.filename, folder):
            return Location(_shown_to_user(loc.filename), loc.line, loc.col + 1)
        loc = loc.call_site
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_below(frame.filename, folder)]
    if not frames:
        return None
    return Location(_shown_to_user(frames[-1].filename), frames[-1].lineno or 0, (frames[-1].colno or 0) + 1)


def _shown_to_user(path: str) -> str:
    """The path relative to the working directory where it is below it, as compilers print it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


# ---- launching ---------------------------------------------------------------------------------------------------
def pack_arguments(case: Case, values: Sequence[Any]) -> list[bytes]:
    """The kernel parameters of a launch, little-endian, in the order of the bytecode's entry point.

    ``values``: a NumPy array per Array and a number per Scalar, constants left out. An n-d array becomes 1 + 2n
    parameters: its address (8 bytes), its n lengths, its n strides in elements (cuTile's calling convention v2).
    Raises ValueError where an array breaks what its ``Array`` promises: the compiled kernel relies on it.
    """
    packed: list[bytes] = []
    for position, (argument, value) in enumerate(zip(case.launch_arguments, values, strict=True)):
        if isinstance(argument, Scalar):
            packed.append(np.asarray(value, dtype=argument.dtype).tobytes())
            continue
        if broken := _broken_promise(argument, value):
            raise ValueError(f"{case.name}: launch argument {position}: {broken}")
        strides = [stride // value.itemsize for stride in value.strides]
        packed.append(value.ctypes.data.to_bytes(8, "little"))
        packed += [np.dtype(argument.index_dtype).type(number).tobytes() for number in (*value.shape, *strides)]
    return packed


def _broken_promise(argument: Array, value: np.ndarray) -> str | None:
    if value.dtype != np.dtype(argument.dtype) or value.ndim != argument.ndim:
        return f"expected a {argument.ndim}-d {argument.dtype} array, got {value.ndim}-d {value.dtype}"
    if value.ctypes.data % argument.alignment:
        return f"the base is not aligned to {argument.alignment} bytes"
    for axis in range(value.ndim):
        stride = value.strides[axis] // value.itemsize
        if argument.known_strides[axis] not in (None, stride):
            return f"the stride of axis {axis} is {stride}, not 1"
        if stride % argument.stride_factors[axis]:
            return f"the stride {stride} of axis {axis} is not divisible by {argument.stride_factors[axis]}"
        if value.shape[axis] % argument.shape_factors[axis]:
            return f"the length {value.shape[axis]} of axis {axis} is not divisible by {argument.shape_factors[axis]}"
    return None
