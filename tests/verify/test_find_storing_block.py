"""Who has stored an element: changes, stores of what was there already, and elements that nobody stores."""

import numpy as np

from tileiras_build.verify.find_storing_block import storing_blocks


def runner(stores):
    """A launch whose block number n does ``stores[n](arrays)``."""

    def run(begin, started):
        arrays = {"x": np.zeros((2, 3), "float32"), "y": np.full(4, 7, "int16")}
        begin(arrays)
        for number, store in enumerate(stores):
            started((number, 0, 0))
            store(arrays)

    return run


def put(name, index, value):
    return lambda arrays: arrays[name].__setitem__(index, value)


def test_the_last_block_that_changes_an_element_has_stored_it():
    run = runner([put("x", (0, 1), 1), put("x", (1, 2), 2), put("x", (0, 1), 3)])
    assert storing_blocks([("x", (0, 1)), ("x", (1, 2))], run) == {
        ("x", (0, 1)): (2, 0, 0), ("x", (1, 2)): (1, 0, 0),
    }  # fmt: skip


def test_a_store_of_the_same_number_is_seen():
    run = runner([put("y", 0, 1), put("y", 2, 7)])
    assert storing_blocks([("y", (2,))], run) == {("y", (2,)): (1, 0, 0)}


def test_an_element_that_nobody_stores_has_no_block():
    assert storing_blocks([("y", (3,)), ("y", (0,))], runner([put("y", 0, 1)])) == {("y", (0,)): (0, 0, 0)}
