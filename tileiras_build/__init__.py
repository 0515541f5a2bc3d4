"""tileiras_build: an open, build-system-integrated batch compiler for CUDA Tile IR.

    artifacts = tileiras_build.compile(bytecode, "sm_90")     # .tileaa .tileas .ll .ptx .cubin .manifest
    tileiras_build.emulator.launch(artifacts, entry, grid, params, memory=memory)

Importing the package loads none of the compiler: functions and subpackages are imported on first use.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of ``typing``, whose import takes longer than a command that a server answers
if TYPE_CHECKING:
    from .driver import Artifacts, compile
    from .errors import InternalError, InvalidInput, TileirasError, Unsupported
    from .version import __version__

__all__ = ["InternalError", "InvalidInput", "TileirasError", "Unsupported", "__version__", "compile", "emulator"]

_SUBPACKAGES = frozenset({"bytecode", "checkers", "dialects", "driver", "emulator", "executor", "interpreter"}) | {
    "layouts", "libdevice", "pipeline", "reports", "runtime", "scons_tool", "targets",
}  # fmt: skip


_MODULES = {"__version__": ".version", "compile": ".driver"} | dict.fromkeys(
    ("InternalError", "InvalidInput", "TileirasError", "Unsupported"), ".errors"
)


def __getattr__(name: str):
    from importlib import import_module

    if name in _MODULES:
        return getattr(import_module(_MODULES[name], __name__), name)
    if name in _SUBPACKAGES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
