"""``cuda.tile.jax`` on a GPU: XLA launches the kernels of a graph through cuTile's C code, with one thread per block.

An image of NVIDIA's tileiras contains its thread count; ours leave it to the launch. Therefore a kernel of a graph is refused
when the graph is traced, instead of a failure, or a run of NVIDIA's image, at launch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ...core.errors import Unsupported

MODULE, _COMPILES, _NAME = "cuda.tile.jax", "cuda.tile.jax._jax", "compile_kernel"
_own: Callable[..., Any] | None = None


def install(module: ModuleType) -> None:
    """Refuse kernels that JAX compiles through cuTile from now on."""
    global _own
    compiles = sys.modules.get(_COMPILES)
    if _own is None and hasattr(compiles, _NAME):
        _own = getattr(compiles, _NAME)
        setattr(compiles, _NAME, _refuse)


def remove() -> None:
    """Let cuTile compile them."""
    global _own
    if _own is not None:
        setattr(sys.modules[_COMPILES], _NAME, _own)
    _own = None


def _refuse(kernel: Any, constraints: object) -> None:
    name = kernel._annotated_function.pyfunc.__name__
    message = f"kernel {name} is inside a jitted JAX function, which XLA launches directly"
    remedy = "call ct.launch on JAX's arrays outside of jit, or call disable() before the function is traced"
    raise Unsupported("cutile-jax", message, remedy=remedy)
