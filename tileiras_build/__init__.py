"""tileiras_build: an open, build-system-integrated batch compiler for CUDA Tile IR.

    artifacts = tileiras_build.compile(bytecode, "sm_90")     # .tileaa .tileas .ll .ptx .cubin .manifest
    tileiras_build.emulator.launch(artifacts, entry, grid, params, memory=memory)

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
    "bytecode.export": "frontend.export_cutile",
    "cases": "frontend.kernel_case_api",
    "command": "cli.main",
    "emulator": "simulate.emulator",
    "errors": "core.errors",
    "references": "verify",
    "runtime": "launch.runtime",
    "scons_tool": "build",
}
"""Import paths of programs, and the modules that they stand for: ``tileiras_build.runtime`` is ``tileiras_build.launch.runtime``."""


class _AliasFinder:
    """Finds a module by its name in ``ALIASES``, and by any name below that: the same module, never a second copy of it."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None):
        package, _, inner = name.partition(".")
        aliases = [alias for alias in ALIASES if inner == alias or inner.startswith(f"{alias}.")]
        if package != __name__ or not aliases:
            return None
        from importlib.util import spec_from_loader

        alias = max(aliases, key=len)
        return spec_from_loader(name, _AliasLoader(f"{__name__}.{ALIASES[alias]}{inner[len(alias) :]}"))


class _AliasLoader:
    def __init__(self, module: str):
        self.module = module

    def create_module(self, spec) -> None:
        return None  # an empty one, in whose place the module itself is put

    def exec_module(self, module) -> None:
        import sys
        from importlib import import_module

        sys.modules[module.__name__] = import_module(self.module)


def _offer_aliases() -> None:
    import sys

    sys.meta_path.insert(0, _AliasFinder)


_offer_aliases()


def __getattr__(name: str):
    from importlib import import_module

    if name in _MODULES:
        return getattr(import_module(_MODULES[name], __name__), name)
    if name in _SUBPACKAGES or name in ALIASES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
