"""Builds a launch from problem sizes: the manifest lists the parameters, the user gives their values.

``a=4096x1024`` sets the shape of an array; its strides and bytes follow, as it is taken to be contiguous.
``m_sizes=8:30,34`` gives an array of integers elements, too, repeated to its end; branches and addresses may depend on them.
``a_stride_0=2048`` sets any parameter, ``scale=0.5`` a scalar. Without a manifest, parameters are numbered from 0:
``0=@4194304`` is an array of so many bytes, ``1=1024`` an integer, ``2=0.5`` a float.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod

from ...core.errors import InvalidInput
from ...manifest.launch_manifest import Launch as Manifest
from ...manifest.launch_manifest import Parameter
from ...manifest.variant_assumptions import choice_of, variants_of
from ...target.element_types import ELEMENT_TYPES
from .constant_bank_values import Argument, GlobalBuffer, Launch, Shape
from .kernel_from_cubin import KernelModel
from .tile_order import TileOrder

Value = GlobalBuffer | int | float | None
_SHAPE = re.compile(r"^\d+(x\d+)*$")


def read_settings(texts: Iterable[str]) -> dict[str, str]:
    """``name=value`` by name. Raises InvalidInput[estimate-set]."""
    found: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name or not value:
            raise InvalidInput(
                "estimate-set", f"expected NAME=VALUE, got {text!r}", remedy="write a=4096x4096 or scale=0.5"
            )
        found[name.strip()] = value.strip()
    return found


def read_extents(text: str, what: str) -> Shape:
    """``X[,Y[,Z]]`` as three extents. Raises InvalidInput[estimate-set]."""
    parts = text.replace("x", ",").split(",")
    if not 1 <= len(parts) <= 3 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise InvalidInput(
            "estimate-set", f"invalid {what} {text!r}: expected one to three positive integers", remedy="write 64,32"
        )
    x, y, z = (*map(int, parts), 1, 1)[:3]
    return x, y, z


def launch_of_manifest(manifest: Manifest, settings: Mapping[str, str], grid: Shape, sm_count: int = 1) -> Launch:
    """The launch of a kernel with a manifest.

    ``grid`` is in CTAs, of a persistent kernel in tile blocks: it gets the grid that its launcher computes on a GPU with
    ``sm_count`` SMs. Raises InvalidInput[estimate-set] for missing or unknown parameters.
    """
    values = _values(manifest, settings)
    ordinary = [Argument(param.offset, param.size, values[param.name]) for param in manifest.caller_parameters]
    extents = [Argument(param.offset, param.size, extent) for param, extent in zip(manifest.extents, grid)]
    known = (*ordinary, *extents)
    maps = [Argument(param.offset, param.size, None) for param in manifest.params[len(known) :]]
    cluster = (manifest.cluster[0] * manifest.grid.cluster, *manifest.cluster[1:])
    threads, shared = (manifest.threads_per_cta, 1, 1), manifest.shared_memory.dynamic
    launch = Launch(grid, threads, (*known, *maps), cluster, shared, order=order_of(manifest))
    if not manifest.grid.persistent:
        return launch
    clusters, (x, y, z) = manifest.blocks(grid, sm_count)[0], manifest.cluster
    return replace(launch, grid=(clusters * x, y, z), tile_programs=prod(grid))


def launch_of_tile_blocks(manifest: Manifest, settings: Mapping[str, str], grid: Shape, sm_count: int = 1) -> Launch:
    """As ``launch_of_manifest``, with ``grid`` in tile blocks, each of which has a cluster of CTAs if they divide its tiles."""
    launch = launch_of_manifest(manifest, settings, grid, sm_count)
    return launch if manifest.grid.persistent else replace(launch, grid=grid_in_ctas(grid, manifest.cluster))


def grid_in_ctas(grid: Shape, cluster: Shape) -> Shape:
    """A grid of tile blocks in CTAs, where each tile block has a cluster of them."""
    (x, y, z), (a, b, c) = grid, cluster
    return x * a, y * b, z * c


def order_of(manifest: Manifest) -> TileOrder:
    """The order of a kernel's tile blocks."""
    return TileOrder(manifest.grid.group, manifest.grid.reversed)


def launched_kernel(manifests: Mapping[str, Manifest], name: str, settings: Mapping[str, str], grid: Shape) -> str:
    """The kernel, or the variant of it that launchers take for these settings and this grid, in tile blocks.

    Raises InvalidInput[estimate-set].
    """
    variants = variants_of(name, manifests).items()
    return next((variant for variant, one in variants if fits_variant(manifests[name], one, settings, grid)), name)


def fits_variant(general: Manifest, variant: Manifest, settings: Mapping[str, str], grid: Shape) -> bool:
    """Whether the settings and the grid, in tile blocks, satisfy what a variant assumes beyond its kernel; addresses do.

    Raises InvalidInput[estimate-set].
    """
    known = _values(general, settings).values()
    values = [value if isinstance(value, int) else 0 for value in known]  # 0: an address that is aligned
    return choice_of("", variant, general).fits(grid, values)


