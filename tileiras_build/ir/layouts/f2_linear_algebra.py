"""Linear algebra over F2 on Python integers: a vector is a bit mask, a matrix is a tuple of columns.

Addition is XOR, so a matrix times a vector is the XOR of the columns that the vector's bits select, and Gaussian
elimination needs no division. All matrices here have at most some 20 columns of 20 bits, where plain integers are an
order of magnitude faster than array libraries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def apply(columns: Sequence[int], vector: int) -> int:
    """Matrix times vector: the XOR of the columns selected by the bits of ``vector``."""
    image = 0
    while vector:
        low = vector & -vector
        image ^= columns[low.bit_length() - 1]
        vector ^= low
    return image


def compose(outer: Sequence[int], inner: Iterable[int]) -> tuple[int, ...]:
    """Matrix multiplication: ``outer`` after ``inner``."""
    return tuple(apply(outer, column) for column in inner)


def enumerate_span(columns: Sequence[int]) -> list[int]:
    """The images of 0, 1, 2, ... 2**len(columns) - 1, in that order."""
    images = [0]
    for column in columns:
        images += [image ^ column for image in images]
    return images


def parity(vector: int) -> int:
    return vector.bit_count() & 1


def bits(mask: int) -> list[int]:
    """The positions of the set bits, lowest first."""
    return [position for position in range(mask.bit_length()) if mask >> position & 1]


class Span:
    """The subspace spanned by vectors inserted one by one; tracks how each member combines them.

    The pivots of earlier vectors are never changed by later ones. So a member of the span of the first k inserted
    vectors is always solved by those k only: insertion order is a preference order (registers before lanes before
    warps).
    """

    __slots__ = ("pivots",)

    def __init__(self, vectors: Iterable[int] = ()):
        self.pivots: dict[int, tuple[int, int]] = {}
        for number, vector in enumerate(vectors):
            self.insert(vector, 1 << number)

    def reduce(self, vector: int) -> tuple[int, int]:
        """(remainder of ``vector``, the XOR of the tags used): the remainder is 0 exactly for members."""
        used, pivots = 0, self.pivots
        while vector:
            pivot = pivots.get(vector.bit_length())
            if pivot is None:
                break
            vector ^= pivot[0]
            used ^= pivot[1]
        return vector, used

    def insert(self, vector: int, tag: int = 0) -> bool:
        """Add a vector; False if it was a member already."""
        rest, used = self.reduce(vector)
        if rest:
            self.pivots[rest.bit_length()] = (rest, used ^ tag)
        return rest != 0

    def solve(self, vector: int) -> int | None:
        """The XOR of the tags of the inserted vectors whose XOR is ``vector``, or None."""
        rest, used = self.reduce(vector)
        return None if rest else used

    def solve_all(self, vectors: Iterable[int]) -> list[int] | None:
        """``solve`` of each vector, or None if one of them has no solution."""
        solved = []
        for vector in vectors:
            rest, used = self.reduce(vector)
            if rest:
                return None
            solved.append(used)
        return solved

    def solve_member(self, vector: int) -> int:
        """``solve`` of a vector that must be a member; ValueError if it is not."""
        rest, used = self.reduce(vector)
        if rest:
            raise ValueError(f"{vector:#x} is not in the span of the vectors")
        return used

    def __contains__(self, vector: int) -> bool:
        return self.reduce(vector)[0] == 0

    def __len__(self) -> int:
        return len(self.pivots)


def rank(vectors: Iterable[int]) -> int:
    return len(Span(vectors))


def independent(vectors: Iterable[int]) -> list[int]:
    """The vectors that are not in the span of earlier ones."""
    span = Span()
    return [vector for vector in vectors if span.insert(vector)]


def complement(vectors: Iterable[int], candidates: Iterable[int]) -> list[int]:
    """The candidates that, in order, extend the span of ``vectors``."""
    span = Span(vectors)
    return [candidate for candidate in candidates if span.insert(candidate)]


def intersection(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """A basis of span(left) & span(right); members of both lists come first, unchanged."""
    left = independent(left)
    span = Span(left)
    shared = [vector for vector in independent(right) if vector in left]
    crossing: list[int] = []
    for number, vector in enumerate(right):
        tag = 1 << (len(left) + number)
        rest, used = span.reduce(vector)
        if rest:
            span.insert(vector, tag)
        else:
            crossing.append(apply(left, used & (1 << len(left)) - 1))
    return independent(shared + crossing)


def invert(columns: Sequence[int], rows: int) -> tuple[int, ...]:
    """A right inverse: for each of ``rows`` unit vectors its preimage. Raises ValueError if one has none."""
    inverse = Span(columns).solve_all(1 << row for row in range(rows))
    if inverse is None:
        raise ValueError("a matrix that does not reach every row has no right inverse")
    return tuple(inverse)
