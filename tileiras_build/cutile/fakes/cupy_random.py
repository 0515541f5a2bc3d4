"""The fake ``cupy.random``: NumPy's distributions with a ``dtype`` parameter, and device arrays as results."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

# NumPy's own ``dtype=`` selects the values, not only their storage.
_OF_A_TYPE = ("randint", "integers")
# CuPy's bit generators, which NumPy lacks.
_BITS = ("XORWOW", "MRG32k3a", "Philox4x3210")


def generating(function: Any, on_device: Callable[[Any], Any]) -> Any:
    """A distribution of NumPy with CuPy's parameters; other objects are unchanged."""
    if isinstance(function, type) or not callable(function):
        return function
    own_type = getattr(function, "__name__", "") in _OF_A_TYPE

    @functools.wraps(function)
    def call(*args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        if own_type and dtype is not None:
            kwargs["dtype"] = np.dtype(dtype).type
        made = function(*args, **kwargs)
        if not isinstance(made, np.ndarray | np.generic | int | float) or isinstance(made, bool):
            return made
        array = np.asarray(made)
        return on_device(array if dtype is None or own_type else array.astype(dtype))

    return call


class _Source:
    """A NumPy generator with CuPy's methods."""

    _made_of: Callable[..., Any]
    _on_device: Callable[[Any], Any]

    def __init__(self, *args: Any, **kwargs: Any):
        self._source = type(self)._made_of(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return generating(getattr(self._source, name), type(self)._on_device)


def random_module(module: Callable[..., ModuleType], on_device: Callable[[Any], Any]) -> ModuleType:
    """The module; ``module`` creates one from its name, its base module, its own contents and its wrapper of functions."""
    own = {"_on_device": staticmethod(on_device)}
    generator = type("Generator", (_Source,), own | {"_made_of": staticmethod(np.random.Generator)})
    state = type("RandomState", (_Source,), own | {"_made_of": staticmethod(np.random.RandomState)})
    default = lambda seed=None: generator(np.random.PCG64(seed))
    found = {
        "Generator": generator,
        "RandomState": state,
        "default_rng": default,
        **dict.fromkeys(_BITS, np.random.PCG64),
    }
    return module("cupy.random", np.random, found, lambda function: generating(function, on_device))
