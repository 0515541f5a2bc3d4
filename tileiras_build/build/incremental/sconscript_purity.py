"""Finds uses in the code of build scripts that no event reports, by syntax.

``sconscript_trace.py`` traces files, folders, programs and connections. Reads of a clock, random numbers, a terminal, the
process itself or C code are not reported, so scripts that use any name not listed here have no null build.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_OWN = ("SCons", "tileiras_build")
# Modules of the standard library that depend on the world only through traced files, folders and programs, or through
# what is part of a record's key (the environment, the machine's name and system).
_MODULES = frozenset(
    """
    __future__ abc array ast base64 binascii bisect bz2 cmath codecs collections configparser contextlib copy csv
    dataclasses decimal difflib enum errno filecmp fnmatch fractions functools glob graphlib hashlib heapq html io
    itertools json keyword linecache lzma math numbers ntpath operator os pathlib platform
    posixpath re shlex shutil stat string struct subprocess sys sysconfig tarfile textwrap
    tokenize tomllib typing unicodedata warnings xml zipfile zlib
    """.split()
)
_MORE_MODULES = frozenset(("collections.abc", "os.path", "urllib.parse", "importlib.resources"))
_OS = frozenset(
    """
    F_OK O_RDONLY PathLike R_OK SEEK_CUR SEEK_END SEEK_SET W_OK X_OK DirEntry access altsep chdir chmod chown close
    cpu_count curdir defpath devnull environ environb error extsep fsdecode fsencode fspath get_exec_path
    getcwd getcwdb getegid getenv getenvb geteuid getgid getgroups getuid linesep link listdir lstat makedirs mkdir name
    open pardir path pathsep popen readlink remove removedirs rename renames replace rmdir scandir sep stat
    stat_result strerror symlink system truncate uname unlink utime walk write
    """.split()
)
_SYS = frozenset(
    """
    argv base_exec_prefix base_prefix byteorder dont_write_bytecode exc_info exec_prefix executable exit
    flags float_info getdefaultencoding getfilesystemencoding getsizeof hash_info hexversion implementation int_info
    intern maxsize maxunicode path platform prefix pycache_prefix stderr stdlib_module_names stdout version version_info
    """.split()
)
_ALLOWED = {"os": _OS, "sys": _SYS}
_NAMES = frozenset(
    "__builtins__ __import__ __loader__ __spec__ breakpoint compile eval exec globals hash id input locals vars".split()
)
# Including the modules through which a listed module gives access to more: ``zipfile.time``, ``shutil.os``.
_ATTRIBUTES = frozenset(
    """
    __builtins__ __class__ __dict__ __getattribute__ __globals__ __hash__ __loader__ __self__ __spec__ __subclasses__ disk_usage get_terminal_size
    attrgetter methodcaller owner writestr getatime isatty node os posix st_atime st_atime_ns start_time stdin sys f_back gi_frame tb_frame
    _random _socket _thread _time asyncio builtins calendar concurrent ctypes datetime email gc getpass http importlib
    inspect locale logging multiprocessing pickle random resource runpy sched secrets select selectors signal socket
    statistics tempfile threading time timeit uuid
    """.split()
)
# Results that do not depend on the order of a set.
_ORDERLESS = frozenset("all any bool frozenset issubset issuperset isdisjoint len max min set sorted sum".split())
_SETS = frozenset(("frozenset", "set"))
# Methods of sets that make sets, and of dictionaries whose results do so by operators.
_SET_METHODS = frozenset(("difference", "intersection", "symmetric_difference", "union"))
_VIEWS = frozenset(("items", "keys"))
_SET_OPERATORS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Sub)
_CLASS_QUESTIONS = frozenset(("isinstance", "issubclass"))
_NODE_STATES = frozenset(("get_size", "get_timestamp", "getmtime", "getsize"))  # of nodes; those of os.path are traced
_STATS = frozenset(("stat", "lstat", "rstat"))
_ACTING = (ast.Attribute, ast.Call, ast.Await, ast.Subscript)
_TOOLS = ("default", "tileiras")
_COMMAND_LINE = frozenset(("GetOption", "argv"))


@dataclass
class ScriptEffects:
    """The effects of the code of ``files``: ``untraceable`` is the first use that no event reports, with its location.

    ``reads_command_line``: it may read options that otherwise have no effect, such as the number of jobs.
    ``reads_node_stats``: it may read the stat of a node's file, which SCons itself also reads.
    """

    untraceable: str | None = None
    reads_command_line: bool = False
    reads_node_stats: bool = False

    @classmethod
    def of(cls, files: Iterable[str]) -> ScriptEffects:
        """Analyze ``files``, the sources of build scripts and of their imports."""
        code = cls()
        for path in sorted(files):
            code._read(path)
        return code

    def _read(self, path: str) -> None:
        try:
            tree = parse(path)
        except (OSError, SyntaxError, ValueError):
            self.untraceable = self.untraceable or f"{path} is not Python source"
            return
        self.untraceable = self.untraceable or next(
            (f"{path}:{line} uses set iteration order" for line in _ordered_sets(tree)), None
        )
        words = {word for node in ast.walk(tree) for word in (getattr(node, "id", None), getattr(node, "attr", None))}
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
        self.reads_command_line |= not _COMMAND_LINE.isdisjoint(words | imported)
        self.reads_node_stats |= any(map(_reads_node_stat, ast.walk(tree)))
        self.untraceable = self.untraceable or next(
            (f"{path}:{line} uses {what}" for line, what in _untraced_uses(tree)), None
        )


def _ordered_sets(tree: ast.Module) -> Iterator[int]:
    """The lines where code may depend on the order of a set of strings, which differs between processes."""
    parents = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if _is_set(node) and not _is_orderless(node, parents) or _gives_class_of_sets(node):
            yield getattr(node, "lineno", 0)


def _is_set(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            return node.func.attr in _SET_METHODS
        return isinstance(node.func, ast.Name) and node.func.id in _SETS
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, _SET_OPERATORS) and (_is_view(node.left) or _is_view(node.right))
    return isinstance(node, ast.Set | ast.SetComp)


def _is_view(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS


def _gives_class_of_sets(node: ast.AST) -> bool:
    """Whether the class is passed to other code that makes sets: ``defaultdict(set)``, ``map(set, …)``."""
    if not isinstance(node, ast.Call) or _name_of(node.func) in _CLASS_QUESTIONS:
        return False
    given = (*node.args, *(keyword.value for keyword in node.keywords))
    return any(isinstance(value, ast.Name) and value.id in _SETS for value in given)


def _is_orderless(node: ast.AST, parents: dict[int, ast.AST]) -> bool:
    """Whether the direct use of a set ignores the order: a membership test, another set, ``sorted`` and so on."""
    parent = parents.get(id(node))
    if isinstance(parent, ast.BinOp):
        return _is_orderless(parent, parents)
    if isinstance(parent, ast.Compare):
        return True
    if isinstance(parent, ast.Attribute):
        return parent.attr in _ORDERLESS | _SET_METHODS
    if isinstance(parent, ast.If | ast.IfExp | ast.While):
        return node is parent.test
    if not isinstance(parent, ast.Call):
        return False
    has_key = any(keyword.arg == "key" for keyword in parent.keywords)  # elements with equal keys stay in order
    return node in parent.args and not has_key and _name_of(parent.func) in _ORDERLESS | _SET_METHODS


def _name_of(function: ast.expr) -> str | None:
    return getattr(function, "id", None) or getattr(function, "attr", None)


def _reads_node_stat(node: ast.AST) -> bool:
    """Whether the stat of something other than ``os`` is read."""
    if not isinstance(node, ast.Attribute) or node.attr not in _STATS:
        return False
    return not (isinstance(node.value, ast.Name) and node.value.id == "os")


def parse(path: str) -> ast.Module:
    """The syntax tree of a Python file."""
    with open(path, "rb") as stream:
        return ast.parse(stream.read(), path)


def _untraced_uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of everything that is not known to be traced."""
    modules = dict(filter(None, map(_binding, _aliases(tree))))
    plain = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_plain_getattr(node)}
    bases = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found = _imported(node)
        elif isinstance(node, ast.Attribute):
            found = _attribute(node, modules)
        elif isinstance(node, ast.Name):
            # Code that receives a whole module may use any of its names.
            passed = node.id in modules and id(node) not in bases and isinstance(node.ctx, ast.Load)
            is_open = node.id == "getattr" and id(node) not in plain
            found = node.id if node.id in _NAMES or passed or is_open else None
        else:
            continue
        if found:
            yield node.lineno, found


