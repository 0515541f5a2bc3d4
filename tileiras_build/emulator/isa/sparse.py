"""mma.sp of f16 and bf16: A has two numbers in four, which metadata place (PTX ISA 9.0, section 9.7.14.6).

Registers hold A without its zeros (m x k / 2), laid out as a dense A of that size. Of the four numbers of a chunk of a row of
A, two indices of 2 bits say which are there. One thread of each four (k = 16, the selector names it) or two (k = 32, the
selector names the pair) hold the indices of rows lane / 4, in the low half of a register, and lane / 4 + 8; the second of a
pair has columns 16 to 31. Other types have other granularities and layouts, and are refused.
"""

from __future__ import annotations

import numpy as np

from .. import products
from ..access import Site
from ..parse import Immediate
from . import helper

ORDERED = "sp::ordered_metadata"
TYPES = ("f16", "bf16")
COLUMNS = 16  # of A whose indices a half of a register holds
SELECTORS = {16: 4, 32: 2}  # k -> how many choices of the threads that hold the metadata


@helper
def spread_out(group, ins, factor, metadata, selector: int):
    """A with its zeros (warps, 16, k)."""
    values = factor.values
    k = 2 * values.shape[2]
    places = indices(group.to_warps(metadata), selector, k)
    check(group, ins, places.reshape(*places.shape[:2], -1, 2))
    columns = np.arange(k // 2) // 2 * 4 + places
    full = np.zeros((*values.shape[:2], k), values.dtype)
    np.put_along_axis(full, columns, values, axis=2)
    return products.Factor(full, factor.kind)


def indices(words: np.ndarray, selector: int, k: int) -> np.ndarray:
    """The indices (warps, 16, k / 2) of metadata (warps, 32)."""
    count = k // COLUMNS
    holders = words.reshape(-1, 8, 4)[:, :, selector * count : (selector + 1) * count]
    halves = np.ascontiguousarray(holders)[..., None].view(np.uint16)  # (w, row, column block, half)
    rows = halves.transpose(0, 3, 1, 2).reshape(len(words), 16, count)
    return (rows[..., None] >> np.arange(0, 16, 2, dtype=np.uint16) & 3).reshape(len(words), 16, -1).astype(np.int64)


def check(group, ins, pairs: np.ndarray) -> None:
    """The two numbers of a chunk lie in different places, in order where the instruction says so."""
    wrong = pairs[..., 0] >= pairs[..., 1] if ORDERED in ins.mods else pairs[..., 0] == pairs[..., 1]
    if wrong.any():
        warp, row, chunk, *_ = (int(i) for i in np.argwhere(wrong)[0])
        first, second = pairs[warp, row, chunk].tolist()
        why = f"metadata of row {row}, columns {4 * chunk} to {4 * chunk + 3} of A: indices {first} and {second} are not possible"
        Site(ins, "shared", 1).fault(group, why)


def emit_spread(e, ins, a: str, a_type: str, k: int) -> str:
    """Source of A with its zeros; ``a`` holds it without."""
    if a_type not in TYPES or k not in SELECTORS:
        e.fail("not supported")
    metadata, selector = ins.args[4], ins.args[5]
    if not isinstance(selector, Immediate) or not 0 <= selector.value < SELECTORS[k]:
        e.fail(f"the sparsity selector must be 0 to {SELECTORS[k] - 1}")
    return e.temp(f"spread_out(g, {e.constant(ins, 'ins')}, {a}, {e.use(metadata, 'u32')}, {selector.value})")
