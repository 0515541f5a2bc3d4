"""What a library is made of: one kernel, or kernels of one CUDA Tile C++ file, which are built together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..core.symbols.symbol_names import check_file_name

if TYPE_CHECKING:
    import SCons.Node.FS

    from ..target.targets import Target
    from .settings import Settings

TILECPP = ".cu"  # the suffix of CUDA Tile C++


@dataclass
class Kernel:
    """``origin`` is the node that it is made from, ``file`` that of the file that a person has written; ``bytecode`` gives the
    node of its bytecode for a target.

    ``called`` are the names by which ``kernels=`` may mean it, where it is more than ``name``.
    """

    name: str
    origin: object
    file: SCons.Node.FS.File
    bytecode: Callable[[Target, Settings], object]
    called: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Whatever ``kernels=`` may call it."""
        return self.called or (self.name,)


def stem(node, suffix: str) -> str:
    """The kernel that a file is named for; raises InvalidInput[kernel-name]."""
    found = node.name.removesuffix(suffix)
    check_file_name(found, str(node))
    return found


def is_tilecpp(node) -> bool:
    """Whether a source is a CUDA Tile C++ file."""
    return node.name.endswith(TILECPP)
