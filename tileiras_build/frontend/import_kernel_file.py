"""Import a kernel file as a module, anew each time, and leave ``sys.modules`` as it was.

Modules beside the file are imported anew as well, from their sources: a ``.pyc`` is checked by whole
seconds, and builds are faster. Files and folders that the import looks at are recorded (``core.tracing``).
"""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import os
import sys
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tileiras_build.core.errors import Location, safe_query
from tileiras_build.core.loaded_modules import loaded_modules
from tileiras_build.core.tracing.audit_hooks import tracer
from tileiras_build.frontend.cases_table_from_ast import imports_relatively, parse
from tileiras_build.frontend.users_errors import users_code

_own_package = __name__.partition(".")[0]
_FOLDER_PACKAGE = "tileiras_build_folder_of_kernels"  # the package name of a folder without __init__.py
_import_lock = threading.RLock()  # loading a file rearranges sys.modules


class _SourceLoader(importlib.machinery.SourceFileLoader):
    """Always compiles the source: a ``.pyc`` is checked by whole seconds, and builds are faster than that."""

    def get_code(self, fullname):
        return compile(self.get_data(self.path), self.path, "exec", dont_inherit=True)


class _SiblingFinder:
    """Finds modules beside the kernel file, as Python does for a script, except this package itself.

    Folders without an ``__init__.py`` are packages too, but come last: a second finder (``last``) finds those.
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
    """Whether ``path``, an entry of the package path of a module, is ``folder`` or that package in it.

    A virtual environment may be in the folder: its packages are not reloaded.
    """
    return path is not None and (path == folder or Path(path).is_relative_to(Path(folder, module.partition(".")[0])))


@contextmanager
def _isolated(folder: str):
    """Import modules beside the file afresh, and leave ``sys.modules`` as it was."""
    tracer().precede(folder)
    with tracer().untraced():
        hidden = {name: sys.modules.pop(name) for name in _shadowing_entry(folder)}
    before = loaded_modules()
    first, last = _SiblingFinder(folder), _SiblingFinder(folder, last=True)
    sys.meta_path.insert(0, first)
    sys.meta_path.append(last)
    try:
        yield
    finally:
        _forget_finders(first, last)
        # Paths of a namespace are looked up in its parent: test all before any is deleted.
        imported = [name for name in before.added() if _is_sibling(sys.modules[name], folder)]
        for name in imported:
            del sys.modules[name]
        sys.modules.update(hidden)


def _forget_finders(*finders: _SiblingFinder) -> None:
    """Remove the finders; the file may have removed them itself."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder not in finders]


def _shadowing_entry(folder: str) -> list[str]:
    """The loaded modules that a script in ``folder`` would import from there. A folder without an ``__init__.py`` shadows none."""
    with os.scandir(folder) as entries:
        is_folder = {entry.name: _is_folder(entry) for entry in entries}
    folders = [name for name in is_folder if is_folder[name]]
    packages = {name for name in folders if os.path.isfile(os.path.join(folder, name, "__init__.py"))}
    files = {name.removesuffix(".py") for name in is_folder if name.endswith(".py")}
    first = (files | packages) - {_own_package}
    last = set(folders) - first
    if not any(name in sys.modules for name in is_folder.keys() | first):
        return []  # without a look at all modules: a fork copies the memory of what it looks at
    tops = {name: name.partition(".")[0] for name in sys.modules}
    return [
        name for name, top in tops.items() if top in first or top in last and _is_sibling(sys.modules[name], folder)
    ]


def _is_folder(entry: os.DirEntry) -> bool:
    """Whether it is a folder; False for a cyclic link."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_sibling(module: types.ModuleType, folder: str) -> bool:
    """Whether it was imported from the folder. A file may put any object into sys.modules, whose attributes may raise."""
    return bool(safe_query(_is_in_folder, module, folder))


def _is_in_folder(module: types.ModuleType, folder: str) -> bool:
    if isinstance(getattr(module, "__loader__", None), _SourceLoader):
        return True
    is_namespace = getattr(module, "__file__", None) is None
    paths = list(getattr(module, "__path__", ())) if is_namespace else []
    return any(_is_reloadable_module(module.__name__, path, folder) for path in paths)


@contextmanager
def opened_module(path: str | os.PathLike, tree: ast.Module | None = None) -> Iterator[types.ModuleType]:
    """The file as a module, imported anew; inside the block its functions may import modules beside it.

    ``tree`` is its syntax tree, where the caller has it.
    Raises InvalidInput[export] naming the Python line where the import fails, [export-no-cutile] without cuda-tile.
    """
    folder, file_name = folder_of(path), os.path.basename(path)
    name = file_name.removesuffix(".py")
    package, top = _package_of(folder) if imports_relatively(tree or parse(path)) else ("", folder)
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
            os.chdir(before)  # the file may have changed the working folder
        yield module


def _package_of(folder: str) -> tuple[str, str]:
    """The package name of a folder, and the folder to find it in; a name of our own without an ``__init__.py``."""
    names, top = [], folder
    while os.path.isfile(os.path.join(top, "__init__.py")):
        top, name = os.path.split(top)
        names.append(name)
    return (".".join(reversed(names)), top) if names else (_FOLDER_PACKAGE, folder)


@contextmanager
def _as_package(package: str, top: str, folder: str):
    """Import the modules of ``folder`` as those of ``package``, found in ``top``."""
    if not package:
        yield
        return
    root = package.partition(".")[0]
    finder = _SiblingFinder(top)
    if package == _FOLDER_PACKAGE:
        imported = types.ModuleType(package)
        imported.__path__ = [folder]
        sys.modules[package] = imported
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        _forget_finders(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] == root]:
            del sys.modules[name]


def folder_of(path: str | os.PathLike) -> str:
    """The folder that the file is in, links resolved."""
    return os.path.dirname(os.path.realpath(path))
