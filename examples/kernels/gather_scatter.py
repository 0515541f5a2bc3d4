"""Indexed reads and writes: elements at given indices of a table, with a mask and with indices out of bounds."""

import cuda.tile as ct
import numpy as np

from tileiras_build.cases import Array, Case, Values, first_tiles, place, poisoned

ROWS, COLUMNS, COUNT, TILE = 20, 30, 500, 128


@ct.kernel
def gather(table, rows, columns, mask, out, TILE: ct.Constant[int]):
    """out[i] = table[rows[i], columns[i]]; -1 where mask[i] is 0 or the index is outside the table."""
    index = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    row, column = ct.gather(rows, index), ct.gather(columns, index)
    wanted = ct.gather(mask, index) != 0
    ct.scatter(out, index, ct.gather(table, (row, column), mask=wanted, padding_value=-1.0))


@ct.kernel
def scatter(values, places, mask, out, TILE: ct.Constant[int]):
    """out[places[i]] = values[i] where mask[i] is not 0 and the index is inside; the rest of out stays."""
    index = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    # Beyond the end of mask the gather returns its padding value 0, so nothing is written there.
    wanted = ct.gather(mask, index) != 0
    ct.scatter(out, ct.gather(places, index), ct.gather(values, index), mask=wanted)


def make_gather_inputs(rng: np.random.Generator) -> Values:
    return {
        "table": place(rng.uniform(0, 1, (ROWS, COLUMNS)), "float32"),
        "rows": place(rng.integers(-2, ROWS + 2, COUNT), "int32"),
        "columns": place(rng.integers(-2, COLUMNS + 2, COUNT), "int32"),
        "mask": place(rng.integers(0, 2, COUNT), "int8"),
        "out": poisoned((COUNT,), "float32"),
    }


def reference_gather(values: Values) -> Values:
    out = np.full(COUNT, -1, np.float32)
    for i, (row, column) in enumerate(zip(values["rows"], values["columns"])):
        if values["mask"][i] and 0 <= row < ROWS and 0 <= column < COLUMNS:
            out[i] = values["table"][row, column]
    return {"out": out}


def make_scatter_inputs(rng: np.random.Generator) -> Values:
    # Each index once: the order of blocks is undefined, so two writes to one element could leave either value.
    places = rng.permutation(np.arange(-20, 600))[:COUNT]
    return {
        "values": place(rng.uniform(0, 1, COUNT), "float32"),
        "places": place(places, "int32"),
        "mask": place(rng.integers(0, 2, COUNT), "int8"),
        "out": place(np.full(550, -1.0), "float32"),
    }


def reference_scatter(values: Values) -> Values:
    out = values["out"].copy()
    for value, where_to, wanted in zip(values["values"], values["places"], values["mask"]):
        if wanted and 0 <= where_to < len(out):
            out[where_to] = value
    return {"out": out}


NUMBERS, INDICES, MASK = Array("float32", 1), Array("int32", 1), Array("int8", 1)

CASES = [
    Case(
        "gather_f32",
        gather,
        (Array("float32", 2), INDICES, INDICES, MASK, NUMBERS, TILE),
        grid=first_tiles("out", TILE),
        inputs=make_gather_inputs,
        reference=reference_gather,
    ),
    Case(
        "scatter_f32",
        scatter,
        (NUMBERS, INDICES, MASK, NUMBERS, TILE),
        grid=first_tiles("values", TILE),
        inputs=make_scatter_inputs,
        reference=reference_scatter,
    ),
]
