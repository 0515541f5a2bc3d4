"""Which modules of the package import which, from the source text: function-level imports count too."""

import ast
from functools import cache
from pathlib import Path

from tileiras_build.pipeline.stages import PACKAGE
from tileiras_build.reports.sass import cycles


@cache
def module_files() -> dict[str, Path]:
    """Every module of the package, by dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = (PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports_of(module: str) -> frozenset[str]:
    """The package's modules that ``module`` imports or names as ``"module:function"``."""
    path = module_files()[module]
    found: set[str] = set()
    for node in _imports(module):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        else:
            base = _base(module, path, node)
            found.update((base, *(f"{base}.{alias.name}" for alias in node.names)))
    return frozenset(found & module_files().keys()) - {module, PACKAGE.name}


def _base(module: str, path: Path, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    parts = parts[: len(parts) - node.level + 1]
    return ".".join([*parts, node.module] if node.module else parts)


def closure(*modules: str) -> set[str]:
    """``modules`` and everything of the package that they need, directly or through each other."""
    seen, waiting = set(), [module for module in modules if module in module_files()]
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += imports_of(module)
    return seen


def needed_by(module: str) -> set[str]:
    """What a module needs when it runs, directly or through others: of ``from package import module`` the module alone."""
    seen, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += _needed_by(name)
    return seen - {module}


def is_type_only(module: str, imported: str) -> bool:
    """Whether ``module`` imports ``imported`` under ``if TYPE_CHECKING:`` only."""
    return imported in _type_only(module)


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(module_files()[module].read_bytes())


@cache
def _imports(module: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    return tuple(node for node in ast.walk(_tree(module)) if isinstance(node, (ast.Import, ast.ImportFrom)))


@cache
def _type_only(module: str) -> set[str]:
    """What the module imports from under ``if TYPE_CHECKING:``, and nowhere else."""
    path = module_files()[module]
    guarded = {
        inner
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
        if isinstance(inner, ast.ImportFrom)
    }
    froms = {node for node in _imports(module) if isinstance(node, ast.ImportFrom)}
    return {_base(module, path, node) for node in guarded} - {_base(module, path, node) for node in froms - guarded}


def circles() -> list[list[str]]:
    """The groups of modules that import one another in a circle, each sorted; imports for type checkers do not count."""
    names = sorted(module_files())
    numbers = {name: number for number, name in enumerate(names)}
    targets = [sorted(numbers[imported] for imported in _needed_by(name)) for name in names]
    return sorted(sorted(names[number] for number in circle) for circle in cycles(targets))


@cache
def _needed_by(module: str) -> set[str]:
    """What a module imports itself: of ``from package import module`` the module alone."""
    path, found = module_files()[module], set()
    for node in _imports(module):
        if isinstance(node, ast.ImportFrom) and not is_type_only(module, base := _base(module, path, node)):
            members = (f"{base}.{alias.name}" for alias in node.names)
            found |= {member if member in module_files() else base for member in members}
    return found & imports_of(module)
