"""Tiles of pointers that follow each other along the last dimension, along the first, and one of each in one addition."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

SIZE = 64


def _tile(array, transposed):
    """array[i, j] or array[j, i], element by element."""
    places = ct.arange(SIZE, dtype=ct.int32)
    index = (places[None, :], places[:, None]) if transposed else (places[:, None], places[None, :])
    return ct.gather(array, index, check_bounds=True, padding_value=0)


@ct.kernel
def turned(x, out):
    """out[j, i] = 2 * x[j, i], of tiles that are held turned."""
    places = ct.arange(SIZE, dtype=ct.int32)
    ct.scatter(out, (places[None, :], places[:, None]), _tile(x, True) * 2, check_bounds=True)


@ct.kernel
def summed(x, y, out):
    """out = x + y.T."""
    places = ct.arange(SIZE, dtype=ct.int32)
    ct.scatter(out, (places[:, None], places[None, :]), _tile(x, False) + _tile(y, True), check_bounds=True)


ARRAY = Array("float16", 2, shape_divisible_by=16, stride_divisible_by=16)
CASES = [Case("turned", turned, (ARRAY, ARRAY)), Case("summed", summed, (ARRAY, ARRAY, ARRAY))]
