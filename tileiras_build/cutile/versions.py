"""VERSIONS: what this package asks of each release of cuda-tile, and ``Cutile``, through which alone it asks.

cuTile has no public interface for what takes the place of its compiler and its launcher. All of its names that are used here are
in this file and in ``patching.py``; ``tests/cutile/`` runs them with every release that it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput, Unsupported

if TYPE_CHECKING:
    from types import ModuleType

PACKAGE = "cuda-tile"
INSTALL = "pip install 'cuda-tile==1.7.0'"


@dataclass(frozen=True)
class Version:
    """A release: ``release`` is "1.7" of 1.7.x, ``bytecode`` the newest version that it writes and calls released,
    ``convention`` the newest calling convention (a static method of CallingConvention)."""

    release: str
    bytecode: str
    convention: str


VERSIONS: tuple[Version, ...] = (
    Version("1.3", "13.2", "cutile_python_v1"),
    Version("1.4", "13.3", "cutile_python_v1"),
    Version("1.5", "13.3", "cutile_python_v2"),
    Version("1.6", "13.4", "cutile_python_v2"),
    Version("1.7", "13.4", "cutile_python_v2"),
)


def installed_version() -> Version:
    """The row of the installed cuda-tile; raises InvalidInput[cutile-missing] or Unsupported[cutile-version]."""
    try:
        found = version(PACKAGE)
    except PackageNotFoundError:
        raise InvalidInput("cutile-missing", f"{PACKAGE} is not installed", remedy=INSTALL) from None
    for row in VERSIONS:
        if found == row.release or found.startswith(f"{row.release}."):
            return row
    known = f"{VERSIONS[0].release} to {VERSIONS[-1].release}"
    message = f"{PACKAGE} {found} is installed, and its kernels can be taken over of {known} only"
    raise Unsupported("cutile-version", message, remedy=INSTALL)


@dataclass(frozen=True)
class Exported:
    """A kernel as bytecode: ``data``, and the entry point's name in it."""

    data: bytes
    entry: str


class Cutile:
    """The installed cuda-tile."""

    def __init__(self) -> None:
        self.row = installed_version()
        self.compile = self._module("_compile")
        self.signatures = self._module("compilation._signature")
        convention = getattr(self._module("_cext").CallingConvention, self.row.convention)
        self._convention = convention()
        self._bytecode_version = self.compile.parse_bytecode_version(self.row.bytecode)

    def _module(self, name: str) -> ModuleType:
        try:
            return import_module(f"cuda.tile.{name}")
        except ImportError as error:
            message = f"{PACKAGE} cannot be imported: {error}"
            raise InvalidInput("cutile-missing", message, remedy=INSTALL) from None

    def signature(self, kernel: Any, shown: tuple[object, ...]) -> Any:
        """The KernelSignature of a launch of ``kernel`` with these arguments, exactly as cuTile's own launcher sees it."""
        return self.signatures.KernelSignature.from_kernel_args(kernel, shown, self._convention)

    def export(self, kernel: Any, signature: Any, target: str) -> Exported:
        """The bytecode of a kernel; raises what cuTile's front end raises."""
        made = self.compile.compile_tile(
            kernel._annotated_function, (signature,), target, kernel._compiler_options,
            bytecode_version=self._bytecode_version, return_bytecode=True, return_cubin=False,
        )  # fmt: skip
        return Exported(bytes(made.bytecode), made.kernel_signatures[0].symbol)

    def opt_level(self, kernel: Any, target: str) -> int:
        """The optimization level that the kernel asks for on a target."""
        options = kernel._compiler_options
        if hasattr(options, "opt_level_for_target"):
            return options.opt_level_for_target(target)
        level = options.opt_level
        by_target = getattr(level, "_by_target", None)
        if by_target is None:
            return level
        found = by_target.get(target, level._default)
        return found if isinstance(found, int) else type(options).__dataclass_fields__["opt_level"].default

    def parameter_names(self, kernel: Any) -> Sequence[str]:
        """What the Python function calls its parameters."""
        code = kernel._pyfunc.__code__
        return code.co_varnames[: code.co_argcount]
