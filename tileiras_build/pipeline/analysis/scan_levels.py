"""How a scan combines the elements along its axis: those of a thread, then those of lanes, then segments of warps and registers."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.layouts import LinearLayout
from ...ir.layouts.linear_layout import dim_bases


@dataclass(frozen=True)
class ScanLevels:
    """Masks of hardware bits, those of near elements first: consecutive elements of a thread, lanes, and the segments of a warp's lanes."""

    thread: tuple[int, ...]
    lanes: tuple[int, ...]
    segments: tuple[tuple[str, int], ...]  # of "register" or "warp"

    @classmethod
    def of(cls, layout: LinearLayout, axis: int) -> ScanLevels | None:
        """None where a scan needs another layout first."""
        axis_bits = sum(dim_bases(layout.shape)[axis])
        moving = [basis for basis in layout.hardware if basis]
        if len(set(moving)) < len(moving) or any(basis.bit_count() > 1 for basis in moving):
            return None
        order = sorted(
            (basis, kind, 1 << position)
            for kind, bases in layout.bases.items()
            for position, basis in enumerate(bases)
            if basis & axis_bits
        )
        levels = cls._split([(kind, mask) for _, kind, mask in order])
        return levels if levels is not None and levels._is_short(layout) else None

    @classmethod
    def _split(cls, order: list[tuple[str, int]]) -> ScanLevels | None:
        kinds = [kind for kind, _ in order]
        first = next((place for place, kind in enumerate(kinds) if kind != "register"), len(kinds))
        end = next((place for place in range(first, len(kinds)) if kinds[place] != "lane"), len(kinds))
        lanes, segments = tuple(mask for _, mask in order[first:end]), tuple(order[end:])
        if list(lanes) != sorted(lanes) or not {kind for kind, _ in segments} <= {"register", "warp"}:
            return None
        return cls(tuple(mask for _, mask in order[:first]), lanes, segments)

    def _is_short(self, layout: LinearLayout) -> bool:
        """Whether a thread combines those of one row, or no more segments than it has elements, where they pass through shared memory."""
        elements = 1 << sum(1 for basis in layout.registers if basis)
        rows = elements >> len(self.thread) + sum(kind == "register" for kind, _ in self.segments)
        return not self.crosses_warps or rows == 1 or rows * self.num_segments <= elements

    @property
    def num_segments(self) -> int:
        return 1 << len(self.segments)

    @property
    def crosses_warps(self) -> bool:
        return any(kind == "warp" for kind, _ in self.segments)

    def mask(self, kind: str) -> int:
        """The bits of registers or warps that number segments."""
        return sum(mask for other, mask in self.segments if other == kind)

    def segment(self, register: int, warp: int) -> int:
        """The number of a segment along the axis."""
        held = {"register": register, "warp": warp}
        return sum(bool(held[kind] & mask) << place for place, (kind, mask) in enumerate(self.segments))
