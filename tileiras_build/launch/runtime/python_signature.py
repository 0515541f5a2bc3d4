"""The Python signature and docstring of a kernel's ``launch``: parameters by name, and the requirements on each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from keyword import iskeyword
from operator import index
from typing import TYPE_CHECKING

from ...core.errors import InvalidInput
from ...core.symbols.unique_names import unique_names
from .pack_arguments import describe_argument

if TYPE_CHECKING:
    from ...manifest.launch_manifest import Argument, Launch
    from .generate_launch_stub import StubList

_AXES = "xyz"
_OWN = ("grid", "stream")
_TEXT = """Enqueue {entry} on ``stream`` (a stream of any CUDA library, its handle, or None: the default stream).

{grid}. Arrays must support DLPack or the CUDA array interface; each may also be passed
as Address(array), its lengths and its strides in elements. Raises InvalidInput unless each argument is:

{arguments}
"""
Enqueue = Callable[[int | Sequence[int], Sequence[object], object], None]


def launcher(entry: str, launch: Launch, stubs: StubList, enqueue: Enqueue) -> Callable[..., None]:
    """``launch(grid, *arguments, stream=None)`` of one kernel, by the first stub that takes the arguments, or by ``enqueue``.

    Arguments may also be passed by keyword.
    """
    names = python_names(launch)

    def launch_kernel(grid: int | Sequence[int], *arguments: object, stream: object = None, **named: object) -> None:
        if type(grid) is not tuple:
            grid = _as_tuple(grid)
        if named:
            arguments = _in_order(entry, names, arguments, named)
        for stub in stubs.stubs:
            if stub(grid, arguments, stream):
                return
        enqueue(grid, arguments, stream)

    launch_kernel.__name__ = launch_kernel.__qualname__ = "launch"
    launch_kernel.__doc__ = document(entry, launch)
    launch_kernel.__signature__ = signature(launch)  # type: ignore[attr-defined]
    return launch_kernel


def _as_tuple(grid: int | Sequence[int]) -> int | Sequence[int]:
    """The grid in the form that a stub reads, if it is an integer, a list or a tuple of a type of its own; ``enqueue`` checks and refuses all else."""
    if isinstance(grid, (list, tuple)):
        return tuple(grid)
    return (
        (index(grid),) if type(grid) is int or hasattr(grid, "__index__") and not isinstance(grid, Iterable) else grid
    )


def python_names(launch: Launch) -> list[str]:
    """The arguments' names, made distinct from ``grid``, ``stream`` and Python's keywords."""
    names = [argument.name for argument in launch.arguments]
    made = unique_names(names, _OWN, spelled=lambda name: f"{name}_" if iskeyword(name) else name)
    return [made[name] for name in names]


def signature(launch: Launch) -> inspect.Signature:
    """The signature for ``inspect`` and editors."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [
        inspect.Parameter(name, kind, annotation=_annotation(argument, launch))
        for name, argument in zip(python_names(launch), launch.arguments)
    ]
    grid = inspect.Parameter("grid", kind, annotation="int | Sequence[int]")
    stream = inspect.Parameter("stream", inspect.Parameter.KEYWORD_ONLY, default=None)
    return inspect.Signature([grid, *parameters, stream])


def _annotation(argument: Argument, launch: Launch) -> str:
    first = launch.params[argument.param]
    if argument.kind == "scalar":
        return first.kind
    return (
        f"{first.element}[{', '.join(':' * (argument.rank or 0))}]" if argument.kind == "array" else f"{first.element}*"
    )


def document(entry: str, launch: Launch) -> str:
    """The docstring."""
    rows = "\n".join(
        f"    {argument.name}: {describe_argument(argument, launch.params)}" for argument in launch.arguments
    )
    return _TEXT.format(entry=entry, grid=_grid(launch), arguments=rows or "    (none)")


def _grid(launch: Launch) -> str:
    if launch.grid.meaning:
        counted = ", ".join(f"{axis}: {meaning}" for axis, meaning in zip(_AXES, launch.grid.meaning))
        return f"``grid`` counts blocks ({counted})"
    axes = ", ".join(_AXES[axis] for axis in launch.grid.axes) or "none"
    return f"``grid`` has up to three axes; the kernel uses: {axes}"


def _in_order(
    entry: str, names: Sequence[str], arguments: tuple[object, ...], named: Mapping[str, object]
) -> tuple[object, ...]:
    """All arguments by position."""
    rest = list(names[len(arguments) :])
    if unknown := sorted(named.keys() - set(rest)):
        why = "is also passed by position" if unknown[0] in names else f"is unknown (arguments: {', '.join(names)})"
        raise InvalidInput("launch-arguments", f"kernel {entry}: argument {unknown[0]} {why}")
    if missing := [name for name in rest if name not in named]:
        raise InvalidInput("launch-arguments", f"kernel {entry}: argument {missing[0]} is missing")
    return (*arguments, *(named[name] for name in rest))
