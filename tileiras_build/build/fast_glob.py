"""``Glob`` of a folder with thousands of sources, at a fifth of its cost: one look at the folder says what its files are.

SCons looks for each name twice and asks the system what it is. Here the folder's own entries tell which names are
plain files; the nodes of those are made as SCons makes them in the end. All else (links, folders, variant directories,
repositories) is left to SCons. It sorts them by their names, and asks the system about each name again: that is left
where the answer changes nothing.
"""

from __future__ import annotations

import fnmatch

from SCons.Node.FS import Base, Dir, File

from .incremental.fs_queries import glob_match

_glob1, _get_str = Dir._glob1, Base._get_str
_UNSET = (("_local", False), ("released_target_info", False), ("builder", None))


class _PlainFile(File):
    """A file of which the folder has said that it is one. SCons' own code for new nodes asks for what it has not yet."""

    __slots__ = ()

    def __init__(self, name: str, folder: Dir):
        Base.__init__(self, name, folder, folder.fs)
        for attribute, value in _UNSET:
            setattr(self, attribute, value)
        self._morph()


def install() -> None:
    """From now on SCons looks into folders so."""
    Dir._glob1, Base._get_str = glob_folder, node_text


def glob_folder(folder: Dir, pattern: str, ondisk: bool = True, source: bool = False, strings: bool = False) -> list:
    """SCons' ``Dir._glob1``: the nodes, or names, in ``folder`` that match."""
    if not ondisk or strings or folder.get_all_rdirs() != [folder] or folder.srcdir_list():
        return _glob1(folder, pattern, ondisk, source, strings)
    for name, is_plain in _match(folder.get_abspath(), pattern):
        if is_plain and name not in folder.entries:
            _add_file(folder, name)
        else:
            folder.Entry(f"./{name}").disambiguate()
    names = fnmatch.filter((name for name in folder.entries if name not in (".", "..")), pattern)
    return [folder.entries[name] for name in names if pattern.startswith(".") or not name.startswith(".")]


def node_text(node: Base) -> str:
    """SCons' ``Base._get_str``: the path of a node, or of what it is a copy of, of which either may be there."""
    if node.duplicate or node.is_derived() or node.srcnode() is node:
        return node.get_path()
    return _get_str(node)


def _match(path: str, pattern: str) -> list[tuple[str, bool]]:
    try:
        return glob_match(path, pattern)
    except OSError:
        return []


def _add_file(folder: Dir, name: str) -> None:
    node = _PlainFile(name, folder)
    node.__class__ = File
    folder.root._lookupDict[f"{folder.get_labspath()}/{name}"] = folder.entries[name] = node
    folder.implicit = None
