"""Kernels that copy tiles of bytes."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

LENGTH = 1024


@ct.kernel
def copied(x, out):
    """out = x"""
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (LENGTH,)))


@ct.kernel
def added(x, out):
    """out = x + 1"""
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (LENGTH,)) + 1)


def _arguments(element, factor=16):
    return (Array(element, 1, shape_divisible_by=factor, alignment=16),) * 2


CASES = [
    Case("bytes", copied, _arguments("int8")),
    Case("bytes_of_any_length", copied, _arguments("int8", 1)),
    Case("booleans", copied, _arguments("bool_")),
    Case("booleans_of_any_length", copied, _arguments("bool_", 1)),
    Case("added", added, _arguments("int8")),
]
