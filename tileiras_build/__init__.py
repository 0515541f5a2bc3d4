"""tileiras_build: an open, build-system-integrated batch compiler for CUDA Tile IR.

    artifacts = tileiras_build.compile(bytecode, "sm_90")     # .tileaa .tileas .ll .ptx .cubin .manifest
    tileiras_build.simulate.emulator.launch(artifacts, entry, grid, params, memory=memory)

Importing the package loads none of the compiler: functions and subpackages are imported on first use.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of ``typing``, whose import takes longer than a command that a server answers
if TYPE_CHECKING:
    from .core.errors import InternalError, InvalidInput, TileirasError, Unsupported
    from .core.version import __version__
    from .driver import Artifacts, compile

__all__ = ["InternalError", "InvalidInput", "TileirasError", "Unsupported", "__version__", "compile", "emulator"]

_SUBPACKAGES = frozenset(
    {"core", "driver", "frontend", "ir", "launch", "libdevice", "pipeline", "reports", "simulate", "target"}
)
_MODULES = {"__version__": ".core.version", "compile": ".driver"} | dict.fromkeys(
    ("InternalError", "InvalidInput", "TileirasError", "Unsupported"), ".core.errors"
)
ALIASES = {
    "bytecode": "ir.bytecode",
    "bytecode.case": "frontend.kernel_case",
    "bytecode.export": "frontend.export_cutile",
    "cases": "frontend.cases_api",
    "command": "cli.main",
    "cutile.reports": "cutile.kernel_fault_report",
    "emulator": "simulate.emulator",
    "errors": "core.errors",
    "references": "verify",
    "runtime": "launch.runtime",
    "runtime.arguments": "launch.runtime.pack_arguments",
    "runtime.library": "launch.runtime.kernel_library",
    "scons_tool": "build",
    "targets": "target.targets",
}
"""Former import paths -> present ones: ``tileiras_build.runtime`` is ``tileiras_build.launch.runtime``."""


class _AliasFinder:
    """Finds a module by its name in ``ALIASES``, or by a name below one: the same module object, never a second copy."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None):
        """The spec of the module that ``name`` is an alias of; None for any other name."""
        package, _, inner = name.partition(".")
        if package != __name__ or (present := _resolve_alias(inner)) is None:
            return None
        from importlib.util import spec_from_loader

        return spec_from_loader(name, _AliasLoader(f"{__name__}.{present}"))  # type: ignore[arg-type]


class _AliasLoader:
    """Loads the module called ``module`` under another name."""

    def __init__(self, module: str):
        self.module = module

    def create_module(self, spec) -> None:
        """None: Python creates an empty module, which ``exec_module`` replaces."""
        return None

    def exec_module(self, module) -> None:
        """Put the real module in the place of the empty one, and those below it that are loaded in theirs.

        Python binds a module that it finds in its package. The package may have given that name to a function meanwhile.
        """
        import sys
        from importlib import import_module

        sys.modules[module.__name__] = present = import_module(self.module)
        for name, found in list(sys.modules.items()) if hasattr(present, "__path__") else ():
            if name.startswith(f"{self.module}."):
                sys.modules.setdefault(module.__name__ + name[len(self.module) :], found)


def _resolve_alias(inner: str) -> str | None:
    """The present path of a former one, both without the package's name; the longest alias wins."""
    head, rest = inner, ""
    while head:
        if head in ALIASES:
            return ALIASES[head] + rest
        head, _, last = head.rpartition(".")
        rest = f".{last}{rest}"
    return None


def _install_alias_finder() -> None:
    import sys

    sys.meta_path.insert(0, _AliasFinder)


_install_alias_finder()


def __getattr__(name: str):
    from importlib import import_module

    if name in _MODULES:
        return getattr(import_module(_MODULES[name], __name__), name)
    if name in _SUBPACKAGES or name in ALIASES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
