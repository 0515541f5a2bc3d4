"""The order of a kernel's tile blocks: which one each CTA, or cluster, of the grid computes.

``pipeline/tilebc_to_tileaa/swizzle_grid.py`` makes the kernel compute it, the manifest records it.
"""

from __future__ import annotations

from dataclasses import dataclass

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class TileOrder:
    """Rows of a group, and the axis that is counted down, if any."""

    group: int = 1
    reversed: int | None = None

    def cta(self, tile: Shape, grid: Shape) -> Shape:
        """The place in the grid where a tile block is computed."""
        column, row, plane = self._counted(tile, grid)
        start = row - row % self.group
        height = min(grid[1] - start, self.group)
        number = column * height + row - start
        return number % grid[0], start + number // grid[0], plane

    def tile(self, cta: Shape, grid: Shape) -> Shape:
        """The tile block that is computed at a place in the grid."""
        column, row, plane = cta
        start = row - row % self.group
        height = min(grid[1] - start, self.group)
        number = (row - start) * grid[0] + column
        return self._counted((number // height, start + number % height, plane), grid)

    def _counted(self, tile: Shape, grid: Shape) -> Shape:
        x, y, z = (grid[axis] - 1 - at if axis == self.reversed else at for axis, at in enumerate(tile))
        return x, y, z


ROW_MAJOR = TileOrder()