def _values(manifest: Manifest, settings: Mapping[str, str]) -> dict[str, Value]:
    remaining = dict(settings)
    values: dict[str, Value] = {param.name: param.value for param in manifest.caller_parameters}
    for argument in manifest.arguments:
        parameters = manifest.params[argument.param : argument.param + argument.parameters]
        if argument.name in remaining:
            values |= _argument_values(parameters, remaining.pop(argument.name))
    values |= {name: _number(remaining.pop(name)) for name in list(remaining) if name in values}
    if remaining:
        raise _wrong(f"unknown parameter {', '.join(remaining)}", manifest)
    if missing := [name for name, value in values.items() if value is None]:
        raise _wrong(f"missing value for {', '.join(missing)}", manifest)
    return values


def _wrong(message: str, manifest: Manifest) -> InvalidInput:
    names = ", ".join(f"{one.name}={'x'.join(['N'] * (one.rank or 1))}" for one in manifest.arguments)
    return InvalidInput("estimate-set", message, remedy=f"use --set {names}")


def _argument_values(parameters: list[Parameter], text: str) -> dict[str, Value]:
    """The values of an argument's parameters: address, extents and strides of an array, or one scalar."""
    first = parameters[0]
    if first.kind != "pointer":
        return {first.name: _number(text)}
    rank = (len(parameters) - 1) // 2
    text, _, elements = text.partition(":")
    shape = [int(part) for part in text.split("x")] if _SHAPE.match(text) else []
    if not shape or (rank and len(shape) != rank):
        what = f"{first.name} has rank {rank or 1}, got shape {text!r}"
        raise InvalidInput("estimate-set", what, remedy=f"write {first.name}={'x'.join(['1024'] * (rank or 1))}")
    size = _bytes(first.element, shape)
    lengths, strides = parameters[1 : 1 + rank], parameters[1 + rank :]
    content = _content(first, elements)
    values: dict[str, Value] = {first.name: GlobalBuffer(first.name, size, first.access or "updated", content)}
    # A plain pointer has no extent or stride parameters.
    values |= {param.name: extent for param, extent in zip(lengths, shape, strict=False)}
    return values | {param.name: stride for param, stride in zip(strides, _strides(strides, shape), strict=False)}


def _bytes(element: str | None, shape: list[int]) -> int:
    bits = ELEMENT_TYPES[element].load_bits if element in ELEMENT_TYPES else 8
    count = 1
    for extent in shape:
        count *= extent
    return -(-count * bits // 8)


def _content(array: Parameter, text: str) -> bytes:
    """The bytes of the elements of an array of integers, ``V,V,…``; none of an empty text."""
    if not text:
        return b""
    row = ELEMENT_TYPES.get(array.element or "")
    try:
        if row is None or row.format is not None:
            raise ValueError
        size, mask = row.load_bits // 8, (1 << row.load_bits) - 1
        return b"".join((int(one, 0) & mask).to_bytes(size, "little") for one in text.split(","))
    except ValueError:
        what = f"elements of {array.name}, {array.element}: not integers of an array of integers: {text!r}"
        raise InvalidInput("estimate-set", what, remedy="write m_sizes=8:30,34 for an array of integers") from None


def _strides(parameters: list[Parameter], shape: list[int]) -> list[int]:
    """Strides of a contiguous array whose innermost axis is the one the kernel assumes to have stride 1, else the last."""
    inner = next((axis for axis, param in enumerate(parameters) if param.value == 1), len(shape) - 1)
    order = [inner, *(axis for axis in reversed(range(len(shape))) if axis != inner)]
    strides, step = [0] * len(shape), 1
    for axis in order:
        strides[axis], step = step, step * shape[axis]
    return strides


def launch_of_cubin(kernel: KernelModel, settings: Mapping[str, str], grid: Shape, block: Shape | None) -> Launch:
    """The launch of a kernel without a manifest, from its cubin alone. Raises InvalidInput[estimate-set]."""
    places = kernel.resources.parameters
    missing = [str(n) for n in range(len(places)) if str(n) not in settings]
    unknown = [name for name in settings if not name.isdecimal() or int(name) >= len(places)]
    if missing or unknown:
        what = f"{kernel.name} has parameters 0 to {len(places) - 1}; missing: {', '.join(missing)}; unknown: {', '.join(unknown)}"
        raise InvalidInput("estimate-set", what, remedy="use --set 0=@BYTES for an array, 1=N for a scalar")
    if block is None and kernel.threads is None:
        raise InvalidInput("estimate-block", f"block size of {kernel.name} unknown", remedy="use --block")
    values = [_value(f"parameter {n}", settings[str(n)]) for n in range(len(places))]
    arguments = tuple(Argument(place.offset, place.size, value) for place, value in zip(places, values, strict=True))
    return Launch(grid, block or (kernel.threads or 1, 1, 1), arguments, kernel.cluster)


def _value(name: str, text: str) -> Value:
    if text.startswith("@"):
        if not text[1:].isdecimal():
            raise InvalidInput("estimate-set", f"expected @BYTES, got {text!r}", remedy="write 0=@4194304")
        return GlobalBuffer(name, int(text[1:]))
    return _number(text)


def _number(text: str) -> int | float:
    for kind in (lambda word: int(word, 0), float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise InvalidInput("estimate-set", f"not a number: {text!r}", remedy="write n=1024 or scale=0.5")
