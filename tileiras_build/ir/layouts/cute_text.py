"""The text form of layouts: CuTe's shape:stride, over the packed row-major index of the tile.

A register layout is written as three modes, lanes, warps and registers (a fourth, blocks, only where there are some):

    ((4,8),(2,2),(2,2)):((2,16),(128,8),(1,256))

Each bit of lane, warp or register number is a mode of size 2 whose stride is its basis; runs of doubling strides are
joined, so (4,8):(2,16) are the strides 2, 4 | 16, 32, 64. Stride 0 is replication and joins with itself. A mode
without bits is 1:0.

Extension: a basis that moves several index bits at once cannot be a stride, because addition may carry. It is written
with a caret, ``2:^40``, and means index ^= 40. All other strides are powers of two; where two bits of a
layout share an index bit (replication by equal bases) they are XORed as well. With distinct powers of two this is
exactly CuTe's function.

Placements in shared memory map coordinates, dimension by dimension, to element offsets: ``(64,32):(32,1)`` is 64 rows
of 32; ``swizzle<3,3,3> o (64,(64,2)):(64,(1,4096))`` has two boxes of 64 columns, and applies CuTe's swizzle to the
offset. A placement that no strides and swizzle describe is written by the offsets of its index bits, lowest first:
``bits(64,64):(1,2,4,8^64,...)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from . import f2_linear_algebra
from .linear_layout import LinearLayout, dim_bases, log2_exact
from .shared_layout import SharedLayout
from .swizzle import NO_SWIZZLE, Swizzle

Mode = tuple[int, int]  # size, basis of the lowest bit


def to_cute(layout: LinearLayout) -> str:
    """The text form of a register layout, without its tile shape."""
    parts = [layout.lanes, layout.warps, layout.registers] + ([layout.blocks] if layout.blocks else [])
    modes = [_join_modes(bases) for bases in parts]
    sizes = ",".join(_tuple(str(size) for size, _ in part) for part in modes)
    strides = ",".join(_tuple(_stride(basis) for _, basis in part) for part in modes)
    return f"({sizes}):({strides})"


def from_cute(text: str, shape: Sequence[int]) -> LinearLayout:
    """Parse the text of ``to_cute``. ValueError if the text is not of this form."""
    sizes, strides = _parse_pair(text)
    if len(sizes) not in (3, 4) or len(sizes) != len(strides):
        raise ValueError(f"a layout has the modes lanes, warps and registers, found {text!r}")
    lanes, warps, registers, blocks = (
        tuple(_bases(size, stride)) for size, stride in zip([*sizes, 1][:4], [*strides, 0][:4])
    )
    return LinearLayout(registers, lanes, warps, tuple(shape), blocks)


def shared_to_cute(shared: SharedLayout) -> str:
    """The text form of a placement; element width is not part of it."""
    named = shared.swizzle
    if named is None:
        offsets = ",".join(
            "^".join(str(1 << bit) for bit in f2_linear_algebra.bits(offset)) for offset in shared.inverse
        )
        return f"bits({_list(shared.shape)}):({offsets})"
    places, swizzle = named
    prefix = "" if swizzle == NO_SWIZZLE else f"{swizzle} o "
    modes = []
    for units in dim_bases(shared.shape):
        modes.append(_join_modes([1 << places[unit.bit_length() - 1] for unit in units]))
    sizes = ",".join(_tuple(str(size) for size, _ in part) for part in modes)
    strides = ",".join(_tuple(str(stride) for _, stride in part) for part in modes)
    return f"{prefix}({sizes}):({strides})"


def shared_from_cute(text: str, element_bits: int) -> SharedLayout:
    """Parse the text of ``shared_to_cute``."""
    if text.startswith("bits("):
        return _from_bits(text, element_bits)
    match = re.fullmatch(r"(?:swizzle<(\d+),(\d+),(\d+)> o )?(\(.*\):\(.*\))", text.strip())
    if match is None:
        raise ValueError(f"expected [swizzle<B,M,S> o ](sizes):(strides), found {text!r}")
    swizzle = Swizzle(*map(int, match.group(1, 2, 3))) if match[1] else NO_SWIZZLE
    sizes, strides = _parse_pair(match[4])
    if len(sizes) != len(strides):
        raise ValueError(f"{len(sizes)} dimensions and {len(strides)} strides in {text!r}")
    dims = [list(_bases(size, stride)) for size, stride in zip(sizes, strides)]
    offsets = [swizzle(offset) for dim in reversed(dims) for offset in dim]
    shape = tuple(1 << len(dim) for dim in dims)
    return SharedLayout(shape, element_bits, _placed(offsets, text))


def _placed(offsets: Sequence[int], text: str) -> tuple[int, ...]:
    try:
        return f2_linear_algebra.invert(offsets, len(offsets))
    except ValueError:
        raise ValueError(f"the strides of {text!r} leave gaps or overlap") from None


def _from_bits(text: str, element_bits: int) -> SharedLayout:
    match = re.fullmatch(r"bits\(([\d,]*)\):\(([\d,^]*)\)", text.strip())
    if match is None:
        raise ValueError(f"expected bits(sizes):(offsets), found {text!r}")
    shape = tuple(int(size) for size in match[1].split(",") if size)
    offsets = [sum(map(int, offset.split("^"))) for offset in match[2].split(",") if offset]
    return SharedLayout(shape, element_bits, _placed(offsets, text))


def _is_stride(basis: int) -> bool:
    return basis & (basis - 1) == 0


def _join_modes(bases: Sequence[int]) -> list[Mode]:
    modes: list[Mode] = []
    for basis in bases:
        if modes and _is_stride(basis) and basis == modes[-1][0] * modes[-1][1] and _is_stride(modes[-1][1]):
            modes[-1] = (modes[-1][0] * 2, modes[-1][1])
        else:
            modes.append((2, basis))
    return modes or [(1, 0)]


def _stride(basis: int) -> str:
    return str(basis) if _is_stride(basis) else f"^{basis}"


def _list(values: Sequence[int]) -> str:
    return ",".join(map(str, values))


def _tuple(items: Iterator[str]) -> str:
    first, *others = items
    return f"({','.join((first, *others))})" if others else first


def _bases(size, stride) -> Iterator[int]:
    """The bases of a parsed mode: a number or a list of them."""
    if isinstance(size, list) != isinstance(stride, list) or isinstance(size, list) and len(size) != len(stride):
        raise ValueError(f"sizes {size} and strides {stride} do not match")
    if isinstance(size, list):
        for one in zip(size, stride):
            yield from _bases(*one)
        return
    for bit in range(log2_exact(size)):
        yield stride << bit


def _parse_pair(text: str) -> tuple[list, list]:
    """Nested lists of integers on both sides of the colon; carets only mark strides that are no power of two."""
    tokens = re.findall(r"\d+|\^\d+|[(),:]|\S", text)
    reader = iter(tokens)
    sizes = _parse_tuple(reader, text)
    if next(reader, None) != ":":
        raise ValueError(f"expected ':' between sizes and strides in {text!r}")
    strides = _parse_tuple(reader, text)
    if next(reader, None) is not None:
        raise ValueError(f"text follows the layout in {text!r}")
    return sizes, strides


def _parse_tuple(reader: Iterator[str], text: str) -> list:
    """One parenthesized tuple, of integers and tuples."""
    stack: list[list] = []
    for token in reader:
        if token == "(":
            stack.append([])
        elif token == ")" and stack:
            done = stack.pop()
            if not stack:
                return done
            stack[-1].append(done)
        elif token.lstrip("^").isdigit() and stack:
            stack[-1].append(int(token.lstrip("^")))
        elif token != "," or not stack:
            break
    raise ValueError(f"expected nested tuples of integers in {text!r}")
