"""CuTe's hierarchical tuples and layouts, and their algebra (CUTLASS documentation, "CuTe Layout Algebra").

A tuple is an integer, or a Python tuple of tuples; a layout is a shape and a stride of the same form, optionally after
a swizzle. Leaves may be anything that ``Integers`` (or a subclass) can compute with: a compiler passes SSA values for
dynamic leaves, which are None in a parsed text:

    parse_layout("(4,(2,?)):(1,(4,8))")   ->  Layout((4, (2, None)), (1, (4, 8)))
    "S<3,4,3> o 0 o (8,64):(64,1)"            after a swizzle of 3 bits, from bit 7 into bit 4
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

DYNAMIC = "?"
_TOKEN = re.compile(r"\s*([(),?]|-?\d+)")
_SWIZZLE = re.compile(r"\s*S<(\d+),(\d+),(\d+)>\s*o\s*(?:(\d+)\s*o\s*)?")


class Integers:
    """Arithmetic of leaves that are Python integers."""

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def mul(self, a: Any, b: Any) -> Any:
        return a * b

    def div(self, a: Any, b: Any) -> Any:
        return a // b

    def rem(self, a: Any, b: Any) -> Any:
        return a % b

    def xor(self, a: Any, b: Any) -> Any:
        return a ^ b

    def ceil_div(self, a: Any, b: Any) -> Any:
        """The quotient rounded up."""
        return a if b == 1 else self.div(self.add(a, self.add(b, -1)), b)


INTEGERS = Integers()


@dataclass(frozen=True)
class Swizzle:
    """XOR of ``bits`` bits from position ``base + shift`` on into those from ``base`` on."""

    bits: int
    base: int
    shift: int

    def __str__(self) -> str:
        return f"S<{self.bits},{self.base},{self.shift}>"

    def apply(self, offset: Any, n: Integers = INTEGERS) -> Any:
        """The swizzled offset."""
        window = n.div(offset, 1 << (self.base + self.shift))
        return n.xor(offset, n.mul(n.rem(window, 1 << self.bits), 1 << self.base))


@dataclass(frozen=True)
class Layout:
    """Maps coordinates to offsets: the inner product of coordinates and strides, plus ``offset``, then the swizzle."""

    shape: Any
    stride: Any
    swizzle: Swizzle | None = None
    offset: Any = 0

    def __str__(self) -> str:
        plain = f"{print_tuple(self.shape)}:{print_tuple(self.stride)}"
        return plain if self.swizzle is None else f"{self.swizzle} o {_leaf(self.offset)} o {plain}"

    @property
    def modes(self) -> list[Layout]:
        """The layouts of the top-level modes."""
        if not isinstance(self.shape, tuple):
            return [Layout(self.shape, self.stride)]
        return [Layout(shape, stride) for shape, stride in zip(self.shape, self.stride, strict=True)]

    @property
    def is_static(self) -> bool:
        """Whether all leaves are integers."""
        return all(isinstance(leaf, int) for leaf in (*flatten(self.shape), *flatten(self.stride), self.offset))


# ---- text --------------------------------------------------------------------------------------------
def parse_tuple(text: str) -> Any:
    """Parse a tuple, None for a leaf ``?``; raises ValueError."""
    tokens = _tokens(text)
    value = _parse(tokens)
    if tokens:
        raise ValueError(f"{text!r} is not a tuple: {tokens[0]!r} remains")
    return value


def _tokens(text: str) -> list[str]:
    found, end = [], 0
    while end < len(text.rstrip()):
        match = _TOKEN.match(text, end)
        if match is None:
            raise ValueError(f"{text!r} is not a tuple: unexpected {text[end:].strip()[0]!r}")
        found.append(match[1])
        end = match.end()
    return found


def _parse(tokens: list[str]) -> Any:
    if not tokens:
        raise ValueError("a tuple ends too early")
    token = tokens.pop(0)
    if token == DYNAMIC:
        return None
    if token != "(":
        if token in "),":
            raise ValueError(f"unexpected {token!r} in a tuple")
        return int(token)
    members = []
    while tokens and tokens[0] != ")":
        members.append(_parse(tokens))
        if tokens and tokens[0] == ",":
            tokens.pop(0)
    if not tokens:
        raise ValueError("a tuple has no closing parenthesis")
    tokens.pop(0)
    return tuple(members)


def parse_layout(text: str) -> Layout:
    """Parse a layout; raises ValueError."""
    swizzle, offset = None, 0
    if (match := _SWIZZLE.match(text)) is not None:
        swizzle, offset, text = Swizzle(*map(int, match.groups()[:3])), int(match[4] or 0), text[match.end() :]
    shape, colon, stride = text.partition(":")
    if not colon:
        raise ValueError(f"{text!r} is not a layout: it needs a colon between shape and stride")
    layout = Layout(parse_tuple(shape), parse_tuple(stride), swizzle, offset)
    if not congruent(layout.shape, layout.stride):
        raise ValueError(f"shape and stride of {text!r} do not have the same form")
    return layout


def print_tuple(value: Any) -> str:
    """The text of a tuple; a dynamic leaf is ``?``."""
    return "(" + ",".join(map(print_tuple, value)) + ")" if isinstance(value, tuple) else _leaf(value)


def _leaf(value: Any) -> str:
    return str(value) if isinstance(value, int) else DYNAMIC


# ---- tuples ------------------------------------------------------------------------------------------
def flatten(value: Any) -> Iterator[Any]:
    """The leaves from left to right."""
    if isinstance(value, tuple):
        for member in value:
            yield from flatten(member)
    else:
        yield value


def rebuild(form: Any, values: Iterator[Any]) -> Any:
    """A tuple congruent to ``form`` whose leaves are the next ones of ``values``."""
    return tuple(rebuild(member, values) for member in form) if isinstance(form, tuple) else next(values)


def congruent(a: Any, b: Any) -> bool:
    """Whether two tuples are congruent."""
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return not isinstance(a, tuple) and not isinstance(b, tuple)
    return len(a) == len(b) and all(map(congruent, a, b))


def zip_leaves(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """``function`` of the leaves of two congruent tuples; an integer is broadcast to the leaves of a tuple."""
    if isinstance(a, tuple) or isinstance(b, tuple):
        first = a if isinstance(a, tuple) else (a,) * len(b)
        second = b if isinstance(b, tuple) else (b,) * len(a)
        if len(first) != len(second):
            raise ValueError(f"{print_tuple(a)} and {print_tuple(b)} do not have the same form")
        return tuple(zip_leaves(function, x, y) for x, y in zip(first, second))
    return function(a, b)


def product(value: Any, n: Integers = INTEGERS) -> Any:
    """The product of the leaves."""
    total: Any = 1
    for leaf in flatten(value):
        total = n.mul(total, leaf)
    return total


def compact(shape: Any, n: Integers = INTEGERS) -> Any:
    """The compact strides of a shape, the first mode fastest."""
    strides, step = [], 1
    for extent in flatten(shape):
        strides.append(step)
        step = n.mul(step, extent)
    return rebuild(shape, iter(strides))


# ---- layouts -----------------------------------------------------------------------------------------
def crd2idx(coordinate: Any, shape: Any, stride: Any, n: Integers = INTEGERS) -> Any:
    """The offset of a coordinate; an integer for a nested shape is its index, the first mode fastest."""
    if isinstance(coordinate, tuple):
        if not isinstance(shape, tuple) or len(coordinate) != len(shape):
            raise ValueError(f"{print_tuple(coordinate)} is not a coordinate of shape {print_tuple(shape)}")
        total: Any = 0
        for entry in zip(coordinate, shape, stride, strict=True):
            total = n.add(total, crd2idx(*entry, n))
        return total
    if not isinstance(shape, tuple):
        return n.mul(coordinate, stride)
    total, rest = 0, coordinate
    for position, (extent, step) in enumerate(zip(shape, stride, strict=True)):
        size = product(extent, n)
        last = position == len(shape) - 1
        total = n.add(total, crd2idx(rest if last else n.rem(rest, size), extent, step, n))
        rest = rest if last else n.div(rest, size)
    return total


def idx2crd(index: Any, shape: Any, n: Integers = INTEGERS) -> Any:
    """The coordinate of an index in ``shape``, the first mode fastest."""
    if not isinstance(shape, tuple):
        return index
    found = []
    for position, extent in enumerate(shape):
        last, size = position == len(shape) - 1, product(extent, n)
        found.append(idx2crd(index if last else n.rem(index, size), extent, n))
        index = index if last else n.div(index, size)
    return tuple(found)


def layout_offset(layout: Layout, coordinate: Any, n: Integers = INTEGERS) -> Any:
    """The offset of a coordinate, swizzled."""
    offset = n.add(layout.offset, crd2idx(coordinate, layout.shape, layout.stride, n))
    return offset if layout.swizzle is None else layout.swizzle.apply(offset, n)


def cosize(layout: Layout, n: Integers = INTEGERS) -> Any:
    """The largest offset plus 1."""
    total: Any = 1
    for extent, step in zip(flatten(layout.shape), flatten(layout.stride)):
        total = n.add(total, n.mul(n.add(extent, -1), step))
    return total


def from_modes(modes: Sequence[Layout]) -> Layout:
    """The concatenation of modes; a single mode is itself."""
    if len(modes) == 1:
        return modes[0]
    return Layout(tuple(mode.shape for mode in modes), tuple(mode.stride for mode in modes))


def _flat(layout: Layout) -> list[tuple[Any, Any]]:
    return list(zip(flatten(layout.shape), flatten(layout.stride), strict=True))


def _of_pairs(pairs: list[tuple[Any, Any]]) -> Layout:
    return from_modes([Layout(*pair) for pair in pairs] or [Layout(1, 0)])


def coalesce(layout: Layout) -> Layout:
    """The same function with as few modes as possible; dynamic modes are not merged."""
    found: list[tuple[Any, Any]] = []
    for extent, step in _flat(layout):
        if extent == 1:
            continue
        if found and all(isinstance(v, int) for v in (*found[-1], step)) and found[-1][0] * found[-1][1] == step:
            before = found.pop()
            extent, step = (before[0] * extent if isinstance(extent, int) else None), before[1]
            if extent is None:
                raise ValueError("cannot coalesce modes of unknown extent")
        found.append((extent, step))
    return _of_pairs(found)


def filter_zeros(layout: Layout) -> Layout:
    """The layout with extent 1 where the stride is 0."""
    shape = zip_leaves(lambda step, extent: 1 if step == 0 else extent, layout.stride, layout.shape)
    return Layout(shape, layout.stride)


def composition(a: Layout, b: Layout, n: Integers = INTEGERS) -> Layout:
    """``a`` after ``b``: shapes must be static; a stride of ``a`` may be anything. Raises ValueError."""
    if isinstance(b.shape, tuple):
        _check_disjoint(b)
        return from_modes_of([composition(a, mode, n) for mode in b.modes])
    if not all(isinstance(leaf, int) for leaf in (*flatten(a.shape), b.shape, b.stride)):
        raise ValueError(f"cannot compose {a} and {b}: a shape is not static")
    extent, step = b.shape, b.stride
    pairs = [pair for pair in _flat(a) if pair[0] != 1] or [(1, 0)]
    found: list[tuple[Any, Any]] = []
    for size, stride in pairs[:-1]:
        if step % size and size % max(step, 1):
            raise ValueError(f"cannot compose {a} and {b}: {step} and {size} do not divide one another")
        taken = min(max(1, size // max(step, 1)), extent)
        if taken != 1 and extent % taken:
            raise ValueError(f"cannot compose {a} and {b}: {extent} is not a multiple of {taken}")
        if taken != 1:
            found.append((taken, n.mul(step, stride)))
        extent, step = extent // taken, -(-step // size)
    if extent != 1 or not found:
        found.append((extent, n.mul(step, pairs[-1][1])))
    return _of_pairs(found)


def _check_disjoint(layout: Layout) -> None:
    """Raise ValueError unless no carry occurs from one mode into another, as composition mode by mode requires."""
    pairs = [(step, extent) for extent, step in _flat(layout) if extent != 1 and step != 0]
    if not all(isinstance(leaf, int) for pair in pairs for leaf in pair):
        return
    for (step, extent), (following, _) in pairwise(sorted(pairs)):
        if following < step * extent:
            raise ValueError(f"cannot compose with {layout}: its modes overlap")


def from_modes_of(modes: list[Layout]) -> Layout:
    """The layout with exactly these top-level modes."""
    return Layout(tuple(mode.shape for mode in modes), tuple(mode.stride for mode in modes))


def complement(layout: Layout, size: int) -> Layout:
    """The offsets below ``size`` that a static layout skips, as a layout; raises ValueError."""
    if not layout.is_static or not isinstance(size, int):
        raise ValueError(f"cannot complement {layout}: it is not static")
    pairs = sorted((step, extent) for extent, step in _flat(filter_zeros(layout)) if extent != 1)
    found, current = [], 1
    for step, extent in pairs:
        if step < current or step % current:
            raise ValueError(f"cannot complement {layout}: its modes overlap")
        found.append((step // current, current))
        current = step * extent
    found.append((-(-size // current), current))
    return coalesce(_of_pairs(found))


def divide_mode(layout: Layout, tile: Any, n: Integers = INTEGERS) -> tuple[Layout, Layout]:
    """(tile, rest) of one mode; an integer tile of a dynamic extent divides it into equal pieces, the last perhaps partial."""
    if isinstance(tile, int) and not isinstance(layout.shape, tuple) and not isinstance(layout.shape, int):
        return Layout(tile, layout.stride), Layout(n.ceil_div(layout.shape, tile), n.mul(layout.stride, tile))
    tiler = tile if isinstance(tile, Layout) else Layout(tile, compact(tile))
    rest = complement(tiler, product(layout.shape))
    return composition(layout, tiler, n), composition(layout, rest, n)


def divide(layout: Layout, tile: Any, n: Integers = INTEGERS) -> tuple[list[Layout], list[Layout]]:
    """The tiles and the rests of the modes of ``layout``; modes after those of ``tile`` are rests."""
    if not isinstance(tile, tuple):
        first, second = divide_mode(layout, tile, n)
        return [first], [second]
    pairs = [divide_mode(mode, part, n) for mode, part in zip(layout.modes, tile)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs] + layout.modes[len(tile) :]


# Name -> the layout of tiles and rests (CuTe's orders).
DIVISIONS: dict[str, Callable[[list[Layout], list[Layout]], Layout]] = {
    "logical_divide": lambda tiles, rests: from_modes(
        [from_modes_of(list(pair)) for pair in zip(tiles, rests)] + rests[len(tiles) :]
    ),
    "zipped_divide": lambda tiles, rests: from_modes_of([from_modes(tiles), from_modes(rests)]),
    "tiled_divide": lambda tiles, rests: from_modes_of([from_modes(tiles), *rests]),
    "flat_divide": lambda tiles, rests: from_modes_of([*tiles, *rests]),
}


def logical_product(layout: Layout, tiler: Layout) -> Layout:
    """``layout``, replicated at the offsets of ``tiler``."""
    rest = complement(layout, product(layout.shape) * cosize(tiler))
    return from_modes_of([layout, composition(rest, tiler)])


def right_inverse(layout: Layout) -> Layout:
    """The left inverse: from an offset to its index, while the offsets are dense from 0."""
    if not layout.is_static:
        raise ValueError(f"cannot invert {layout}: it is not static")
    pairs, index = [], 1
    for extent, step in _flat(coalesce(layout)):
        pairs.append((step, extent, index))
        index *= extent
    found, current = [], 1
    for step, extent, position in sorted(pairs):
        if step != current:
            break
        found.append((extent, position))
        current = step * extent
    return coalesce(_of_pairs(found))
