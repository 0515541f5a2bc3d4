"""Kernels that load tiles of 16-bit elements, whole or up to the end of an array."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

LENGTH = 1024


@ct.kernel
def added(x, out):
    """out = x + 1"""
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (LENGTH,)) + 1)


@ct.kernel
def highest(x, out):
    """out = the maximum of each tile of x"""
    tile = ct.load(x, (ct.bid(0),), (LENGTH,), padding_mode=ct.PaddingMode.NEG_INF)
    ct.store(out, (ct.bid(0),), ct.max(tile, 0, keepdims=True))


def _arguments(element):
    return (Array(element, 1, alignment=16),) * 2


CASES = [
    Case("added_f16", added, _arguments("float16")),
    Case("added_i16", added, _arguments("int16")),
    Case("highest_f16", highest, _arguments("float16")),
]
