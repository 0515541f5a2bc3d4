"""Members of a library: one kernel, or kernels of one CUDA Tile C++ file, which are built together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..core.symbols.check_symbol_names import check_file_name

if TYPE_CHECKING:
    import SCons.Node.FS

    from ..target.targets import Target
    from .settings import Settings

TILECPP = ".cu"  # the suffix of CUDA Tile C++


@dataclass
class Kernel:
    """``origin`` is the source node, ``file`` the node of the user's file; ``bytecode`` returns the bytecode's node for a target.

    ``called`` are the names that match it in ``kernels=``, if it has others than ``name``.
    """

    name: str
    origin: object
    file: SCons.Node.FS.File
    bytecode: Callable[[Target, Settings], object]
    called: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that match it in ``kernels=``."""
        return self.called or (self.name,)


def stem(node, suffix: str) -> str:
    """The kernel that a file is named after; raises InvalidInput[kernel-name]."""
    found = node.name.removesuffix(suffix)
    check_file_name(found, str(node))
    return found


def is_tilecpp(node) -> bool:
    """Whether a source is a CUDA Tile C++ file."""
    return node.name.endswith(TILECPP)
