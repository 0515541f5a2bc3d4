"""Turn a cuTile Python file into Tile IR bytecode: one ``.tilebc`` for each row of its ``CASES`` table.

A kernel file says at module level which kernels it exports, and for which argument types:

    CASES = [
        Case("vector_add_f32", vector_add, (Array("float32", 1), Array("float32", 1), Array("float32", 1), 256)),
        ...
    ]

Where the names are string literals, ``list_cases`` reads them from the syntax tree (``kernel_case_table.py``) and a build graph needs
neither cuda-tile nor the file's imports. ``export_file`` imports the file and calls cuda-tile's public ``export_kernel``.

Same sources, same bytes, on any machine and in any folder:
- the bytecode version is fixed (``BYTECODE_VERSION``) and never asked of an installed compiler;
- no target is named (``gpu_code=None``, bytecode 13.3 and newer): hints per target stay keyed in the bytecode;
- file names in debug info are made relative (``source_names.make_portable``): to ``source_root`` for the kernel file
  and the modules beside it, to the package for functions that cuTile inlines from installed ones. Lines are kept.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import os
import sys
import threading
import types
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tileiras_build.core.errors import InvalidInput, Location, asked, nearest
from tileiras_build.core.file_io import write_files
from tileiras_build.core.tracing.audit_hooks import tracer
from tileiras_build.frontend.constant_parameters import unannotated_constants
from tileiras_build.frontend.kernel_case import (
    Argument,
    Array,
    ArrayList,
    Case,
    Scalar,
    element_of,
    named_dtype,
)
from tileiras_build.frontend.kernel_case_table import (
    TABLE,
    CaseRow,
    checked_rows,
    imports_relatively,
    read_rows,
    table_error,
    table_location,
)
from tileiras_build.frontend.kernel_signature import Argument as NamedArgument
from tileiras_build.frontend.kernel_signature import Signature, render
from tileiras_build.frontend.pack_arguments import pack_arguments
from tileiras_build.frontend.portable_source_names import make_paths_portable, with_producer
from tileiras_build.frontend.users_errors import python_error, users_code

BYTECODE_VERSION = "13.4"
"""Version of the bytecode written: the newest that cuda-tile 1.7 calls released."""

_own_package = __name__.partition(".")[0]
_FOLDER_PACKAGE = "tileiras_build_folder_of_kernels"  # what a folder is as a package that has no __init__.py
_import_lock = threading.RLock()  # loading a file rearranges sys.modules


# ---- what a kernel file holds
def list_cases(path: str | os.PathLike) -> list[str]:
    """Names of the ``.tilebc`` files (without suffix) that ``export_file`` writes for ``path``, in table order.

    Reads the syntax tree only, where the table is one of literals; else it imports the file. Raises InvalidInput as ``load_cases``.
    """
    return [row.name for row in read_rows(path) or _load(path)[0]]


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
        for folder in (
            [self.folder]
            if path is None
            else [entry for entry in path if _is_reloadable_module(name, entry, self.folder)]
        ):
            tracer().search(name.rpartition(".")[2], folder)
            spec = importlib.machinery.FileFinder(folder, (_SourceLoader, [".py"])).find_spec(name)
            if spec is not None and (spec.loader is None) == self.last:
                return spec
        return None


def _is_reloadable_module(module: str, path: str | None, folder: str) -> bool:
    """Whether ``path``, of the package of a module, is the ``folder`` itself or that package in it.

    An environment or a tree of installed packages may lie there as well: what is found in those is no sibling.
    """
    return path is not None and (path == folder or Path(path).is_relative_to(Path(folder, module.partition(".")[0])))


@contextmanager
def _isolated(folder: str):
    """Import modules beside the file afresh, and leave ``sys.modules`` as it was."""
    tracer().precede(folder)
    with tracer().untraced():
        hidden = {name: sys.modules.pop(name) for name in _shadowing_entry(folder)}
    before = set(sys.modules)
    first, last = _SiblingFinder(folder), _SiblingFinder(folder, last=True)
    sys.meta_path.insert(0, first)
    sys.meta_path.append(last)
    try:
        yield
    finally:
        _forget_finders(first, last)
        # Paths of a namespace are looked up in its parent: all are asked before any goes.
        made = [name for name in sys.modules.keys() - before if _is_sibling(sys.modules[name], folder)]
        for name in made:
            del sys.modules[name]
        sys.modules.update(hidden)


def _forget_finders(*finders: _SiblingFinder) -> None:
    """The file may have removed them, or all, itself."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder not in finders]


