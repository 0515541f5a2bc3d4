"""``cuda.tile.jax``: kernels in JAX graphs on the CPU, launched by a callback of the graph."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from ...target.targets import Target
from .. import launch_hook

PRIMITIVE = "cutile_call_ffi_p"


def install(target: Target, module: ModuleType) -> None:
    """Give cuTile's primitive a lowering for the platform "cpu"; cuTile has one for "cuda" only."""
    primitive = getattr(sys.modules.get("cuda.tile.jax._jax"), PRIMITIVE, None)
    if primitive is None:
        return
    from jax.interpreters import mlir

    mlir.register_lowering(primitive, mlir.lower_fun(_call, multiple_results=True), platform="cpu")


def remove() -> None:
    """Keep the lowering: without a device of ours, cuTile's own launch reports the error."""


def _call(
    *inputs: Any,
    kernel: Any,
    grid: tuple[int, int, int],
    output_shape_dtypes: Any,
    constants: tuple,
    scalars: tuple,
    roles: tuple,
    alias_group: Any,
) -> list[Any]:
    """The outputs of a launch in a graph. Raises cuTile's compilation errors when the graph is traced, as on a GPU, because JAX
    replaces the exceptions of a callback.
    """
    import cuda.tile
    import jax

    def values(arrays: list[np.ndarray], made: list[np.ndarray]) -> tuple[object, ...]:
        arguments = _Arguments(arrays, made, constants, scalars)
        return tuple(arguments.value(role) for role in roles)

    def launch(*arrays: Any) -> list[np.ndarray]:
        made = [np.zeros(out.shape, out.dtype) for out in output_shape_dtypes]
        cuda.tile.launch(0, grid, kernel, values([np.asarray(array) for array in arrays], made))
        return made

    if launch_hook.session is not None:
        launch_hook.session.compile(kernel, values(_like(inputs), _like(output_shape_dtypes)))
    return jax.pure_callback(launch, list(output_shape_dtypes), *inputs)


def _like(described: Iterable[Any]) -> list[np.ndarray]:
    """Arrays of these shapes and element types, whose pages are never touched."""
    return [np.empty(array.shape, array.dtype) for array in described]


class _Arguments:
    """Returns the arguments of a launch in order, by cuTile's roles."""

    def __init__(self, arrays: list[np.ndarray], made: list[np.ndarray], constants: tuple, scalars: tuple):
        self._arrays, self._made = iter(arrays), iter(made)
        self._constants, self._scalars = iter(constants), iter(scalars)

    def value(self, role: Any) -> Any:
        """The next argument of a role: "i" an input, "o" an output, "io" both, "s" and "c" scalars, or a tuple of these."""
        if isinstance(role, tuple):
            return tuple(self.value(part) for part in role)
        sources: dict[str, Iterator[Any]] = {
            "i": self._arrays, "o": self._made, "s": self._scalars, "c": self._constants,
        }  # fmt: skip
        if role in sources:
            return next(sources[role])
        target = next(self._made)
        target[...] = next(self._arrays)
        return target
