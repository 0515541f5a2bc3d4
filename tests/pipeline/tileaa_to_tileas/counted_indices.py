"""Loops that load an index, and read, change and write the element there."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case


@ct.kernel
def counted(indices, counts):
    """How often each index occurs among those of a CTA, every so many-th one, added to a row of counts."""
    for position in range(ct.bid(0), indices.shape[0], ct.num_blocks(0)):
        index = ct.gather(indices, ct.full((1,), position, dtype=ct.int32))
        place = (ct.bid(0), index)
        ct.scatter(counts, place, ct.gather(counts, place) + 1)


@ct.kernel
def followed(links):
    """Each element becomes one more than the element that it names: an index that an earlier iteration may have written."""
    for position in range(links.shape[0]):
        index = ct.gather(links, ct.full((1,), position, dtype=ct.int32))
        ct.scatter(links, ct.full((1,), position, dtype=ct.int32), ct.gather(links, index) + 1)


_INDICES = Array("int32", 1)
CASES = [
    Case("counted", counted, (_INDICES, Array("int32", 2))),
    Case("followed", followed, (_INDICES,)),
]
