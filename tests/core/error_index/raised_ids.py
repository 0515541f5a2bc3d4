"""The ids of errors that the package's code raises, from its source text."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tests.meta.import_graph import module_files
from tileiras_build.core.file_io import _READ_FAULTS
from tileiras_build.core.symbols.check_symbol_names import FUNCTION, GLOBAL, KERNEL
from tileiras_build.core.warning_classes import WARNINGS
from tileiras_build.launch.runtime.pack_arguments import _REMEDIES
from tileiras_build.pipeline.stages import STAGES
from tileiras_build.pipeline.verifiers.cp_async_buffers import _Run
from tileiras_build.pipeline.verifiers.partition_interpreter import PartitionInterpreter
from tileiras_build.simulate.emulator.errors import KINDS
from tileiras_build.verify.reference_launch import IDS

PARAMETERS = ("id", "error_id")  # parameters that are ids
# Expressions for ids that are computed, and their values.
COMPUTED = {
    "f'kernel-{error.kind}'": {f"kernel-{kind}" for kind in KINDS},
    "f'{source.name}-text'": {f"{stage.name}-text" for stage in STAGES[1:-1]},
    "f'launch-{param.role}'": {f"launch-{role}" for role in _REMEDIES},
    "f'{kind}-name'": {f"{kind}-name" for kind in (KERNEL, GLOBAL, FUNCTION)},
    "f'{KERNEL}-name'": {f"{KERNEL}-name"},
    "f'{KERNEL_NAME}-name'": {f"{KERNEL}-name"},
    "f'{GLOBAL_NAME}-name'": {f"{GLOBAL}-name"},
    "self.error_id": {_Run.error_id, PartitionInterpreter.error_id},
    "row.name": {*WARNINGS},
    "id of file_io": {id for id, _ in _READ_FAULTS.values()} | {"file-unreadable"},
    "id of reference_launch": {*IDS.values()},
}
_PASSED_ON = ("error.id", "located.id", "one.id")


class Raised(NamedTuple):
    """One place that makes an error: the expression of its id, and the class or function that is called."""

    module: str
    id: ast.expr
    callee: str


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


@cache
def trees() -> dict[str, ast.Module]:
    return {name: ast.parse(path.read_text()) for name, path in module_files().items()}


@cache
def _walked() -> dict[str, list[ast.AST]]:
    """The nodes of each module that anything here asks for."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.Call)
    return {module: [node for node in ast.walk(tree) if isinstance(node, kinds)] for module, tree in trees().items()}


def _nodes(kind: type) -> Iterator[tuple[str, ast.AST]]:
    return ((module, node) for module, nodes in _walked().items() for node in nodes if isinstance(node, kind))


@cache
def error_classes() -> frozenset[str]:
    """TileirasError and every class that inherits from it."""
    bases = [(node.name, set(map(_name, node.bases))) for _, node in _nodes(ast.ClassDef)]
    found = {"TileirasError"}
    while more := {name for name, parents in bases if parents & found} - found:
        found |= more
    return frozenset(found - {"ErrorGroup"})


@cache
def classes_with_an_id() -> frozenset[str]:
    """The classes of errors whose constructor takes no id."""
    classes = [node for _, node in _nodes(ast.ClassDef) if node.name in error_classes() - {"TileirasError"}]
    inits = [(node, one) for node in classes for one in node.body if isinstance(one, ast.FunctionDef)]
    return frozenset(node.name for node, one in inits if one.name == "__init__" and "id" not in _positional(one))


def _positional(function: ast.FunctionDef) -> list[str]:
    names = [argument.arg for argument in function.args.posonlyargs + function.args.args]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


class Helper(NamedTuple):
    """A function with an id among its parameters: the id's position (None: keyword-only), and how many arguments a call has at least."""

    module: str
    place: int | None
    required: int


@cache
def helpers() -> dict[str, list[Helper]]:
    """The functions that take an id, by name."""
    found: dict[str, list[Helper]] = defaultdict(list)
    for module, function in _nodes(ast.FunctionDef):
        names = _positional(function)
        keywords = [argument.arg for argument in function.args.kwonlyargs]
        if function.name != "__init__" and set(PARAMETERS) & {*names, *keywords}:
            place = next((names.index(name) for name in PARAMETERS if name in names), None)
            found[function.name].append(Helper(module, place, len(names) - len(function.args.defaults)))
    return found


def _helper(module: str, call: ast.Call) -> Helper | None:
    """The helper that a call calls: of two functions with one name, a private one is the module's own."""
    name, count = _name(call.func), len(call.args) + len(call.keywords)
    found = [one for one in helpers().get(name, ()) if one.required <= count]
    return next((one for one in found if one.module == module or not name.startswith("_")), None)


def _id_of(module: str, call: ast.Call) -> ast.expr | None:
    """The expression of the id in a call that makes an error; None for other calls."""
    place: int | None = 0
    if _name(call.func) in classes_with_an_id():
        return None
    if _name(call.func) not in error_classes():
        if (helper := _helper(module, call)) is None:
            return None
        place = helper.place
    given = next((one.value for one in call.keywords if one.arg in PARAMETERS), None)
    return given if given is not None or place is None or place >= len(call.args) else call.args[place]


def _is_super(call: ast.Call) -> bool:
    """Whether a class of errors gives its id to TileirasError."""
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func) == "super().__init__"


def _error_constructors(module: str) -> set[int]:
    """The calls of ``super().__init__`` in classes of errors, by identity."""
    classes = [one for one in _walked()[module] if isinstance(one, ast.ClassDef) and one.name in error_classes()]
    return {id(node) for one in classes for node in ast.walk(one) if isinstance(node, ast.Call) and _is_super(node)}


def raised() -> Iterator[Raised]:
    """Every place that makes an error or a remark with an id."""
    for module in trees():
        constructors = _error_constructors(module)
        for node in _walked()[module]:
            if isinstance(node, ast.FunctionDef):
                yield from (Raised(module, default, "") for default in _defaults(node))
            if not isinstance(node, ast.Call):
                continue
            if id(node) in constructors and node.args:
                yield Raised(module, node.args[0], "InternalError")
            elif (found := _id_of(module, node)) is not None:
                yield from (Raised(module, one, _name(node.func)) for one in _choices(found))


def _defaults(function: ast.FunctionDef) -> Iterator[ast.expr]:
    given = function.args
    both = zip(reversed(given.posonlyargs + given.args), reversed(given.defaults))
    pairs = [*both, *zip(given.kwonlyargs, given.kw_defaults)]
    return (default for argument, default in pairs if argument.arg in PARAMETERS and default is not None)


def _choices(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.IfExp):
        yield from (*_choices(node.body), *_choices(node.orelse))
    else:
        yield node


@cache
def ids() -> dict[str, set[str]]:
    """Every id, and the classes and functions that make it. Raises AssertionError for an id that is computed and not in COMPUTED."""
    found: dict[str, set[str]] = defaultdict(set)
    for one in raised():
        for name in _values(one):
            found[name].add(one.callee)
    return found


def _values(one: Raised) -> set[str]:
    if isinstance(one.id, ast.Constant):
        return {one.id.value} if isinstance(one.id.value, str) else set()
    text = ast.unparse(one.id)
    if text == "id":
        return COMPUTED.get(f"id of {one.module.rpartition('.')[2]}", set())
    if text in _PASSED_ON or one.callee not in error_classes() and not isinstance(one.id, ast.JoinedStr):
        return set()
    assert text in COMPUTED, f"{one.module}: add the values of {text} to COMPUTED"
    return COMPUTED[text]
