"""Export a cuTile Python file as Tile IR bytecode: one ``.tilebc`` for each row of its ``CASES`` table.

A kernel file declares at module level which kernels it exports, and for which argument types:

    CASES = [
        Case("vector_add_f32", vector_add, (Array("float32", 1), Array("float32", 1), Array("float32", 1), 256)),
        ...
    ]

Where the names are string literals, ``list_cases`` reads them from the syntax tree (``cases_table_from_ast.py``) and a build graph needs
neither cuda-tile nor the file's imports. ``export_file`` imports the file and calls cuda-tile's public ``export_kernel``.

Same sources, same bytes, on any machine and in any folder:
- the bytecode version is fixed (``BYTECODE_VERSION``), whatever compiler is installed;
- no target is named (``gpu_code=None``, bytecode 13.3 and newer): hints per target stay keyed in the bytecode;
- a case with unpromised arrays has a second kernel in its bytecode (``aligned_variant.py``);
- file names in debug info are made relative (``portable_source_names.make_paths_portable``): to ``source_root`` for the kernel file
  and the modules beside it, to the package for functions that cuTile inlines from installed ones. Lines are kept.
"""

from __future__ import annotations

import ast
import io
import os
import types
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tileiras_build.core.errors import InvalidInput, Location, nearest
from tileiras_build.core.file_io import write_files
from tileiras_build.core.tracing.audit_hooks import tracer
from tileiras_build.frontend import aligned_variant
from tileiras_build.frontend.argument_names_in_producer import Argument as NamedArgument
from tileiras_build.frontend.argument_names_in_producer import Signature, render
from tileiras_build.frontend.cases_table_from_ast import (
    TABLE,
    CaseRow,
    checked_rows,
    parse,
    rows_of,
    table_error,
    table_location,
)
from tileiras_build.frontend.import_kernel_file import folder_of, opened_module
from tileiras_build.frontend.kernel_case import (
    Argument,
    Array,
    ArrayList,
    Case,
    Scalar,
    element_of,
    named_dtype,
)
from tileiras_build.frontend.pack_arguments import pack_arguments
from tileiras_build.frontend.portable_source_names import make_paths_portable, with_producer
from tileiras_build.frontend.tuning_choices import chosen_case
from tileiras_build.frontend.unannotated_constants import unannotated_constants
from tileiras_build.frontend.users_errors import python_error, users_code

BYTECODE_VERSION = "13.4"
"""Version of the bytecode written: the newest released one of cuda-tile 1.7."""


# ---- the table of a kernel file
def list_cases(path: str | os.PathLike) -> list[str]:
    """Names of the ``.tilebc`` files (without suffix) that ``export_file`` writes for ``path``, in table order.

    Reads the syntax tree only, where the names are literals; else imports the file. Raises InvalidInput as ``load_cases``.
    """
    tree = parse(path)
    return [row.name for row in rows_of(path, tree) or _load(path, tree)[0]]


def load_cases(path: str | os.PathLike) -> list[Case]:
    """Import the kernel file and return its table's rows, in order.

    Raises InvalidInput[export] naming the Python line where the import fails, InvalidInput[export-cases] where the
    table does not hold cases, or not those of its text, InvalidInput[export-no-cutile] without cuda-tile.
    """
    return _load(path, parse(path))[1]


@contextmanager
def opened_cases(path: str | os.PathLike) -> Iterator[list[Case]]:
    """As ``load_cases``; inside the block the rows' functions may import modules beside the file."""
    tree = parse(path)
    rows = rows_of(path, tree)
    named_dtype("float32")  # before the file is imported: what that imports counts as read by it
    with opened_module(path, tree) as module:
        yield _checked_cases(path, rows, module, tree)[1]


def _load(path: str | os.PathLike, tree: ast.Module) -> tuple[list[CaseRow], list[Case]]:
    rows = rows_of(path, tree)
    named_dtype("float32")  # as above
    with opened_module(path, tree) as module:
        pass
    return _checked_cases(path, rows, module, tree)


def _checked_cases(
    path: str | os.PathLike, rows: list[CaseRow] | None, module: types.ModuleType, tree: ast.Module
) -> tuple[list[CaseRow], list[Case]]:
    line, column = table_location(tree)
    with users_code(folder_of(path), Location(os.fspath(path), line, column), f"{TABLE}: "):
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


# ---- exporting ---------------------------------------------------------------------------------------------------
def export_with_variants(
    path: str | os.PathLike,
    names: Sequence[str] | None = None,
    tuned_for: str | None = None,
    *,
    source_root: str | os.PathLike | None = None,
) -> dict[str, bytes]:
    """As ``export_kernels``, with the aligned variants: what a build exports."""
    return export_kernels(path, names, source_root=source_root, variants=True, tuned_for=tuned_for)


