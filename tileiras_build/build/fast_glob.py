"""``Glob`` of a folder with thousands of sources, at a fifth of its cost: one scan of the folder yields the file types.

SCons looks for each name twice and queries its type. Here the scan of the folder determines which names are plain files;
their nodes are created like SCons' own. Everything else (links, folders, variant directories, repositories) is left to SCons.
SCons sorts the nodes by name, and queries the type of each name again: this is skipped where it cannot change the result.
"""

from __future__ import annotations

import fnmatch

from SCons.Node.FS import Base, Dir, File

from .incremental.fs_queries import glob_match

_glob1, _get_str = Dir._glob1, Base._get_str
_UNSET = (("_local", False), ("released_target_info", False), ("builder", None))


class _PlainFile(File):
    """A file that the folder's scan reported as a plain file, as an entry for SCons' code that creates nodes."""

    __slots__ = ()

    def __init__(self, name: str, folder: Dir):
        Base.__init__(self, name, folder, folder.fs)
        for attribute, value in _UNSET:
            setattr(self, attribute, value)
        self._morph()


def install() -> None:
    """Replace SCons' scan of folders."""
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
    """SCons' ``Base._get_str``: the path of a node, or of its source if the node is a copy that does not exist."""
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
