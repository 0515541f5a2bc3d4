"""Validates a launch before its arguments, with the messages of cuTile's own launcher."""

from __future__ import annotations

from ..manifest.manifest_constants import MAX_GRID_PROGRAMS

_SIGNATURE = "launch(stream, grid, kernel, kernel_args, /, *, programmatic_dependent_launch=False)"
_AXES = 3
_MAX_NUMBER = (1 << 32) - 1


def checked(
    stream: object, grid: object, kernel: object, arguments: object, kernel_class: type
) -> tuple[int, int, int]:
    """The blocks along x, y and z; raises TypeError, ValueError or OverflowError for an invalid launch."""
    if stream is None:
        raise TypeError("Stream is required, got None; pass torch.cuda.current_stream(), or 0 for the default stream")
    blocks = _blocks(grid)
    if not isinstance(kernel, kernel_class):
        raise TypeError(f"{_SIGNATURE} expects a tile kernel as the third argument, got {type(kernel).__name__}")
    if not isinstance(arguments, tuple):
        raise TypeError(f"{_SIGNATURE} expects a tuple as the fourth argument, got {type(arguments).__name__}")
    return blocks


def _blocks(grid: object) -> tuple[int, int, int]:
    if not isinstance(grid, tuple):
        raise TypeError("Grid must be a tuple")
    if len(grid) > _AXES:
        raise ValueError(f"Grid dimensions must be at most {_AXES}, got length {len(grid)}")
    x, y, z = [_number(axis, count) for axis, count in enumerate((*grid, 1, 1, 1)[:_AXES])]
    return x, y, z


def _number(axis: int, count: object) -> int:
    if not hasattr(count, "__index__"):
        raise TypeError(f"an integer is required for Grid[{axis}], got {type(count).__name__}")
    whole = count.__index__()
    if whole < 0:
        raise OverflowError("can't convert negative value to unsigned int")
    if whole > _MAX_NUMBER:
        raise ValueError(f"Grid[{axis}] value too big: {whole}")
    if whole > MAX_GRID_PROGRAMS:
        message = f"Grid[{axis}] exceeds 24-bit limit: max={MAX_GRID_PROGRAMS}, got={whole}. "
        raise ValueError(message + "Use multiple kernel launches for larger workloads.")
    return whole