def _shadowing_entry(folder: str) -> list[str]:
    """The loaded modules that a script in ``folder`` would import from there. A package without an ``__init__.py`` hides none."""
    with os.scandir(folder) as entries:
        is_folder = {entry.name: _is_folder(entry) for entry in entries}
    folders = [name for name in is_folder if is_folder[name]]
    packages = {name for name in folders if os.path.isfile(os.path.join(folder, name, "__init__.py"))}
    files = {name.removesuffix(".py") for name in is_folder if name.endswith(".py")}
    first = (files | packages) - {_own_package}
    last = set(folders) - first
    tops = {name: name.partition(".")[0] for name in sys.modules}
    return [
        name for name, top in tops.items() if top in first or top in last and _is_sibling(sys.modules[name], folder)
    ]


def _is_folder(entry: os.DirEntry) -> bool:
    """Whether it is a folder; a link that leads to itself is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_sibling(module: types.ModuleType, folder: str) -> bool:
    """What a file puts among the modules may be anything, and break while it is looked at."""
    return bool(asked(_lies_below, module, folder))


def _lies_below(module: types.ModuleType, folder: str) -> bool:
    if isinstance(getattr(module, "__loader__", None), _SourceLoader):
        return True
    is_namespace = getattr(module, "__file__", None) is None
    paths = list(getattr(module, "__path__", ())) if is_namespace else []
    return any(_is_reloadable_module(module.__name__, path, folder) for path in paths)


def load_cases(path: str | os.PathLike) -> list[Case]:
    """Import the kernel file and return its table's rows, in order.

    Raises InvalidInput[export] naming the Python line where the import fails, InvalidInput[export-cases] where the
    table is not one of cases, or not as its text says, InvalidInput[export-no-cutile] without cuda-tile.
    """
    return _load(path)[1]


@contextmanager
def opened_cases(path: str | os.PathLike) -> Iterator[list[Case]]:
    """As ``load_cases``; inside of the block the rows' functions may import what lies beside the file."""
    rows = read_rows(path)
    named_dtype("float32")  # imported before the file is: what the file imports counts as read by it
    with opened_module(path) as module:
        yield _checked_cases(path, rows, module)[1]


def _load(path: str | os.PathLike) -> tuple[list[CaseRow], list[Case]]:
    rows = read_rows(path)
    named_dtype("float32")  # as above
    return _checked_cases(path, rows, _load_module(path))


def _checked_cases(
    path: str | os.PathLike, rows: list[CaseRow] | None, module: types.ModuleType
) -> tuple[list[CaseRow], list[Case]]:
    line, column = table_location(path)
    with users_code(_folder_of(path), Location(os.fspath(path), line, column), f"{TABLE}: "):
        cases = getattr(module, TABLE, None)
        if isinstance(cases, dict) or not isinstance(cases, Iterable):
            raise table_error(path, f"{TABLE} is a {type(cases).__name__}, not a list of cases", line, column)
        cases = list(cases)
        return _checked_rows(path, rows, cases, line, column), cases


def _checked_rows(
    path: str | os.PathLike, rows: list[CaseRow] | None, cases: list, line: int, column: int
) -> list[CaseRow]:
    places = rows or [CaseRow(str(getattr(case, "name", number)), line, column) for number, case in enumerate(cases)]
    for row, case in zip(places, cases, strict=True):
        if not isinstance(case, Case):
            raise table_error(path, f"row {row.name!r} is a {type(case).__name__}, not a Case", row.line, row.column)
        if case.name != row.name:
            raise table_error(path, f"row {row.name!r} builds case {case.name!r}", row.line, row.column)
    return checked_rows(path, places)


def _load_module(path) -> types.ModuleType:
    with opened_module(path) as module:
        return module