def _is_plain_getattr(node: ast.AST) -> bool:
    """Whether it reads an attribute whose name is a literal, and which is traced."""
    if not isinstance(node, ast.Call) or getattr(node.func, "id", None) != "getattr" or len(node.args) < 2:
        return False
    return isinstance(name := node.args[1], ast.Constant) and name.value not in _ATTRIBUTES | _NODE_STATES


def _aliases(tree: ast.Module) -> Iterator[ast.alias]:
    return (alias for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names)


def _binding(alias: ast.alias) -> tuple[str, str] | None:
    """The name that is bound to a module of _ALLOWED by the import, and that module."""
    module = alias.name if alias.asname else alias.name.partition(".")[0]
    return (alias.asname or module, module) if module in _ALLOWED else None


def _imported(node: ast.Import | ast.ImportFrom) -> str | None:
    if isinstance(node, ast.Import):
        return next((alias.name for alias in node.names if not _is_traced(alias.name)), None)
    if node.level or node.module is None:
        return None
    allowed = _ALLOWED.get(node.module)
    names = [alias.name for alias in node.names]
    if allowed is not None:
        return next((f"{node.module}.{name}" for name in names if name not in allowed), None)
    if _is_traced(node.module):
        return next((f"{node.module}.{name}" for name in names if name in _ATTRIBUTES), None)
    return next((f"{node.module}.{name}" for name in names if not _is_traced(f"{node.module}.{name}")), None)


