"""Kernels whose tile blocks add to the same elements."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case


@ct.kernel
def added_tiles(a, totals, M: ct.Constant[int], N: ct.Constant[int]):
    """All tile blocks along y add the tile of ``a`` that x names to ``totals``, whose end is inside the last tile."""
    x = ct.load(a, (0, ct.bid(0)), (M, N), padding_mode=ct.PaddingMode.ZERO)
    totals.tiled_view((M, N)).atomic_store_add((0, ct.bid(0)), x)


@ct.kernel
def added_elements(a, totals, M: ct.Constant[int], N: ct.Constant[int]):
    """The same by indices, of which some are outside."""
    x = ct.load(a, (0, ct.bid(0)), (M, N), padding_mode=ct.PaddingMode.ZERO)
    rows = ct.arange(M, dtype=ct.int32)[:, None]
    columns = ct.bid(0) * N + ct.arange(N, dtype=ct.int32)[None, :]
    ct.atomic_add(totals, (rows, columns), x)


@ct.kernel
def added_rows(a, by_tiles, by_indices, N: ct.Constant[int]):
    """All tile blocks along y add one row, by a view and by indices."""
    x = ct.load(a, (ct.bid(0),), (N,), padding_mode=ct.PaddingMode.ZERO)
    by_tiles.tiled_view((N,)).atomic_store_add((ct.bid(0),), x)
    ct.atomic_add(by_indices, ct.bid(0) * N + ct.arange(N, dtype=ct.int32), x)


def aligned(dtype):
    return Array(dtype, 2, stride_divisible_by=8, shape_divisible_by=(1, 8))


TYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32"}
CASES = [
    *(Case(f"tiles_{name}", added_tiles, (*[aligned(dtype)] * 2, 16, 128)) for name, dtype in TYPES.items()),
    *(Case(f"elements_{name}", added_elements, (*[aligned(dtype)] * 2, 16, 128)) for name, dtype in TYPES.items()),
    Case("rows_f16", added_rows, (*[Array("float16", 1)] * 3, 2048)),
    Case("unaligned_f16", added_tiles, (*[Array("float16", 2)] * 2, 16, 128)),
    Case("few_f16", added_tiles, (*[aligned("float16")] * 2, 1, 128)),
]
