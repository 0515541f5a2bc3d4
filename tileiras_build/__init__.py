"""tileiras_build: an open, build-system-integrated batch compiler for CUDA Tile IR.

    artifacts = tileiras_build.compile(bytecode, "sm_90")     # .tileaa .tileas .ll .ptx .cubin .manifest
    tileiras_build.emulator.launch(artifacts, entry, grid, params, memory=memory)

Importing the package loads none of the compiler: functions and subpackages are imported on first use.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of ``typing``, whose import takes longer than a command that a server answers
if TYPE_CHECKING:
    from .driver import Artifacts
    from .errors import InternalError, InvalidInput, TileirasError, Unsupported
    from .version import __version__

__all__ = ["InternalError", "InvalidInput", "TileirasError", "Unsupported", "__version__", "compile", "emulator"]

_SUBPACKAGES = frozenset({"bytecode", "checkers", "dialects", "driver", "emulator", "executor", "interpreter"}) | {
    "layouts", "libdevice", "pipeline", "reports", "runtime", "scons_tool", "targets",
}  # fmt: skip


def compile(
    bytecode: bytes,
    gpu_name: str,
    *,
    opt_level: int | str = 3,
    stop_at: str = "cubin",
    lineinfo: bool = False,
    debug: bool = False,
    libdevice: str | None = None,
    ptxas: str | None = None,
    name: str | None = None,
    serializer: str = "nvptx",
    strategy: str = "auto",
    **tuning: int,
) -> Artifacts:
    """Compile Tile IR bytecode for one GPU: see ``driver.compile``."""
    from . import driver

    return driver.compile(
        bytecode,
        gpu_name,
        opt_level=opt_level,
        stop_at=stop_at,
        lineinfo=lineinfo,
        debug=debug,
        libdevice=libdevice,
        ptxas=ptxas,
        name=name,
        serializer=serializer,
        strategy=strategy,
        **tuning,
    )


_MODULES = {"__version__": ".version"} | dict.fromkeys(
    ("InternalError", "InvalidInput", "TileirasError", "Unsupported"), ".errors"
)


def __getattr__(name: str):
    from importlib import import_module

    if name in _MODULES:
        return getattr(import_module(_MODULES[name], __name__), name)
    if name in _SUBPACKAGES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