def export_kernels(
    path: str | os.PathLike,
    names: Sequence[str] | None = None,
    *,
    source_root: str | os.PathLike | None = None,
    variants: bool = False,
    tuned_for: str | None = None,
) -> dict[str, bytes]:
    """The bytecode of the file's cases, or of those in ``names``, by case name.

    ``variants`` adds the aligned variant of a case to its bytecode (``aligned_variant.py``). ``tuned_for`` is the GPU
    ("sm_90") whose choices of points are exported (``tuning_choices.py``). ``source_root`` is what file names in debug info
    are relative to: the file's own folder by default, a project's top folder in a build. Raises InvalidInput as ``load_cases``
    does, [export] at the Python line cuTile rejects, and [tune-stale].
    """
    tree = parse(path)
    if (literal := rows_of(path, tree)) is not None:
        _check_requested_names(path, literal, names)
    table, cases = _load(path, tree)
    _check_requested_names(path, table, names)
    rows = {row.name: row for row in table}
    requested = [case for case in cases if names is None or case.name in names]
    chosen = [_chosen(case, rows[case.name], path, tuned_for) for case in requested]
    root = source_root or folder_of(path)
    bytecode = {case.name: _export(case, rows[case.name], path, variants) for case, _ in chosen}
    with tracer().untraced():
        portable = {name: make_paths_portable(data, root) for name, data in bytecode.items()}
        return {case.name: _with_signatures(case, tuning, portable[case.name], variants) for case, tuning in chosen}


def export_point(
    path: str | os.PathLike, case: Case, source_root: str | os.PathLike | None = None, *, variants: bool = True
) -> bytes:
    """The bytecode of a case of the file, as it is; its functions may import modules beside the file.

    ``variants`` adds its aligned variant.
    """
    with tracer().untraced():
        data = _export(case, CaseRow(case.name, 0, 0), path, variants)
        return _with_signatures(case, None, make_paths_portable(data, source_root or folder_of(path)), variants)


def _chosen(case: Case, row: CaseRow, path, tuned_for: str | None) -> tuple[Case, dict[str, Any] | None]:
    at_row = Location(os.fspath(path), row.line, row.column)
    with users_code(folder_of(path), at_row, f"case {case.name!r}: "):
        return chosen_case(case, path, tuned_for)


def _with_signatures(case: Case, tuning: dict[str, Any] | None, data: bytes, variants: bool) -> bytes:
    """The bytecode with the source's argument names in its producer string."""
    code = case.kernel._pyfunc.__code__
    signatures: dict[str, Signature] = {}
    for symbol, arguments in _kernels(case, variants).items():
        named = zip(code.co_varnames, arguments)
        names = tuple(one for name, argument in named for one in _named(name, argument))
        general = case.name if symbol != case.name else None
        signatures[symbol] = Signature(names, case.grid_axes, general, tuning, variants)
    return with_producer(data, render(signatures))


def _kernels(case: Case, variants: bool) -> dict[str, tuple[Argument, ...]]:
    """The arguments of each kernel of a case, by symbol: its own, and with ``variants`` those of its aligned variant."""
    aligned = aligned_variant.aligned_arguments(case.arguments) if variants else None
    return {case.name: case.arguments} | ({case.name + aligned_variant.SUFFIX: aligned} if aligned else {})


def _named(name: str, argument: Argument) -> Iterator[NamedArgument]:
    """An argument's parts: elements of a tuple are numbered, a list is the address of its table and its length."""
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
    """Write ``<case>.tilebc`` into ``out_dir`` (created if missing) for each case; the paths, in table order.

    Each file appears whole or not at all, and none appears if any case fails.
    """
    kernels = export_kernels(path, names, source_root=source_root)
    files = {Path(out_dir, f"{name}.tilebc"): data for name, data in kernels.items()}
    write_files(files)
    return list(files)


def _export(case: Case, row: CaseRow, path, variants: bool) -> bytes:
    from cuda.tile.compilation import CallingConvention, KernelSignature, export_kernel

    at_row, buffer = Location(os.fspath(path), row.line, row.column), io.BytesIO()
    with users_code(folder_of(path), at_row, f"case {case.name!r}: "):
        _check_arity(case, at_row)
        signatures = [
            KernelSignature(list(map(_make_constraint, arguments)), CallingConvention.cutile_python_v2(), symbol=symbol)
            for symbol, arguments in _kernels(case, variants).items()
        ]
        export_kernel(
            case.kernel,
            signatures,
            buffer,
            gpu_code=None,
            output_format="tileir_bytecode",
            bytecode_version=BYTECODE_VERSION,
        )
    return buffer.getvalue()


def _check_arity(case: Case, at_row: Location) -> None:
    function = getattr(case.kernel, "_pyfunc", None)  # no public attribute of cuda-tile has the function
    if function is None:
        found = type(case.kernel).__name__
        raise InvalidInput("export-cases", f"case {case.name!r}: a {found} is no @ct.kernel function", location=at_row)
    described, expected = len(case.arguments), function.__code__.co_argcount
    if described != expected:
        raise InvalidInput(
            "export-cases",
            f"case {case.name!r} describes {described} arguments of {function.__name__}, which has {expected}",
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
    "Array", "ArrayList", "Case", "Scalar", "export_file", "export_kernels", "export_point", "export_with_variants", "list_cases", "load_cases",
    "opened_cases", "opened_module", "pack_arguments", "python_error",
]  # fmt: skip
