"""Rows of parameters for tests whose every combination would cost too much."""

from collections.abc import Iterable


def pairwise(*lists: Iterable) -> list[tuple]:
    """Rows of a value of each of three lists: each two values of different lists are together in a row at least once.

    The two longest lists are combined in full, the rows and columns of a Latin square with the values of the third: as
    few rows as there can be. Rows are in the order of the lists.
    """
    values = [list(one) for one in lists]
    longest, second, shortest = sorted(range(3), key=lambda place: -len(values[place]))
    rows = []
    for i in range(len(values[longest])):
        for j in range(len(values[second])):
            chosen = {longest: i, second: j, shortest: (i + j) % len(values[shortest])}
            rows.append(tuple(chosen[place] for place in range(3)))
    return [tuple(values[place][index] for place, index in enumerate(row)) for row in sorted(rows)]


def alternate(first: Iterable, second: Iterable) -> list[tuple]:
    """Every other pair of two lists' values: each value is there, beside half of those of the other list, and neighbors share
    none."""
    columns = list(second)
    return [(a, b) for row, a in enumerate(first) for column, b in enumerate(columns) if (row + column) % 2 == 0]