def _is_traced(name: str) -> bool:
    """Whether a module is traced, or is not of the standard library: the code of all others is analyzed itself."""
    top = name.partition(".")[0]
    return top not in sys.stdlib_module_names or top in _MODULES or name in _MORE_MODULES


def _attribute(node: ast.Attribute, modules: dict[str, str]) -> str | None:
    base = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", None)
    allowed = _ALLOWED.get(modules.get(node.value.id, "")) if isinstance(node.value, ast.Name) else None
    if allowed is not None:
        return None if node.attr in allowed else f"{base}.{node.attr}"
    if node.attr in _ATTRIBUTES or node.attr in _NODE_STATES and base not in ("path", "posixpath"):
        return node.attr
    return None


def untraced_prologue(path: str, line: int | None = None) -> str | None:
    """The first statement before ``line`` (None: of the whole file) that is more than an import of known modules, or None.

    The statement at ``line`` imports this package, or creates an environment with its tool.
    """
    for statement in parse(path).body:
        if line is not None and statement.lineno > line:
            break
        is_before = line is None or (statement.end_lineno or statement.lineno) < line
        if not (_has_no_effect(statement) or not is_before and _is_way_to_tool(statement)):
            return f"{path}:{statement.lineno} runs code before tileiras_build is imported"
    return None


def _is_way_to_tool(statement: ast.stmt) -> bool:
    """Whether it does nothing else before it imports this package; the files on the way are analyzed themselves.

    The ``__init__`` of a package, or another tool, would already have run.
    """
    if isinstance(statement, ast.Import):
        return len(statement.names) == 1 and "." not in statement.names[0].name
    if not isinstance(statement, ast.Assign | ast.Expr) or not isinstance(call := statement.value, ast.Call):
        return False
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    tools = [value for value in values if isinstance(value, ast.List)]
    return (
        isinstance(call.func, ast.Name)
        and not any(isinstance(part, _ACTING) for value in values for part in ast.walk(value))
        and all(getattr(tool, "value", None) in _TOOLS for value in tools for tool in value.elts)
        and all(keyword.arg != "toolpath" for keyword in call.keywords)
    )


def _has_no_effect(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Import):
        return all(_is_known_module(alias.name) for alias in statement.names)
    if isinstance(statement, ast.ImportFrom):
        # A function of os that is bound before it is patched stays untraced.
        return statement.level == 0 and _is_known_module(statement.module or "") and statement.module != "os"
    if isinstance(statement, (ast.Assign, ast.Expr)):
        return not any(isinstance(part, _ACTING) for part in ast.walk(statement))
    return False


def _is_known_module(name: str) -> bool:
    """A module that reads nothing but itself when it is imported."""
    top = name.partition(".")[0]
    return top in sys.stdlib_module_names or top in _OWN