@contextmanager
def opened_module(path: str | os.PathLike) -> Iterator[types.ModuleType]:
    """The file as a module, imported anew; inside of the block its functions may import what lies beside it.

    Raises InvalidInput[export] naming the Python line where the import fails, [export-no-cutile] without cuda-tile.
    """
    folder, file_name = _folder_of(path), os.path.basename(path)
    name = file_name.removesuffix(".py")
    package, top = _package_of(folder) if imports_relatively(path) else ("", folder)
    full_name = f"{package}.{name}" if package else name
    loader = _SourceLoader(full_name, os.path.join(folder, file_name))
    spec = importlib.util.spec_from_file_location(full_name, loader.path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    with _import_lock, _isolated(folder), _as_package(package, top, folder):
        sys.modules[full_name] = module  # dataclasses look their module up by name
        before = os.getcwd()
        try:
            with users_code(folder, Location(os.fspath(path))):
                loader.exec_module(module)
        finally:
            os.chdir(before)  # paths that are relative mean the same after a file has changed the working folder
        yield module


def _package_of(folder: str) -> tuple[str, str]:
    """The package that a folder is, and the folder that it is found in; without an ``__init__.py`` one of our own."""
    names, top = [], folder
    while os.path.isfile(os.path.join(top, "__init__.py")):
        top, name = os.path.split(top)
        names.append(name)
    return (".".join(reversed(names)), top) if names else (_FOLDER_PACKAGE, folder)


@contextmanager
def _as_package(package: str, top: str, folder: str):
    """Let the modules of ``folder`` be those of ``package``, which is found in ``top``."""
    if not package:
        yield
        return
    root = package.partition(".")[0]
    finder = _SiblingFinder(top)
    if package == _FOLDER_PACKAGE:
        made = types.ModuleType(package)
        made.__path__ = [folder]
        sys.modules[package] = made
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        _forget_finders(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] == root]:
            del sys.modules[name]


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
    if (literal := read_rows(path)) is not None:
        _check_requested_names(path, literal, names)
    table, cases = _load(path)
    _check_requested_names(path, table, names)
    rows = {row.name: row for row in table}
    chosen = [case for case in cases if names is None or case.name in names]
    root = source_root or _folder_of(path)
    made = {case.name: _export(case, rows[case.name], path) for case in chosen}
    with tracer().untraced():
        return {case.name: _with_signature(case, make_paths_portable(made[case.name], root)) for case in chosen}


def _with_signature(case: Case, data: bytes) -> bytes:
    """The bytecode with a note of what the source calls the arguments of a launch."""
    code = case.kernel._pyfunc.__code__
    named = zip(code.co_varnames, case.arguments)
    arguments = [one for name, argument in named for one in _named(name, argument)]
    return with_producer(data, render({case.name: Signature(tuple(arguments), case.grid_axes)}))


def _named(name: str, argument: Argument) -> Iterator[NamedArgument]:
    """An argument's parts: those of a tuple are numbered, a list is the address of its table and its length."""
    if isinstance(argument, tuple):
        for index, part in enumerate(argument):
            yield from _named(f"{name}_{index}", part)
    elif isinstance(argument, ArrayList | list):
        yield from (NamedArgument(name), NamedArgument(f"{name}_length"))
    elif isinstance(argument, Scalar):
        yield NamedArgument(name)
    elif isinstance(argument, Array):
        unit = argument.unit_stride
        yield NamedArgument(name, argument.ndim, None if unit is None else unit % argument.ndim)


def _check_requested_names(path, rows: Sequence[CaseRow], names: Sequence[str] | None) -> None:
    if unknown := sorted(set(names or ()) - {row.name for row in rows}):
        near = nearest(unknown[0], [row.name for row in rows])
        raise table_error(path, f"no case named {unknown[0]!r}" + (f", did you mean {near}?" if near else ""))


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
    with users_code(_folder_of(path), at_row, f"case {case.name!r}: "):
        _check_arity(case, at_row)
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
    for name, value in unannotated_constants(function, case.arguments):
        dtype = "bool_" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32"
        raise InvalidInput(
            "export-cases",
            f"case {case.name!r} gives the value {value} for the parameter {name} of {function.__name__}, "
            "which a launch passes at run time",
            location=at_row,
            remedy=f'write Scalar("{dtype}") in its place, or annotate {name}: ct.Constant',
        )


def _make_constraint(argument: Argument):
    import cuda.tile as ct

    if isinstance(argument, Scalar):
        return ct.compilation.ScalarConstraint(getattr(ct, argument.dtype))
    if isinstance(argument, tuple):
        return ct.compilation.TupleConstraint([_make_constraint(part) for part in argument])
    if isinstance(argument, ArrayList | list):
        element = _make_constraint(element_of(argument))
        return ct.compilation.ListConstraint(element, alias_groups=(), elements_may_alias=False)
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


__all__ = [
    "Array", "ArrayList", "Case", "Scalar", "export_file", "export_kernels", "list_cases", "load_cases",
    "opened_cases", "opened_module", "pack_arguments", "python_error",
]  # fmt: skip
